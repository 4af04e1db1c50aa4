"""Recognises a corpus by a file's beginning, so that a message can name the right reader."""

from __future__ import annotations

import re
from pathlib import Path

from corpora.aliases import SINGLE, normal_name
from corpora.errors import InputError
from corpora.opening import find_compressed

KINDS = {
    "pubmed": "PubMed XML",
    "jsonl": "JSON",
    "cord19": "CORD-19's metadata table",
    "csv": "a table",
    "ris": "RIS",
    "nbib": "PubMed's own text (.nbib)",
    "wos": "Web of Science's plain text",
    "refer": "EndNote's text with %0",
    "endnote": "EndNote's XML",
    "bibtex": "BibTeX",
    "oai": "answers of OAI-PMH",
    "marc": "MARC",
    "xml": "XML, but not PubMed's",
}
"""What a file's beginning may look like: the name of the corpus that reads it, if any, and a description."""

_READ_BY = dict.fromkeys(("nbib", "wos", "refer", "endnote"), "ris")
"""Kinds that a corpus of another name reads."""

_HEAD = 1 << 16

_OBJECT_LINE = re.compile(rb"^\s*[\[{]", re.MULTILINE)
_TAGGED = {
    "ris": re.compile(rb"^TY {1,2}- ", re.MULTILINE),
    "nbib": re.compile(rb"^PMID- *\d", re.MULTILINE),
    "wos": re.compile(rb"\A(?:FN [^\r\n]*\s+VR |PT [A-Z]\s)"),
    "refer": re.compile(rb"^%0 \w", re.MULTILINE),
}
"""Records of lines with tags, by the tag that begins one."""
_ENDNOTE = re.compile(rb"<record>\s*<(?:database|source-app|rec-number|foreign-keys|ref-type|contributors)\b")
_BIBTEX = re.compile(
    rb"^[ \t]*@(?:article|book|in[a-z]{4,20}|misc|[a-z]{0,10}thesis|techreport|unpublished|string|comment)[ \t]*[{(]",
    re.MULTILINE | re.IGNORECASE,
)
_OAI_TAG = re.compile(rb"<(?:[\w.-]+:)?OAI-PMH\b")
_MARC = re.compile(rb"\d{5}(?:[acdnp][a-z]|[ -~]{4}[ a][\d ]{2}\d{5})")
"""The leader: the length, status and type, or blanks in their places, and where the data begins."""
_MARC_XML = b"http://www.loc.gov/MARC21/slim"
_PUBMED_TAG = re.compile(rb"<(?:Pubmed\w+|DeleteCitation)\b")


def guess_kind(head: bytes) -> str:
    """Return the key of `KINDS` that a file's beginning looks like, or an empty string."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    first_line = text.partition(b"\n")[0]
    if text.startswith(b"<"):
        # Answers of OAI-PMH may hold MARC.
        marks = {
            "pubmed": _PUBMED_TAG.search(text),
            "oai": _OAI_TAG.search(text),
            "marc": _MARC_XML in text,
            "endnote": _ENDNOTE.search(text),
        }
        return next((kind for kind, found in marks.items() if found), "xml")
    if _MARC.match(text):
        return "marc"
    if text.startswith((b"{", b"[")):
        return "jsonl"
    if tagged := next((kind for kind, mark in _TAGGED.items() if mark.search(text)), ""):
        return tagged
    if _BIBTEX.search(text):
        return "bibtex"
    if b"cord_uid" in first_line:
        return "cord19"
    if first_line.startswith(b"RECORD 1"):  # Embase's table, of which each row is a field
        return "csv"
    if any(delimiter in first_line for delimiter in (b",", b"\t", b";", b"|")):
        return "jsonl" if _OBJECT_LINE.search(text) and b'"' in first_line else "csv"
    if normal_name(first_line.decode(errors="replace")) in SINGLE["title"]:  # a table of one column
        return "csv"
    return "jsonl" if _OBJECT_LINE.search(text) else ""


def likely_corpus(path: Path) -> str:
    """Return the corpus or the kind, of `KINDS`, that a file looks like, empty if none or if it can't be read."""
    try:
        with path.open("rb") as file:
            kind = guess_kind(file.read(_HEAD))
            return _READ_BY.get(kind, kind)
    except OSError:
        return ""


def refuse_other(path: Path, head: bytes, wanted: str, accepted: tuple[str, ...]) -> None:
    """Raise `InputError` if a file looks like another corpus than those of `accepted`, which are keys of `KINDS`.

    The message says what was expected, what the file looks like and which corpus reads it.
    """
    kind = guess_kind(head)
    if kind in accepted:
        return
    if kind in ("", "xml"):
        looks = KINDS.get(kind, "no corpus ses can read")
        raise InputError(f"{path} should be {wanted}, but it looks like {looks}", "name another file")
    raise InputError(
        f"{path} should be {wanted}, but it looks like {KINDS[kind]}", f"use <corpus={_READ_BY.get(kind, kind)}>"
    )


def refuse_folder(path: Path, wanted: str) -> None:
    """Raise `InputError` for a folder where one file is wanted; it names the corpus that reads the folder, if known."""
    if path.is_dir():
        raise InputError(f"{path} is a folder where {wanted} is wanted", remedy_for_folder(path, "name a file in it"))


def remedy_for_folder(path: Path, otherwise: str = "name another folder") -> str:
    """Return a hint for an unexpected folder, according to its content."""
    known = {"beir": "corpus.jsonl", "cord19": "metadata.csv"}
    corpus = next((name for name, file in known.items() if find_compressed(path, file)), None)
    if corpus is None and any(path.glob("*.xml*")):
        corpus = "pubmed"
    return f"use <corpus={corpus}>" if corpus else otherwise
