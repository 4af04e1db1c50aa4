"""Block files: the vectors of a block of papers, by the hashes of their content, with a checksum.

A block file is a safetensors file. Its papers are known by content, so it serves wherever they stand in a corpus, and a
file of an older version of the corpus is recognised.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from corpora.errors import InputError, NotFoundError
from corpora.lazy import np
from corpora.paper import Paper
from indexer.blocks import EncodedBlock, VectorPlan
from indexer.storage import Storage
from search_plugin.contract.engine import Refused

_VERSION = 1
_LENGTHS = ".lengths"
"""Ends the name of the numbers of rows of vectors of which a paper has several."""


@dataclass(frozen=True, slots=True, eq=False)
class StoredBlock:
    """The content of a block file.

    Attributes:
        plan: The plan that made it.
        hashes: Content hashes of the papers that have vectors, in order.
        unfit: Reasons by content hash, of papers that can't be encoded.
        vectors: Vectors by format, as of `EncodedBlock`.
        checksum: Checksum of all of it, 32 hex digits.
    """

    plan: VectorPlan
    hashes: tuple[str, ...]
    unfit: Mapping[str, str]
    vectors: Mapping[str, Sequence[np.ndarray]]
    checksum: str

    def holds(self, papers: Sequence[Paper]) -> bool:
        """Return whether all of these papers were encoded, or could not be."""
        return {*self.hashes, *self.unfit} >= {paper.content_hash() for paper in papers}

    def encoded(self, papers: Sequence[Paper], plan: VectorPlan) -> EncodedBlock:
        """Return papers that the block holds with the vectors of a plan that its own covers."""
        rows = {hash_: row for row, hash_ in enumerate(self.hashes)}
        hashes = [paper.content_hash() for paper in papers]
        places = [rows[hash_] for hash_ in hashes if hash_ in rows]
        return EncodedBlock(
            [paper for paper, hash_ in zip(papers, hashes, strict=True) if hash_ in rows],
            {name: [self.vectors[name][place] for place in places] for name in plan.names},
            [
                Refused(paper.id, self.unfit[hash_])
                for paper, hash_ in zip(papers, hashes, strict=True)
                if hash_ not in rows
            ],
        )


def block_name(number: int) -> str:
    """Return the name of a block's file."""
    return f"{number:07d}.safetensors"


def write_block(
    storage: Storage,
    number: int,
    plan: VectorPlan,
    hashes: Sequence[str],
    vectors: Mapping[str, Sequence[np.ndarray]],
    unfit: Mapping[str, str],
) -> None:
    """Write a block file whole or not at all; `UnavailableError` if it can't be written."""
    from safetensors.numpy import save

    tensors: dict[str, np.ndarray] = {}
    for name, rows in vectors.items():
        if rows[0].ndim == 1:
            tensors[name] = np.stack(rows)
        else:
            tensors[name] = np.concatenate(rows)
            tensors[name + _LENGTHS] = np.array([len(row) for row in rows], np.int64)
    described = {"version": _VERSION, "plan": plan.to_dict(), "hashes": list(hashes), "unfit": dict(unfit)}
    text = json.dumps(described)
    storage.write(block_name(number), save(tensors, {"block": text, "checksum": _checksum(text, tensors)}))


def read_block(storage: Storage, number: int) -> StoredBlock:
    """Return the block of a number.

    Raises `NotFoundError` if there is none, `InputError` if its file is damaged or of another version of ses, and
    `UnavailableError` if it can't be read.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load

    place = f"{storage}/{block_name(number)}"
    try:
        content = storage.read(block_name(number))
    except FileNotFoundError as error:
        raise NotFoundError(f"There is no block {place}", "encode the shard again") from error
    try:
        tensors = load(content)
        metadata = _metadata(content)
        text, checksum = metadata["block"], metadata["checksum"]
        if checksum != _checksum(text, tensors):
            raise ValueError("its checksum differs")  # noqa: TRY301 - the same as the other kinds of damage
        held: dict[str, Any] = json.loads(text)
        if held["version"] != _VERSION:
            raise ValueError(f"its version is {held['version']}")  # noqa: TRY301
        plan = VectorPlan.from_dict(held["plan"])
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"The block {place} is damaged ({error})", "encode the shard again") from error
    vectors: dict[str, Sequence[np.ndarray]] = {}
    for name in (name for name in tensors if not name.endswith(_LENGTHS)):
        lengths = tensors.get(name + _LENGTHS)
        vectors[name] = list(tensors[name]) if lengths is None else np.split(tensors[name], np.cumsum(lengths)[:-1])
    return StoredBlock(plan, tuple(held["hashes"]), held["unfit"], vectors, checksum)


def intact_block(storage: Storage, number: int) -> StoredBlock | None:
    """Return the content of a block file, None if there is none that can be used; `UnavailableError` as above."""
    with suppress(InputError):
        return read_block(storage, number)
    return None


def _metadata(content: bytes) -> Mapping[str, str]:
    """Return the metadata of a safetensors file: before its header, which is JSON, stands the length in 8 bytes."""
    length = int.from_bytes(content[:8], "little")
    held: Mapping[str, str] = json.loads(content[8 : 8 + length])["__metadata__"]
    return held


def _checksum(text: str, tensors: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.blake2b(text.encode(), digest_size=16)
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype.str} {tensor.shape}".encode())
        digest.update(tensor.tobytes())
    return digest.hexdigest()
