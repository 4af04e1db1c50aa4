"""Topics: the queries of TREC and others by id, from TREC-COVID's XML, JSON lines or a table of two columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args
from xml.parsers import expat

from corpora.documents import read_within
from corpora.errors import InputError, require
from corpora.opening import open_binary
from eval.files.text import bad_line, decode, lines_of, require_id, require_line
from eval.retrieval.beir import read_query

TopicField = Literal["query", "question", "narrative"]
FIELDS: tuple[TopicField, ...] = get_args(TopicField)
"""Parts of a topic of TREC-COVID: keywords, a sentence, and what counts as an answer."""

DEFAULT_FIELDS = ("question",)
"""The field of TREC-COVID's topics that BEIR uses as the query."""

Topic = Mapping[str, str]
"""A topic's text by field."""

LARGEST_XML = 64 << 20


def read_topics(path: Path, fields: Sequence[str] = DEFAULT_FIELDS) -> dict[str, str]:
    """Read the text of each topic by query id, in the order of the file: XML, JSON lines or TSV, plain or compressed.

    The file's content tells the form. XML has `topic` with `query`, `question` and `narrative`: `fields` are the parts
    to join by a blank, in this order, and the text is empty where a topic has none of them. JSON lines are BEIR's
    `{"_id", "text"}`; TSV is an id, a tab and the text. Raises `InputError` if the file can't be read, holds no topics,
    or an id comes twice.
    """
    if unknown := [field for field in fields if field not in FIELDS]:
        raise InputError(f"A topic has no field {unknown[0]!r}; name some of {', '.join(FIELDS)}.")
    texts: dict[str, str] = {}
    for number, query, topic in _topics(path):
        require_id(query)
        require_line(query not in texts, path, number, f"the topic {query} came before; keep one of it")
        wanted = ("text",) if "text" in topic else fields
        texts[query] = " ".join(" ".join(topic.get(field, "") for field in wanted).split())
    require(texts, f"{path} holds no topics.")
    require(any(texts.values()), f"No topic of {path} has a {' or '.join(fields)}; name other fields.")
    return texts


def _topics(path: Path) -> Iterator[tuple[int, str, Topic]]:
    with open_binary(path) as stream:
        head = stream.peek()[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
        if head.startswith(b"<"):
            try:
                document = read_within(stream, LARGEST_XML)
            except ValueError as error:
                raise InputError(f"{path} can't be read as topics ({error}).") from error
            yield from _xml(path, document)
            return
        read = _json if head.startswith(b"{") else _row
        for number, line in lines_of(stream, path):
            yield (number, *read(path, number, line))


def _json(path: Path, number: int, line: bytes) -> tuple[str, Topic]:
    query, text = read_query(line, path, number, "topic")
    return query, {"text": text}


def _row(path: Path, number: int, line: bytes) -> tuple[str, Topic]:
    query, tab, text = line.partition(b"\t")
    require_line(
        tab and query.strip(), path, number, "a topic is its id, a tab and its text (or the file is XML or JSON lines)"
    )
    return decode(query.strip(), path, number), {"text": decode(text, path, number)}


def _xml(path: Path, content: bytes) -> list[tuple[int, str, Topic]]:
    """Read `<topic number="1"><query>...</query>...</topic>`; a document type, and so every entity, is refused."""
    found: list[tuple[int, str, dict[str, str]]] = []
    inside: list[str] = []
    parser = expat.ParserCreate()

    def begin(tag: str, attributes: dict[str, str]) -> None:
        if tag == "topic":
            query = attributes.get("number", "").strip()
            require_line(query, path, parser.CurrentLineNumber, "a topic lacks its number")
            found.append((parser.CurrentLineNumber, query, {}))
        inside.append(tag)

    def end(tag: str) -> None:  # noqa: ARG001 - the signature is expat's
        inside.pop()

    def text(characters: str) -> None:
        field = next((tag for tag in inside if tag in FIELDS), "")
        if found and "topic" in inside and field:
            topic = found[-1][2]
            topic[field] = topic.get(field, "") + characters

    def refuse(*_: object) -> None:
        raise InputError(f"{path} declares a document type, which topics don't need: take it out.")

    parser.StartElementHandler, parser.EndElementHandler = begin, end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = text, refuse
    try:
        parser.Parse(content, True)  # noqa: FBT003 - the signature is expat's
    except expat.ExpatError as error:
        raise bad_line(path, error.lineno, f"this is not XML ({expat.ErrorString(error.code)})") from error
    return list(found)
