"""Corpora in BEIR's form (Thakur et al. 2021, arXiv:2104.08663): a folder with `corpus.jsonl`.

Every line has `_id`, `title` and `text`. If the title is empty, the text's first sentence replaces it, cut at a word if
long. The abstract is still the whole text, so nothing is lost.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from corpora.assembling import assemble
from corpora.cleaning import text_of
from corpora.errors import InputError
from corpora.json_objects import read_lines
from corpora.opening import PLAIN, Opening, find_compressed, open_binary
from corpora.paper import Record, Rejected
from corpora.sniffing import refuse_other, remedy_for_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from corpora.custom import CustomField

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
            yield item if isinstance(item, Rejected) else assemble(item.line, _flat(item.members), _ID, custom)


def _flat(document: dict[str, object]) -> dict[str, object]:
    metadata = document.get("metadata")
    text = text_of(document.get("text"))
    title = text_of(document.get("title")) or _stand_in(text)
    known = {str(key): value for key, value in metadata.items()} if isinstance(metadata, dict) else {}
    return known | document | {"title": title, "text": text}


def _stand_in(text: str) -> str:
    sentence = _SENTENCE.match(text)
    title = sentence.group() if sentence else text
    if len(title) <= LONGEST_STAND_IN:
        return title
    head = title[: LONGEST_STAND_IN - 1]
    return f"{head.rpartition(' ')[0] or head}…"
