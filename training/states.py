"""Stores the output of the layers below the first trained one for each text, computed once, in float16.

A folder of kept states holds two files. `states.bin` has the states of the tokens, text after text. `texts.bin` has a
hash of each text's tokens, and their number. The folder's name is a hash of the weights that computed them. All runs
with the same base share it, and only texts that no run had before are computed. Equal texts are kept once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any

from corpora.errors import InputError, UnavailableError
from corpora.lazy import np, torch
from corpora.writing import explaining, locking
from encoders.models.card import ModelCard
from training.batches import padded
from training.data.packed import KeptStates, Packed
from training.learner import Learner

_FORM = 2
"""Increase this number when older states can no longer be used."""

_TOKENS_AT_ONCE = {"cpu": 2_048, "cuda": 131_072}
_BYTES = 2
_FILE, _TEXTS = "states.bin", "texts.bin"
_ENTRY = [("text", "V16"), ("tokens", "<i8")]
_LAYER = re.compile(r"encoder\.layer\.(\d+)\.")


def frozen_layers(card: ModelCard, trained: Mapping[str, int]) -> int:
    """Return how many of the first layers stay unchanged in training, for all formats; fewer than the model has.

    0 if a trained weight comes before the first layer.
    """
    found = [_LAYER.match(name) for name in trained]
    lowest = min((int(one.group(1)) if one else 0 for one in found), default=0)
    return min(lowest, card.network.shared_layers, card.network.layers - 1)


def keep_states(
    learner: Learner, packs: Sequence[Packed | None], folder: Path, say: Callable[[Mapping[str, Any]], None]
) -> list[Packed | None]:
    """Compute the states of the texts that the folder lacks, without dropout; return the packs with their states.

    An interrupted computation resumes. `say` receives the number of texts and the size of their states. `InputError` if
    training changes what all layers compute, `UnavailableError` if the folder can't be written or has no room.
    """
    layers = frozen_layers(learner.card, learner.rows)
    if not layers:
        raise InputError(
            "keep_states needs frozen layers below the first trained one, and the recipe trains from the first layer "
            "on: train the last layers only (layers in [options]), or remove keep_states."
        )
    present = [one for one in packs if one]
    names = [_names(packed) for packed in present]
    # Longest first: texts of a batch have about the same length, and a lack of memory shows at once.
    texts = dict(sorted(_texts(present, names).items(), key=lambda one: (-len(one[1]), one[0])))
    place, width = folder / _key(learner, layers), learner.card.network.width
    told = explaining(f"The folder of states {folder}", "free some space, or name another folder as keep_states")
    with told, locking(place / ".lock"):
        starts, end = _kept(place, width)
        missing = {name: ids for name, ids in texts.items() if name not in starts}
        tokens = sum(map(len, texts.values()))
        facts = {"texts": len(texts), "new": len(missing), "tokens": tokens, "layers": layers}
        say({"states": {**facts, "bytes": tokens * width * _BYTES}})
        if missing:
            _write(learner, layers, missing, end, place, len(starts))
            starts, end = _kept(place, width)
    states = np.memmap(place / _FILE, dtype=np.float16, mode="r", shape=(end, width))
    kept = (KeptStates(layers, states, np.array([starts[name] for name in of_pack], np.int64)) for of_pack in names)
    return [one and replace(one, kept=next(kept)) for one in packs]


def _names(packed: Packed) -> list[bytes]:
    """Return a hash of each text of a pack."""
    return [hashlib.blake2b(ids.tobytes(), digest_size=16).digest() for ids in _rows(packed)]


def _texts(packs: Sequence[Packed], names: Sequence[Sequence[bytes]]) -> dict[bytes, np.ndarray]:
    """Return the token ids of each text, by its hash."""
    rows = chain.from_iterable(map(_rows, packs))
    return dict(zip(chain.from_iterable(names), rows, strict=True))


def _rows(packed: Packed) -> Iterator[np.ndarray]:
    return (packed.tokens[start:end] for start, end in pairwise(packed.starts))


def _key(learner: Learner, layers: int) -> str:
    network = learner.card.network
    facts = [_FORM, learner.recipe.precision, layers, network.attention_heads, network.epsilon, network.first_position]
    found = hashlib.sha256(json.dumps(facts).encode())
    for name, tensor in learner.module.named_parameters():
        number = _LAYER.match(name)
        if name.startswith("embeddings.") or (number and int(number.group(1)) < layers):
            found.update(name.encode())
            found.update(tensor.detach().cpu().numpy().tobytes())
    return found.hexdigest()[:24]


def _kept(place: Path, width: int) -> tuple[dict[bytes, int], int]:
    """Return the first token of each text in the file of states, by the text's hash, and the number of all tokens."""
    kind, file = np.dtype(_ENTRY), place / _TEXTS
    written = file.read_bytes() if file.is_file() else b""
    entries = np.frombuffer(written[: len(written) // kind.itemsize * kind.itemsize], kind)
    ends = entries["tokens"].cumsum()
    end, states = int(ends[-1]) if len(ends) else 0, place / _FILE
    if not states.is_file() or states.stat().st_size < end * width * _BYTES:
        return {}, 0  # the file of states was removed
    starts = (ends - entries["tokens"]).tolist()
    return dict(zip((name.tobytes() for name in entries["text"]), starts, strict=True)), end


def _write(
    learner: Learner, layers: int, texts: Mapping[bytes, np.ndarray], end: int, place: Path, entries: int
) -> None:
    """Append the states of texts, batch after batch. A batch is complete when `texts.bin` names its texts.

    The texts are token ids by hash, the longest first. The folder `place` holds states of `end` tokens so far, and
    names `entries` texts.
    """
    row, kind = learner.card.network.width * _BYTES, np.dtype(_ENTRY)
    size = sum(map(len, texts.values())) * row
    if shutil.disk_usage(place).free < size:
        raise UnavailableError(
            f"The states take {size / 1e9:.1f} GB in {place.parent}, and there is less room: free some space, name "
            "another folder as keep_states, or lower max_tokens."
        )
    for name in (_FILE, _TEXTS):
        (place / name).touch()
    learner.module.eval()
    try:
        with (place / _FILE).open("r+b") as states, (place / _TEXTS).open("r+b") as index, torch.inference_mode():
            # Remove what a kill left half written.
            states.seek(end * row)
            index.seek(entries * kind.itemsize)
            index.truncate()
            for batch in _batches(texts, _TOKENS_AT_ONCE[learner.device]):
                states.write(_computed(learner, layers, [texts[name] for name in batch]).tobytes())
                states.flush()
                os.fsync(states.fileno())
                index.write(np.array([(name, len(texts[name])) for name in batch], kind).tobytes())
                index.flush()
    finally:
        learner.module.train()


def _batches(texts: Mapping[bytes, np.ndarray], at_once: int) -> Iterator[list[bytes]]:
    """Yield the names of the texts of each batch. Batches depend on the lengths alone."""
    names = iter(texts)
    for name in names:
        yield [name, *islice(names, max(1, at_once // max(1, len(texts[name]))) - 1)]


def _computed(learner: Learner, layers: int, texts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the states of all tokens, text after text, float16 (tokens, width)."""
    values, found = padded(texts)
    ids, mask = (torch.from_numpy(one).to(learner.device) for one in (values.astype("int64"), found))
    with torch.autocast(learner.device, torch.bfloat16, enabled=learner.recipe.precision == "bf16"):
        hidden = learner.module.trunk(ids, mask, layers).hidden
    kept: np.ndarray = hidden[mask.bool()].to(torch.float16).cpu().numpy()
    return kept
