"""Which papers are the same work (`search_plugin/words/works.py`): precision and recall on pairs of real papers.

The pairs are all that could be confused: papers of one or two corpora with the same title, or by the same first author
with a title that shares half of its words or its first four words. What says whether a pair is the same work is hidden
from the method: the identifiers of the corpora where both have one of a kind (ACL Anthology, arXiv, PMID), else the
abstracts. Half of their words or more in common is the same work, unless their titles name other numbers or years; less
than .3 is another work; between, a pair is left out, and counted. The rule for abstracts is rough: read what is listed
with --show.

Needs SES_TEST_DATA; encodes the papers of the pairs, or takes their vectors from the cache folder.
Run: python -m benchmarks.works [--show N] [--thresholds]
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

import ses
from benchmarks.common import data_dir
from corpora.paper import Paper
from search_plugin.words.names import fold
from search_plugin.words.works import SIMILARITIES, LikeVectors, works

SOURCES = ("acl", "arxiv", "conf", "pubmed", "synergy")
SAME, OTHER = 0.5, 0.3
MOST = 600
"""Pairs of one kind with the same title: listings of one conference are in two corpora, alike to the letter."""


class Pair(NamedTuple):
    """Two papers, and whether they are the same work."""

    kind: str
    one: Paper
    other: Paper
    same: bool


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--show", type=int, default=0, help="wrong pairs of each kind to print")
    parser.add_argument(
        "--thresholds",
        action="store_true",
        help="fit the least cosines on half of the pairs, and measure on the other half",
    )
    asked = parser.parse_args()
    pairs, left_out = labelled()
    print(f"{len(pairs):,} pairs, {sum(pair.same for pair in pairs):,} of the same work; {left_out:,} left out\n")
    vectors = encoded(pairs)
    if asked.thresholds:
        fit([pair for pair in pairs if fitted(pair)], vectors)
        pairs = [pair for pair in pairs if not fitted(pair)]
    for name, similarity in (("with vectors", SIMILARITIES[MINILM]), ("without", None)):
        print(f"{name}\n")
        table(pairs, [joined(pair, vectors, similarity) for pair in pairs], asked.show)


MINILM = "3b9a20da48be8dfb"


def joined(pair: Pair, vectors: Mapping[str, np.ndarray], similarity: LikeVectors | None) -> bool:
    """Return whether the method takes two papers as the same work, without seeing their identifiers."""
    hidden = [replace(paper, id=name, identifiers=()) for name, paper in (("a", pair.one), ("b", pair.other))]
    cosine = float(vectors[pair.one.id] @ vectors[pair.other.id])
    return bool(works(hidden, similarity=similarity, cosines=lambda asked: dict.fromkeys(asked, cosine)))


def table(pairs: Sequence[Pair], found: Sequence[bool], show: int) -> None:
    kinds: dict[str, list[tuple[Pair, bool]]] = defaultdict(list)
    for pair, joined_ in zip(pairs, found, strict=True):
        kinds[pair.kind].append((pair, joined_))
        kinds["all"].append((pair, joined_))
    print("| pairs | same work | other works | precision | recall |\n| --- | --- | --- | --- | --- |")
    for kind, judged in sorted(kinds.items(), key=lambda item: (item[0] == "all", item[0])):
        right = sum(pair.same and joined_ for pair, joined_ in judged)
        wrong = sum(not pair.same and joined_ for pair, joined_ in judged)
        same = sum(pair.same for pair, _ in judged)
        row = (kind, f"{same:,}", f"{len(judged) - same:,}", share(right, right + wrong), share(right, same))
        print("|", " | ".join(row), "|")
    print()
    for kind, judged in kinds.items() if show else ():
        for name, wanted in (("joined, but other works", False), ("apart, but the same work", True)):
            wrong_pairs = [pair for pair, joined_ in judged if pair.same == wanted and joined_ != wanted]
            for pair in random.Random(1).sample(wrong_pairs, min(show, len(wrong_pairs))) if kind != "all" else ():
                print(f"{name} ({kind})", *map(described, (pair.one, pair.other)), sep="\n    ")


def described(paper: Paper) -> str:
    return f"{paper.id} {paper.year} {paper.title[:150]} | {'; '.join(paper.authors[:4])}"


def share(part: int, whole: int) -> str:
    """Return a share with its 95 % interval (Wilson, "Probable inference", 1927)."""
    if not whole:
        return "-"
    z, p = 1.96, part / whole
    middle = (p + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z * math.sqrt(p * (1 - p) / whole + z * z / (4 * whole * whole)) / (1 + z * z / whole)
    return f"{p:.3f} [{max(0, middle - half):.3f}, {min(1, middle + half):.3f}]"


def fitted(pair: Pair) -> bool:
    """Return whether a pair is of the half on which thresholds are fitted."""
    return sum(pair.one.id.encode()) % 2 == 0


def fit(half: Sequence[Pair], vectors: Mapping[str, np.ndarray]) -> None:
    """Print precision and recall by the least cosine."""
    print("| least cosine | same title: precision | recall | other title: precision | recall |")
    print("| --- | --- | --- | --- | --- |")
    never = 2.0
    for least in (0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.92, 0.94, 0.96, 0.97, 0.98):
        cells = []
        for similarity in (LikeVectors(least, never), LikeVectors(never, least)):
            found = [joined(pair, vectors, similarity) for pair in half]
            right = sum(pair.same and one for pair, one in zip(half, found, strict=True))
            cells += [share(right, sum(found)), share(right, sum(pair.same for pair in half))]
        print("|", f"{least:.2f}", "|", " | ".join(cells), "|")
    print()


def labelled() -> tuple[list[Pair], int]:
    """Return pairs that could be confused and are labelled, of each kind at most `MOST`, and how many were left out."""
    kinds: dict[str, list[tuple[Paper, Paper]]] = defaultdict(list)
    for one, other in candidates([paper for name in SOURCES for paper in read(name)]):
        if one.id != other.id and (kind := kind_of(one, other)):  # some papers are of several reviews
            kinds[kind].append((one, other))
    draw = random.Random(1)
    pairs: list[Pair] = []
    left_out = 0
    for kind, alike in kinds.items():
        for one, other in draw.sample(alike, min(MOST, len(alike))):
            same = share_a_name(one, other) or by_abstracts(one, other)
            if same is None:
                left_out += 1
            else:
                pairs.append(Pair(kind, one, other, same))
    return pairs, left_out


def candidates(papers: Sequence[Paper]) -> Iterator[tuple[Paper, Paper]]:
    """Yield the pairs that share an identifier, title, beginning of the title or first author, each once."""
    blocks: dict[str, list[int]] = defaultdict(list)
    for at, paper in enumerate(papers):
        words = fold(paper.title)
        keys = {" ".join(words), " ".join(words[:4]), *named(paper).values()}
        if paper.authors:
            keys.add(f"by {' '.join(sorted(fold(paper.authors[0])))}")
        for key in keys:
            blocks[key].append(at)
    seen = dict.fromkeys(pair for block in blocks.values() if len(block) <= 200 for pair in combinations(block, 2))
    for one, other in seen:
        yield papers[one], papers[other]


def kind_of(one: Paper, other: Paper) -> str:
    """Return the kind of a pair: by the corpora and by what is alike; empty if nothing is."""
    words, others = fold(one.title), fold(other.title)
    alike = 2 * len({*words} & {*others}) >= len({*words, *others})
    if alike or share_a_name(one, other):
        how = "same title" if words == others else "similar titles" if alike else "other titles"
        return f"{' and '.join(sorted({one.venue, other.venue}))}, {how}"
    return "same first four words" if words[:4] == others[:4] and len(words) > 3 else ""


def read(name: str) -> Iterator[Paper]:
    """Yield the papers of a corpus; their `venue` is its name, so that kinds of pairs can be distinguished."""
    with lzma.open(data_dir() / "train" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            row = json.loads(line)
            if not row.get("title"):
                continue
            year = row.get("year")
            names = [f"doi:{row['doi']}"] if row.get("doi") else []
            names += [f"pmid:{row['pmid'].rsplit('/', 1)[-1]}"] if row.get("pmid") else []
            # Some listings have papers without an id.
            yield Paper(
                f"{row['id']} {number}" if row["id"].endswith(":None") else row["id"],
                row["title"],
                row.get("abstract") or "",
                tuple(row.get("authors") or ()),
                int(year) if year else None,
                venue=name,
                types=tuple(row.get("types") or ()),
                identifiers=tuple(names),
            )


def named(paper: Paper) -> Mapping[str, str]:
    """Return the identifiers of a paper's work by kind, as its corpus gives them."""
    _, _, own = paper.id.partition(":")
    found = dict(one.split(":", 1) for one in paper.identifiers)
    if paper.id.startswith("PMID:"):
        found["pmid"] = own
    elif paper.id.startswith("arXiv:"):
        found["arxiv"] = re.sub(r"v\d+$", "", own)
    elif re.match(r"(acl|emnlp|naacl|coling|eacl)\d*:\S+[.-]\d+$", paper.id):
        found["anthology"] = own.replace(".", "-")
    return {kind: f"{kind} {value}" for kind, value in found.items()}


def share_a_name(one: Paper, other: Paper) -> bool:
    """Return whether two papers share an identifier. Versions have others, so that another one says nothing."""
    return not set(named(one).values()).isdisjoint(named(other).values())


def by_abstracts(one: Paper, other: Paper) -> bool | None:
    a, b = (set(fold(paper.abstract)) for paper in (one, other))
    if min(len(a), len(b)) < 20:
        return None
    overlap = len(a & b) / len(a | b)
    numbers, others = (sorted(re.findall(r"\d+|\b[ivx]+\b", " ".join(fold(paper.title)))) for paper in (one, other))
    if overlap >= SAME:
        return numbers == others
    return False if overlap < OTHER else None


def encoded(pairs: Sequence[Pair]) -> dict[str, np.ndarray]:
    """Return vectors of length one of all papers of pairs, by id."""
    papers = list({paper.id: paper for pair in pairs for paper in (pair.one, pair.other)}.values())
    model = ses.load_model("all-MiniLM-L6-v2")
    rows = model.encode([model.card.text(paper.title, paper.abstract) for paper in papers])
    return {paper.id: row / np.linalg.norm(row) for paper, row in zip(papers, rows, strict=True)}


if __name__ == "__main__":
    main()
