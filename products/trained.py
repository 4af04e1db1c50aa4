"""What products trained on the vectors of an index share: which vectors, where they are read, where files are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.custom import check_field_name
from corpora.errors import InputError, NotFoundError
from corpora.lazy import np
from corpora.writing import explaining, replacing
from encoders.heads import Head, write_heads
from encoders.models.formats import Format
from products.indexed import read_vectors
from products.words import WordWeights, texts_of, write_words

if TYPE_CHECKING:
    from corpora.custom import FieldValue
    from corpora.progress import Progress
    from search_plugin.contract.engine import Index
    from search_plugin.contract.schema import Field
    from search_plugin.contract.tree import Filter


@dataclass(frozen=True, slots=True)
class TrainedVectors:
    """The vectors that a product was trained on: the name and the fingerprint of their model, and the format."""

    model: str
    fingerprint: str
    format: Format

    def __str__(self) -> str:
        return f"{self.format} vectors of {self.model} ({self.fingerprint})"


def vectors_for(index: Index, wanted: Format) -> TrainedVectors:
    """Choose the vectors of an index to train on: those of the wanted format, or PRX vectors where it holds none."""
    schema = index.schema
    held = {vector.format for vector in schema.written if vector.unit == "paper"}
    chosen = wanted if wanted.value in held else Format.PRX
    made_by = schema.maker(chosen.value)
    return TrainedVectors(made_by.model, made_by.fingerprint, chosen)


def facts_of(index: Index) -> dict[str, str]:
    """Return what a report says of the index that it is made from, and of its PRX vectors."""
    return {"index": index.name, "vectors": str(vectors_for(index, Format.PRX))}


def check_vectors(what: str, source: TrainedVectors, index: Index) -> None:
    """Raise `InputError` if an index does not hold the vectors that a product was trained on.

    `what` names the product, such as `The tagger mesh`.
    """
    schema = index.schema
    made_by = schema.maker(source.format.value)
    if made_by.fingerprint != source.fingerprint:
        raise InputError(
            f"{what} was trained on vectors of the model {source.model} ({source.fingerprint}), and the index "
            f"{index.name} holds those of {made_by.model} ({made_by.fingerprint}); train another on this index, or "
            f"index with the model {source.model}."
        )
    if source.format.value not in {vector.format for vector in schema.written}:
        raise InputError(
            f"{what} reads {source.format} vectors, and the index {index.name} holds none",
            f"train another on this index, or index again with <fresh> and <formats=prx,{source.format}>",
        )


def all_vectors(index: Index, source: TrainedVectors, ids: Sequence[str]) -> tuple[list[str], np.ndarray]:
    """Return the ids that exist, sorted, and their vectors, float32 (papers, dimension).

    An engine lists papers in another order after an update. Sorted, the same ones are held out in training.
    """
    blocks = list(read_vectors(index, sorted(ids), source.format.value))
    if not blocks:
        return [], np.zeros((0, index.schema.vector(source.format.value).dimension), np.float32)
    return [id_ for found, _ in blocks for id_ in found], np.concatenate([matrix for _, matrix in blocks])


def write_values(
    index: Index,
    source: TrainedVectors,
    where: Filter | None,
    fields: Sequence[Field],
    rows_of: Callable[[np.ndarray, Sequence[str]], Sequence[Mapping[str, FieldValue | None]]],
    progress: Progress,
    *,
    texts: bool,
) -> tuple[int, int]:
    """Write values that follow from vectors into fields of an index; only changed ones are written.

    `rows_of` takes float32 (papers, dimension) of the vectors that `source` names, and title and abstract of each paper
    if it reads `texts`; it returns the values of each paper by field. The index is open for writing; fields that it
    lacks are added. `where` limits the papers, and `progress` receives how many were read. Returns how many papers were
    read, and how many have changed.
    """
    index.add_fields(fields)
    names = [field.name for field in fields]
    ids = list(index.ids(where))
    progress.stage("applying", len(ids))
    read = written = 0
    for found, vectors in read_vectors(index, ids, source.format.value):
        held = index.values(found, names)
        rows = zip(found, rows_of(vectors, texts_of(index, found) if texts else ()), strict=True)
        changes = {id_: row for id_, row in rows if _comparable(row) != _comparable(held.get(id_, {}))}
        if changes:
            index.update(changes)
        read, written = read + len(found), written + len(changes)
        progress.advance(len(found))
    if written:
        index.finish()
    return read, written


def _comparable(row: Mapping[str, FieldValue | None]) -> dict[str, object]:
    """Return values without those that are missing; engines do not keep the order of several."""
    held = {name: value for name, value in row.items() if value is not None and value != ()}
    return {name: frozenset(value) if isinstance(value, tuple) else value for name, value in held.items()}


@contextmanager
def storing(folder: Path, head: Head, words: WordWeights | None) -> Iterator[Path]:
    """Store a product whole or not at all: its head and words, and what the block writes into the folder it gets."""
    with explaining(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with replacing(folder) as part:
            part.mkdir()
            write_heads(part, [head])
            if words:
                write_words(part, words)
            yield part


def place_of(folders: Sequence[Path], name: str, what: str) -> Path:
    """Return the folder of a product, such as a `tagger`, in the first of some folders that holds one of its name.

    Raises `NotFoundError` if there is none of that name; the message names the existing ones.
    """
    check_field_name(name)
    for folder in folders:
        if (folder / name).is_dir():
            return folder / name
    known = ", ".join(names_in(folders)) or "none yet"
    raise NotFoundError(f"There is no {what} {name!r} (available: {known})", f"train one, or name another {what}")


def names_in(folders: Sequence[Path]) -> list[str]:
    """Return the names of all products in some folders, in order; folders that a killed run left have none."""
    found = [path for folder in folders if folder.is_dir() for path in folder.iterdir() if path.is_dir()]
    return sorted({path.name for path in found if not path.name.startswith(".")})
