"""Corpora in BEIR's form (Thakur et al. 2021, arXiv:2104.08663): a folder with `corpus.jsonl`.

Every line has `_id`, `title` and `text`. If the title is empty, the text's first sentence replaces it, cut at a word if
long. The abstract is still the whole text, so nothing is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from corpora.accounting import accounted
from corpora.assembling import assemble
from corpora.cleaning import text_of
from corpora.custom import CustomField
from corpora.errors import InputError
from corpora.json_objects import read_lines
from corpora.opening import PLAIN, Opening, find_compressed, open_binary
from corpora.paper import Record, Rejected
from corpora.sniffing import refuse_other, remedy_for_folder

LONGEST_STAND_IN = 200
_ID = {"id": "_id"}
_SENTENCE = re.compile(r".+?[.!?](?=\s|$)")


def read(
    path: Path,
    columns: Mapping[str, str],  # noqa: ARG001  # every reader is given it
    custom: Sequence[CustomField] = (),
    opening: Opening = PLAIN,
) -> Iterator[Record]:
    """Read a BEIR corpus lazily, from its folder or its `corpus.jsonl`; see `Reader`.

    Year, venue, authors and custom fields are read from a document or its `metadata`.
    """
    corpus_path = find_compressed(path, "corpus.jsonl") if path.is_dir() else path
    if corpus_path is None:
        raise InputError(f"{path} holds no corpus.jsonl, as a BEIR corpus does", remedy_for_folder(path))
    with open_binary(corpus_path, opening.encoding) as stream:
        refuse_other(corpus_path, stream.peek(), "a BEIR corpus.jsonl", ("jsonl",))
        for item in read_lines(stream):
            if isinstance(item, Rejected):
                yield item
            else:
                yield accounted(_flat(item.members), partial(_document, item.line, custom))


def _flat(document: dict[str, object]) -> dict[str, object]:
    """Return the members of a document with those of its `metadata`."""
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        return document
    known = {str(key): value for key, value in metadata.items()}
    return known | {name: value for name, value in document.items() if name != "metadata"}


def _document(line: int, custom: Sequence[CustomField], members: Mapping[str, object]) -> Record:
    text = text_of(members.get("text"))
    title = text_of(members.get("title")) or _stand_in(text)
    return assemble(line, {**members, "title": title, "text": text}, _ID, custom)


def _stand_in(text: str) -> str:
    sentence = _SENTENCE.match(text)
    title = sentence.group() if sentence else text
    if len(title) <= LONGEST_STAND_IN:
        return title
    head = title[: LONGEST_STAND_IN - 1]
    return f"{head.rpartition(' ')[0] or head}…"
