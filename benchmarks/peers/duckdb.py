"""DuckDB: its extensions fts for words and vss, an HNSW graph, for vectors, and two statements a page.

The extensions come from packages of their own, because DuckDB would download them. In one statement with the words, the
vectors would be scanned. Arrays are written into the statement: bound as a parameter, one takes DuckDB 30 ms more.
Loading needs pyarrow too; searching does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.peers.base import CONSTANT, SIZE, WINDOW, Answer, Row, Search

PACKAGES = ("duckdb", "duckdb-extension-fts", "duckdb-extension-vss")
FIELDS = ("venue", "year")

NEAREST = f"""
select number from papers order by array_cosine_distance(vector, {{vector}}::float[{{dimension}}]) limit {WINDOW}
"""  # noqa: S608

PAGE = f"""
with words as (
    select number, fts_main_papers.match_bm25(number, $text) as score
    from papers where score is not null order by score desc limit {WINDOW}
), legs as (
    select number, row_number() over (order by score desc) as place from words
    union all
    select unnest({{nearest}}), unnest(range(1, {WINDOW + 1}))
), fused as (
    select number, sum(1.0 / ({CONSTANT} + place)) as score from legs group by number order by score desc limit {SIZE}
)
select id, title, abstract, year, venue from fused join papers using (number) order by score desc
"""  # noqa: S608 - numbers of ours alone

FACETS = """
select venue, year, count(*) from papers where fts_main_papers.match_bm25(number, $text) is not null
group by grouping sets ((venue), (year)) order by 3 desc
"""


def load(folder: Path, papers: Sequence[Row], vectors: np.ndarray) -> None:
    import pyarrow as pa

    database = _connect(folder)
    columns = {name: list(values) for name, values in zip(Row._fields, zip(*papers, strict=True), strict=True)}
    flat = pa.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1])
    rows = pa.table({"number": np.arange(len(papers)), **columns, "vector": flat})  # noqa: F841 - the statement reads it
    database.execute(f"create table papers as select * replace (vector::float[{vectors.shape[1]}] as vector) from rows")  # noqa: S608
    database.execute("pragma create_fts_index('papers', 'number', 'title', 'abstract', stemmer = 'english')")
    database.execute("create index nearest on papers using hnsw (vector) with (metric = 'cosine')")
    database.close()


def opened(folder: Path) -> Search:
    database = _connect(folder)

    def answer(text: str, vector: np.ndarray, fields: Sequence[str]) -> Answer:
        nearest = database.execute(NEAREST.format(dimension=len(vector), vector=vector.tolist())).fetchall()
        page = PAGE.format(nearest=[number for (number,) in nearest])
        rows = [Row(*row) for row in database.execute(page, {"text": text}).fetchall()]
        return rows, _counts(text) if fields else {}

    def _counts(text: str) -> dict[str, dict[str | int, int]]:
        counts: dict[str, dict[str | int, int]] = {"venue": {}, "year": {}}
        for venue, year, papers in database.execute(FACETS, {"text": text}).fetchall():
            if venue or year:
                counts["venue" if venue else "year"][venue or year] = papers
        return {field: dict(list(values.items())[:SIZE]) for field, values in counts.items()}

    return answer


def _connect(folder: Path) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect(folder / "papers.db")
    for name in ("fts", "vss"):
        package = Path(find_spec(f"duckdb_extension_{name}").origin).parent
        database.load_extension(str(next(package.rglob("*.duckdb_extension"))))
    database.execute("set hnsw_enable_experimental_persistence = true")
    database.execute("set hnsw_ef_search = 200")
    database.execute("set threads = 1")
    return database
