"""Signatures (an author's name on a paper), from S2AND's files or from papers with authors' full names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson

from corpora.cleaning import text_of
from corpora.errors import InputError, require
from corpora.opening import COMPRESSED_SUFFIXES, open_binary
from eval.embedder import Text
from eval.files.text import file_in, json_objects, paper_text, read_within, require_line

LARGEST = 4 << 30
"""Bytes of a JSON file; S2AND's own are below 1 GB."""

LARGEST_BLOCK = 60
"""Most signatures in a block of full names. In larger blocks too many people share a full name."""


@dataclass(frozen=True, slots=True)
class Signatures:
    """Authors' names on papers, and the true author of each.

    Attributes:
        papers: Texts of the papers.
        paper_of: Signature to the id of its paper.
        blocks: Block, such as `j smith`, to its signatures. Signatures are compared within a block only.
        author_of: Signature to its true author.
        left_out: Signatures whose true author is not known.
        repeated: Repeated papers; the first copy is kept.
    """

    papers: Mapping[str, Text]
    paper_of: Mapping[str, str]
    blocks: Mapping[str, tuple[str, ...]]
    author_of: Mapping[str, str]
    left_out: int = 0
    repeated: int = 0


def read_s2and(path: Path) -> dict[str, Signatures]:
    """Read S2AND's data sets by name: each one's signatures in S2AND's blocks (`block` of `author_info`).

    The folder holds `NAME_papers.json`, `NAME_signatures.json` and `NAME_clusters.json`, or has such folders in it,
    such as `pubmed`, `qian` and `zbmath`. Raises `InputError` if there is none, or a file is missing or malformed.
    """
    endings = [f"_papers.json{packed}" for packed in COMPRESSED_SUFFIXES]
    found = sorted(file for end in endings for depth in ("", "*/") for file in path.glob(f"{depth}*{end}"))
    require(found, f"{path} has no data set of S2AND: there is no NAME_papers.json in it or in its subfolders.")
    names = [file.name.partition("_papers.json")[0] for file in found]
    return {name: _data_set(file.parent, name) for name, file in zip(names, found, strict=True)}


def read_named_papers(path: Path, *, blocks: int = 50) -> Signatures:
    """Treat each full name of a corpus as one author, in blocks of the first letter and the last name.

    Silver truth: two people of one name count as one, and one who writes their name in two ways counts as two. Names
    whose first part is an initial say too little, and are left out. The corpus is JSON lines of papers with `id`,
    `title`, `abstract` and `authors`, a list of names. Returns the largest blocks of up to 60 signatures, of authors
    who have two or more each. Raises `InputError` if a line is malformed, or no block has two such authors.
    """
    papers: dict[str, Text] = {}
    by_block: dict[str, dict[str, list[str]]] = {}
    left_out = again = 0
    for number, paper in json_objects(path):
        text = paper_text(paper, "id")
        authors = paper.get("authors") or []
        require_line(
            text.id and isinstance(authors, list) and all(isinstance(name, str) for name in authors),
            path,
            number,
            'a paper has an "id", and "authors" is a list of names',
        )
        if text.id in papers:
            again += 1
            continue
        papers[text.id] = text
        for name in dict.fromkeys(" ".join(name.lower().split()) for name in authors):
            first, _, rest = name.partition(" ")
            if not rest or len(first.rstrip(".")) < 2:
                left_out += 1
                continue
            of_block = by_block.setdefault(f"{first[0]} {rest.rpartition(' ')[2]}", {})
            of_block.setdefault(name, []).append(text.id)
    repeated = {
        block: {name: own for name, own in authors.items() if len(own) > 1} for block, authors in by_block.items()
    }
    sizes = {block: sum(map(len, authors.values())) for block, authors in repeated.items() if len(authors) > 1}
    usable = [block for block, size in sizes.items() if size <= LARGEST_BLOCK]
    require(usable, f"{path} has no two authors with two papers each who share a last name and a first letter.")
    chosen = sorted(usable, key=lambda block: (-sizes[block], block))[:blocks]
    rows = [
        (f"{paper}|{name}", paper, block, name)
        for block in chosen
        for name, own in repeated[block].items()
        for paper in own
    ]
    return replace(_signatures(papers, rows, left_out), repeated=again)


def _data_set(folder: Path, name: str) -> Signatures:
    papers_of, signatures, clusters = (
        _json(file_in(folder, f"{name}_{kind}.json")) for kind in ("papers", "signatures", "clusters")
    )
    try:
        papers = {
            str(key): Text(str(key), text_of(paper.get("title")), text_of(paper.get("abstract")))
            for key, paper in papers_of.items()
        }
        author_of = {str(s): str(key) for key, cluster in clusters.items() for s in cluster["signature_ids"]}
        rows = [
            (str(key), str(row["paper_id"]), str(row["author_info"]["block"]), author_of[str(key)])
            for key, row in signatures.items()
            if str(key) in author_of
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"The files of {name} in {folder} are not in S2AND's form ({error!r}).") from error
    return _signatures(papers, rows, len(signatures) - len(rows))


def _signatures(papers: Mapping[str, Text], rows: list[tuple[str, str, str, str]], left_out: int) -> Signatures:
    """Gather rows of signature, paper, block and author; papers that no row names are dropped."""
    blocks: dict[str, list[str]] = {}
    for signature, _, block, _ in rows:
        blocks.setdefault(block, []).append(signature)
    paper_of = {signature: paper for signature, paper, _, _ in rows}
    return Signatures(
        {paper: papers[paper] for paper in dict.fromkeys(paper_of.values()) if paper in papers},
        paper_of,
        {block: tuple(names) for block, names in blocks.items()},
        {signature: author for signature, _, _, author in rows},
        left_out,
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        with open_binary(path) as stream:
            too_large = f"{path} is larger than {LARGEST >> 30} GiB: it is no file of S2AND."
            members: dict[str, Any] = orjson.loads(read_within(stream, LARGEST, too_large))
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path} can't be read as JSON ({error}).") from error
    require(isinstance(members, dict), f"{path} is not in S2AND's form: it is no JSON object.")
    return members
