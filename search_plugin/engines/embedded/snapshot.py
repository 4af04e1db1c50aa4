"""A snapshot of a generation at one commit, which searches read while others write."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from corpora.lazy import np
from search_plugin.contract.engine import Remembered
from search_plugin.contract.schema import SparseField, VectorField
from search_plugin.contract.tree import Filter, Not
from search_plugin.engines.embedded import columns, vectors
from search_plugin.engines.embedded.columns import passing
from search_plugin.engines.embedded.errors import reads_stored
from search_plugin.engines.embedded.files import LOG, NEWEST, NOTHING, PAPERS, ROWS, Files, vectors_file
from search_plugin.engines.embedded.queries import among, from_row, rows_of, to_tantivy
from search_plugin.engines.embedded.records import Stored, damaged_record, from_record, id_of, ids_of
from search_plugin.engines.embedded.vectors import Matrix, read_stored
from search_plugin.engines.embedded.words import META, Words

if TYPE_CHECKING:
    from search_plugin.engines.embedded import sparse, titles

_NOTED = 10_000
"""Number of rows that are kept by id, so that memory does not grow with the searches."""


class Snapshot:
    """The content of one commit. Threads may share it: lazily computed values are the same in every thread."""

    def __init__(self, files: Files, words: Words) -> None:
        self._files, self._words = files, words
        self.searcher, self.opstamp, noted = words.searcher()
        self.lengths = files.committed(self.opstamp, noted)
        self.rows = files.rows(self.lengths)
        files.check(ROWS, self.opstamp, self.rows)
        # Neither words nor rows have lost what a commit has added or deleted.
        later, _ = rows_of(self.searcher, from_row(words, len(self.rows)), 1)
        if later or self.searcher.num_docs != int(self.live.sum()):
            raise ValueError(f"{META}, {LOG} and {ROWS} are not of the same commit")
        self._offsets = self.rows["offset"]
        papers = files.papers(self.lengths)
        self._papers = papers.data
        try:
            files.check(PAPERS, self.opstamp, papers)
        except ValueError:
            # A damaged record is reported when it is read, and the others can be used.
            if not self.damaged_records(NEWEST):
                raise
        self._vectors = {name: files.vectors(name, self.lengths) for name in files.fields}
        self._matrices: dict[str, Matrix] = {}
        self._approximate: dict[str, vectors.Approximate | None] = {}
        self._postings: dict[str, sparse.TokenPostings | None] = {}
        self._owners: dict[str, tuple[np.ndarray, np.ndarray | None]] = {}
        self._found: dict[str, int] = {}
        self._passed: tuple[Filter, np.ndarray] | None = None  # the last filter: both legs of a page ask for it
        # What was found in this commit for words of queries: by `Index.remembered`, and how many papers hold a word.
        self.answers: Remembered[str] = Remembered()
        self.counts: Remembered[int] = Remembered()

    def find(self, ids: Sequence[str]) -> list[int]:
        """Return the rows of the ids that exist, in any order."""
        noted = self._noted(ids)
        others = [id_ for id_ in dict.fromkeys(ids) if id_ not in noted]
        return [*noted.values(), *rows_of(self.searcher, among(self._words, others), len(others))[0]]

    def _noted(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the rows that are noted of some ids, by id."""
        return {id_: row for id_ in ids if (row := self._found.get(id_)) is not None}

    @reads_stored
    def id_of(self, row: int) -> str:
        """Return the id of the paper in a row."""
        return id_of(self._papers, int(self._offsets[row]))

    @reads_stored
    def found(self, rows: Sequence[int]) -> list[str]:
        """Return the ids of papers that a search found; their rows are noted, because the page will read them."""
        if len(self._found) > _NOTED:
            self._found.clear()
        ids = ids_of(self._papers, self._offsets[rows].tolist()) if rows else []
        self._found.update(zip(ids, rows, strict=True))
        return ids

    @reads_stored
    def stored(self, row: int) -> Stored:
        """Return the paper in a row; raises `ValueError` that names it if its record is damaged."""
        return from_record(*self._record(row))

    @cached_property
    @reads_stored
    def live(self) -> np.ndarray:
        """Which rows are the current version of an existing paper, bool (rows,)."""
        live: np.ndarray = np.asarray(self.rows["size"] > 0)
        replaced = np.asarray(self.rows["replaces"])
        live[replaced[replaced != NOTHING]] = False
        return live

    def matrix(self, field: VectorField) -> Matrix:
        """Return all vectors of a field, float32 (vectors, dimension) where they are read."""
        name = field.name
        if name not in self._matrices:
            self._files.check(vectors_file(name), self.opstamp, self._vectors[name])
            self._matrices[name] = read_stored(self._vectors[name], field)
        return self._matrices[name]

    def owners(self, field: str) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the papers that the vectors of a field belong to.

        These are, for each vector, the row of its paper, int32 (vectors,), -1 if no current paper has it; and whether
        one has, bool (vectors,), or None if all have one.
        """
        if field not in self._owners:
            owners = self._owners_of(field)
            owned = owners >= 0
            self._owners[field] = owners, None if owned.all() else owned
        return self._owners[field]

    @reads_stored
    def vectors_of(self, row: int, field: VectorField) -> np.ndarray:
        """Return the vector of a row, float32 (dimension,), or those of its passages, (passages, dimension)."""
        start, count = (int(self.rows[row][f"{field.name}.{what}"]) for what in ("start", "count"))
        held = np.array(self.matrix(field)[start : start + count])
        return held if field.unit == "passage" or isinstance(field, SparseField) else held[0]

    def vectors_by_id(self, ids: Sequence[str], field: VectorField) -> dict[str, np.ndarray]:
        """Return `vectors_of` of the ids that exist, by id."""
        rows = self._noted(ids)
        rows |= {self.id_of(row): row for row in self.find([id_ for id_ in ids if id_ not in rows])}
        if field.unit == "passage" or isinstance(field, SparseField) or not rows:
            return {id_: self.vectors_of(row, field) for id_, row in rows.items()}
        return dict(zip(rows, self._whole(list(rows.values()), field), strict=True))

    @reads_stored
    def _whole(self, rows: Sequence[int], field: VectorField) -> np.ndarray:
        """Return the only vector of each of some rows, float32 (rows, dimension), read at once."""
        whole: np.ndarray = self.matrix(field)[self.rows[f"{field.name}.start"][rows]]
        return whole

    @reads_stored
    def entries(self, field: SparseField, start: int, stop: int) -> sparse.Entries:
        """Return the entries of the sparse vectors of the current rows between two numbers."""
        from search_plugin.engines.embedded.sparse import Entries

        rows = start + np.flatnonzero(self.live[start:stop])
        begins, counts = (
            np.asarray(self.rows[f"{field.name}.{what}"])[rows].astype(np.int64) for what in ("start", "count")
        )
        held, ends = self.matrix(field), begins + counts
        if (ends > len(held)).any():
            raise ValueError("rows name more entries than there are")
        if len(rows) and (begins[1:] == ends[:-1]).all():
            return Entries(rows, counts, held[begins[0] : ends[-1]])
        places = np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        return Entries(rows, counts, held[places])

    @reads_stored
    def sparse_scores(self, field: SparseField, query: np.ndarray) -> np.ndarray:
        """Return the dot product of a sparse vector, float32 (entries, 2), and that of each row, float64 (rows,).

        Those of rows that are not current mean nothing.
        """
        from search_plugin.engines.embedded.sparse import load, scored

        if field.name not in self._postings:
            self._postings[field.name] = load(self._files.folder, field, len(self.rows))
        read = partial(self.entries, field)
        return scored(query, len(self.rows), field.dimension, read, self._postings[field.name])

    @reads_stored
    def _owners_of(self, field: str) -> np.ndarray:
        owners = np.full(len(self._vectors[field]), NOTHING, np.int32)
        rows = np.flatnonzero(self.live)
        starts, counts = (
            np.asarray(self.rows[f"{field}.{what}"])[rows].astype(np.int64) for what in ("start", "count")
        )
        if counts.sum() > len(owners):  # they would fill the memory
            raise ValueError("rows name more vectors than there are")
        offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        owners[np.repeat(starts, counts) + offsets] = np.repeat(rows, counts)
        return owners

    def approximate(self, field: str) -> vectors.Approximate | None:
        """Return the index of a vector field, if there is one."""
        if field not in self._approximate:
            self._approximate[field] = vectors.load(self._files.folder, field, len(self._vectors[field]))
        return self._approximate[field]

    def passing(self, where: Filter | None) -> np.ndarray:
        """Return which rows are current and match a filter, bool (rows,)."""
        if where is None:
            return self.live
        last = self._passed
        if last is None or last[0] != where:
            last = self._passed = where, passing(where, self._columns, len(self.rows), self._saying) & self.live
        return last[1]

    @reads_stored
    def _saying(self, where: Filter) -> np.ndarray:
        """Return which rows match a filter of words, bool (rows,).

        Each row that the word index finds passes through Python: it is asked for what matches or what does not,
        whichever is less.
        """
        matches, papers = self.searcher.search(to_tantivy(where, self._words), 1).count, self.searcher.num_docs
        few = 2 * matches <= papers
        mask = np.full(len(self.rows), not few)
        if size := matches if few else papers - matches:
            query = to_tantivy(where if few else Not(where), self._words)
            # Ordered by a column, hits carry its values.
            hits = self.searcher.search(query, size, count=False, order_by_field="row").hits
            mask[[row for row, _ in hits]] = few
        return mask

    def numbers(self, field: str) -> np.ndarray:
        """Return a field's numbers, or the ordinals of its dates, float64 (rows,); NaN where there is none."""
        values = np.full(len(self.rows), np.nan)
        for part in self._columns:
            if (held := part.numbers.get(field)) is not None:
                values[part.start : part.stop] = held
        return values

    @reads_stored
    def title_keys(self, rows: Iterable[int]) -> list[bytes]:
        """Return the sort keys of the titles in some rows."""
        first, later = self._titles, self.later_titles
        return [first.key(row) if row < len(first) else later.key(row - len(first)) for row in rows]

    @cached_property
    def _titles(self) -> titles.Titles:
        from search_plugin.engines.embedded.titles import load

        return load(self._files.folder, len(self.rows))

    @cached_property
    def later_titles(self) -> titles.Titles:
        """The sort keys of titles in rows that no file covers."""
        from search_plugin.engines.embedded.titles import gather

        return gather(self._living(len(self._titles)))

    @cached_property
    def _columns(self) -> tuple[columns.Columns, columns.Columns]:
        base = columns.load(self._files.folder, len(self.rows))
        return base, self.gathered(base.stop)

    def gathered(self, start: int) -> columns.Columns:
        """Read all rows from a given one on into columns."""
        return columns.gather(self._living(start), start, self._words.kinds)

    def damaged_records(self, newest: int | None = None) -> list[str]:
        """Return the names of the current papers' records that are damaged, of all or of those in the newest bytes."""
        start = max(0, self.lengths.papers - newest) if newest else 0
        rows = (self.live & (self._offsets >= start)).nonzero()[0].tolist()
        return [name for row in rows if (name := damaged_record(*self._record(row)))]

    def _record(self, row: int) -> tuple[bytes, int]:
        """Return the record of a row, and where it begins."""
        place = self.rows[row]
        start = int(place["offset"])
        return bytes(self._papers[start : start + int(place["size"])]), start

    def _living(self, start: int) -> Iterator[Any]:
        return (self.stored(row).paper if self.live[row] else None for row in range(start, len(self.rows)))
