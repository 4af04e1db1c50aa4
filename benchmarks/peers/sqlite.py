"""SQLite: its FTS5 for words, sqlite-vec's exact scan for vectors, and one statement a page.

By apsw, whose SQLite is newer than Python's and can load extensions everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import sqlite_vec

from benchmarks.peers.base import CONSTANT, SIZE, WINDOW, Answer, Row, Search, words

if TYPE_CHECKING:
    import numpy as np

PACKAGES = ("apsw", "sqlite-vec")
FIELDS = ("venue", "year")

TABLES = """
create table papers (number integer primary key, id text unique, title text, abstract text, year integer, venue text);
create virtual table words using fts5(
    title, abstract, content='papers', content_rowid='number', tokenize='porter unicode61');
create virtual table nearest using vec0(vector float[{dimension}] distance_metric=cosine);
"""

PAGE = f"""
with legs as (
    select rowid, row_number() over (order by rank) as place
    from (select rowid, rank from words where words match ? order by rank limit {WINDOW})
    union all
    select rowid, row_number() over (order by distance)
    from (select rowid, distance from nearest where vector match ? and k = {WINDOW})
), fused as (
    select rowid, sum(1.0 / ({CONSTANT} + place)) as score from legs group by rowid order by score desc limit {SIZE}
)
select id, title, abstract, year, venue from fused join papers on number = fused.rowid order by score desc
"""  # noqa: S608 - numbers of ours alone

FACETS = """
with matches as materialized (
    select venue, year from words join papers on number = words.rowid where words match ?
)
select * from (select 'venue', venue, count(*) from matches group by venue order by 3 desc limit 10)
union all
select * from (select 'year', year, count(*) from matches where year is not null group by year order by 3 desc limit 10)
"""


def load(folder: Path, papers: Sequence[Row], vectors: np.ndarray) -> None:
    database = _connect(folder)
    with database:
        database.execute(TABLES.format(dimension=vectors.shape[1]))
        database.executemany(
            "insert into papers values (?, ?, ?, ?, ?, ?)", ((n, *row) for n, row in enumerate(papers))
        )
        database.executemany("insert into nearest (rowid, vector) values (?, ?)", enumerate(map(bytes, vectors)))
        database.execute("insert into words (words) values ('rebuild')")
        database.execute("insert into words (words) values ('optimize')")


def opened(folder: Path) -> Search:
    database = _connect(folder)

    def answer(text: str, vector: np.ndarray, fields: Sequence[str]) -> Answer:
        query = " OR ".join(f'"{word}"' for word in words(text))
        rows = [Row(*row) for row in database.execute(PAGE, (query, vector.tobytes()))]
        counts: dict[str, dict[str | int, int]] = {field: {} for field in fields}
        for field, value, papers in database.execute(FACETS, (query,)) if fields else ():
            counts[field][value] = papers
        return rows, counts

    return answer


def _connect(folder: Path) -> apsw.Connection:
    database = apsw.Connection(str(folder / "papers.db"))
    database.enable_load_extension(True)  # noqa: FBT003 - apsw takes it by position
    database.load_extension(sqlite_vec.loadable_path())
    return database
