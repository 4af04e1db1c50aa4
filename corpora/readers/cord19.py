"""CORD-19's `metadata.csv` (Wang et al. 2020, arXiv:2004.10706; columns: github.com/allenai/cord19).

A `cord_uid` may occur more than once; every row is yielded, and the index keeps the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from corpora.accounting import accounted
from corpora.assembling import assemble
from corpora.custom import CustomField, placed
from corpora.download import download
from corpora.errors import InputError
from corpora.markup import plain_members
from corpora.opening import PLAIN, Opening, find_compressed
from corpora.paper import Record, Rejected
from corpora.sniffing import remedy_for_folder
from corpora.tables import open_table

METADATA_URL = "https://ai2-semanticscholar-cord-19.s3-us-west-2.amazonaws.com/2022-06-02/metadata.csv"
"""The final release, 2022-06-02, about 1.65 GB. Its publisher gives checksums of the 18.7 GB archive only (shortened:
md5 c557069e, sha1 dd2c32bc), none of this file. A download is therefore checked against the
length the server states and the SHA-256 recorded at the first one."""

_COLUMNS = {"id": "cord_uid", "venue": "journal", "year": "publish_time", "types": "", "fields": "", "language": ""}

_WITH_MARKUP = ("title", "abstract", "authors", "journal")

_CUSTOM = {"source": "source_x", "licence": "license", "published": "publish_time"}


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read CORD-19's metadata lazily, from the table or the folder that holds it as `metadata.csv`; see `Reader`.

    The custom fields `source`, `licence` and `published` are known by these names.
    """
    table_path = find_compressed(path, "metadata.csv") if path.is_dir() else path
    if table_path is None:
        raise InputError(f"{path} holds no metadata.csv, as CORD-19 does", remedy_for_folder(path))
    with open_table(table_path, "CORD-19's metadata.csv", ("cord19",), opening) as table:
        fields = placed(custom, table.header, table_path, _CUSTOM)
        for row in table.rows:
            if isinstance(row, Rejected):
                yield row
            else:
                yield accounted(row.cells, partial(_row, row.line, fields))


def _row(line: int, custom: Sequence[CustomField], cells: Mapping[str, str]) -> Record:
    return assemble(line, plain_members(cells, _WITH_MARKUP), _COLUMNS, custom)


def locate(data_folder: Path, *, url: str = METADATA_URL, sha256: str | None = None) -> Path:
    """Return CORD-19's metadata in the data folder, plain or compressed; download the final release if it is missing.

    A download has to have the checksum, if one is given.
    """
    folder = data_folder / "cord19"
    return find_compressed(folder, "metadata.csv") or download(url, folder / "metadata.csv", sha256=sha256)
