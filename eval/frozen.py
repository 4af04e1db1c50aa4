"""The papers that the suites test on, by id and by title: training must not see them.

`frozen.tsv` beside this file lists them: source, id, and a hash of the normalised title, so that no title is repeated.
`python -m eval.suites.freeze DATA` makes it.
"""

from __future__ import annotations

import functools
import hashlib
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.aliases import EXTERNAL, IDENTIFIERS, normal_name
from corpora.cleaning import text_of, texts_of
from corpora.identifiers import FORMAL, identifiers_of, other_names, read_identifier
from corpora.markup import plain_text
from eval.files.labelled import ID_KEYS

FROZEN = Path(__file__).with_name("frozen.tsv")

_MISSING = {"none", "nan", "null"}
"""What programs write instead of a missing identifier, as in `cvpr2016:None`."""

_SPELLED = str.maketrans({"&": "and", "ø": "o", "đ": "d", "ð": "d", "ł": "l", "æ": "ae", "œ": "oe", "þ": "th"})
"""Letters that programs without accents write in another way, and that Unicode does not decompose."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """Papers that are tested on: ids as `ids_of` gives them, and titles as `title_key` gives them."""

    ids: frozenset[str]
    titles: frozenset[str]


def title_key(title: object) -> str:
    """Return a hash of a title that ignores case, accents, punctuation, blanks and markup; empty if nothing is left."""
    plain = unicodedata.normalize("NFKD", plain_text(text_of(title)).casefold()).casefold().translate(_SPELLED)
    letters = "".join(char for char in plain if char.isalnum() and not unicodedata.combining(char))
    return hashlib.sha256(letters.encode()).hexdigest()[:16] if letters else ""


def ids_of(paper: Mapping[str, Any]) -> Iterator[str]:
    """Yield every identifier of a paper, under any of the names in `corpora.aliases`, in the normal form `kind:value`.

    These are DOIs, PubMed, PMC, arXiv and OpenAlex ids in lower case, arXiv's without version and also where a DOI says
    it; and the record's own id of another form as `id:value`. Other values are ignored: some files have `2-n` as a DOI.
    """
    for kind, value in (*_own(paper), *_others(paper)):
        yield f"{kind}:{value}".lower()
        if kind == "doi":
            yield from map(":".join, other_names(kind, value))


def own_id(paper: Mapping[str, Any], key: str) -> str:
    """Return a paper's identifier under a key; empty if the value means that there is none."""
    value = text_of(paper.get(key))
    return "" if value.rpartition(":")[2].lower() in _MISSING else value


def _own(paper: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for value in filter(None, (own_id(paper, key) for key in ID_KEYS)):
        # A number such as 2101.00001 is arXiv's also without a prefix; one such as 7 may be anything.
        read = (read_identifier(value, kind) for kind in ("", "arxiv", "openalex"))
        yield next(filter(None, read), ("id", value))


def _others(paper: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    values = {normal_name(key): value for key, value in paper.items()}
    for key in EXTERNAL:
        if isinstance(held := values.get(key), Mapping):
            values = {normal_name(str(kind)): value for kind, value in held.items()} | values
    for text in texts_of(values.get("identifiers")):
        yield from filter(None, [read_identifier(text)])
    for kind in FORMAL:
        given = (values.get(name) for name in IDENTIFIERS[kind])
        for found in (one for value in given for one in identifiers_of(kind, value)):
            yield from filter(None, [read_identifier(found.partition(":")[2], kind)])


@functools.cache
def read_frozen() -> Frozen:
    """Read the file of frozen papers, once in a process: it takes most of a second."""
    ids, titles = set[str](), set[str]()
    for line in FROZEN.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            _, name, title = line.split("\t")
            ids.update(ids_of({"id": name}))
            titles.add(title)
    return Frozen(frozenset(ids), frozenset(titles - {""}))
