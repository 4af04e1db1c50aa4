"""The papers that the suites test on, by id and by title: training must not see them.

`frozen.tsv` beside this file lists them: source, id, and a hash of the normalised title, so that no title is repeated.
`python -m eval.suites.freeze DATA` makes it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.cleaning import identifiers_of, text_of
from eval.files.labelled import ID_KEYS

FROZEN = Path(__file__).with_name("frozen.tsv")

_KINDS = {
    "doi": re.compile(r"(https?://(dx\.)?doi\.org/|doi:\s*)?10\.\d{4,}/\S+", re.IGNORECASE),
    "pmid": re.compile(r"(https?://pubmed\.ncbi\.nlm\.nih\.gov/|pmid:?\s*)\d+/?", re.IGNORECASE),
    "arxiv": re.compile(r"(https?://arxiv\.org/(abs|pdf)/|arxiv:\s*)\S+", re.IGNORECASE),
    "openalex": re.compile(r"(https?://openalex\.org/)?W\d+", re.IGNORECASE),
}
"""The form of identifiers. Values of another form are ignored, because some files have `2-n` as a DOI."""

_KEYS = {"doi": "doi", "pmid": "pmid", "arxiv": "arxiv", "arxiv_id": "arxiv", "openalex": "openalex"} | {
    "openalex_id": "openalex",
    "pubmed_id": "pmid",
}

_MISSING = {"none", "nan", "null"}
"""What programs write instead of a missing identifier, as in `cvpr2016:None`."""

_VERSION = re.compile(r"v\d+$")


@dataclass(frozen=True, slots=True)
class Frozen:
    """Papers that are tested on.

    Attributes:
        ids: As `ids_of` gives them.
        titles: As `title_key` gives them.
    """

    ids: frozenset[str]
    titles: frozenset[str]


def title_key(title: object) -> str:
    """Return a hash of a title that ignores case, form of accents, punctuation and blanks; empty if nothing is left."""
    plain = unicodedata.normalize("NFKC", text_of(title)).casefold()
    letters = "".join(char for char in plain if char.isalnum())
    return hashlib.sha256(letters.encode()).hexdigest()[:16] if letters else ""


def ids_of(paper: Mapping[str, Any]) -> Iterator[str]:
    """Yield every identifier of a paper in the normal form `kind:value`.

    Args:
        paper: A record with an id, and perhaps a DOI, PubMed, arXiv or OpenAlex id.

    Yields:
        Identifiers in lower case, arXiv's without version; those of an unknown kind as `id:value`.
    """
    for key in ID_KEYS:
        if value := own_id(paper, key):
            kind = next((kind for kind, looks in _KINDS.items() if looks.fullmatch(value)), "id")
            yield from _normalised(kind, value)
    for key, kind in _KEYS.items():
        yield from _normalised(kind, paper.get(key))


def own_id(paper: Mapping[str, Any], key: str) -> str:
    """Return a paper's identifier under a key; empty if the value means that there is none."""
    value = text_of(paper.get(key))
    return "" if value.rpartition(":")[2].lower() in _MISSING else value


def _normalised(kind: str, value: object) -> Iterator[str]:
    for found in identifiers_of(kind, value):
        name = found.lower()
        if kind not in _KINDS or _KINDS[kind].fullmatch(name) or _KINDS[kind].fullmatch(name.partition(":")[2]):
            yield _VERSION.sub("", name) if kind == "arxiv" else name


def read_frozen(path: Path = FROZEN) -> Frozen:
    """Read a file of frozen papers."""
    ids, titles = set[str](), set[str]()
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            _, name, title = line.split("\t")
            ids.update(ids_of({"id": name}))
            titles.add(title)
    return Frozen(frozenset(ids), frozenset(titles - {""}))
