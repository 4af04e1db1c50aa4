"""Sentences near a claim (`products/support/support.py`): how early a paper with evidence is found.

By three forms of the sentences, and by the search alone, on claims of SciFact. Its rationales, which name the sentences
too, are in its own release (`corpus.jsonl` and `claims_dev.jsonl`): give that folder to measure the gold sentences.

Needs SES_TEST_DATA; encodes SciFact's papers and their sentences, or takes their vectors from the cache folder.
Run: python -m benchmarks.support [--claims N] [--release FOLDER]
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import ses
from benchmarks.common import data_dir
from corpora.paper import Paper
from encoders.models.formats import Format
from encoders.text_encoder import TextEncoder
from eval.retrieval.beir import BeirFolder
from search_plugin.contract.legs import closeness
from search_plugin.pages.hit import Hit
from search_plugin.words.sentences import sentences
from ses.indexes.open_index import MOST_SUPPORTING, OpenIndex

FORMS: Mapping[str, tuple[Format, Callable[[TextEncoder, Hit, str], str]]] = {
    "sentence as a paper": (Format.PRX, lambda _, __, text: text),
    "title and sentence as a paper": (Format.PRX, lambda encoder, hit, text: encoder.card.text(hit.title, text)),
    "sentence as a query": (Format.QRY, lambda _, __, text: text),
}


class Claim(NamedTuple):
    """A claim, the papers with evidence, and of each the places of its gold sentences; none where they are unknown."""

    text: str
    papers: Mapping[str, tuple[tuple[int, int], ...]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--claims", type=int, default=300)
    parser.add_argument("--release", type=Path)
    parser.add_argument("--kept", type=Path, help="a folder that keeps the index for the next run")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = asked.kept or Path(folder)
        library = ses.open(place / "indexes", data_dir=place / "data")
        claims = list(released(asked.release) if asked.release else judged())[: asked.claims]
        index = library["scifact"] if "scifact" in library else indexed(library, asked.release)
        print(f"{len(claims)} claims, {len(index):,} papers, {MOST_SUPPORTING} papers read for each claim\n")
        measure(index, claims)


def indexed(library: ses.Library, release: Path | None) -> OpenIndex:
    if release:
        library.index("scifact", [paper for paper, _ in papers_of(release).values()])
    else:
        library.index("scifact", data_dir() / "eval" / "scifact", corpus="beir")
    return library["scifact"]


def measure(index: OpenIndex, claims: list[Claim]) -> None:
    encoder = index._encoder()
    print(
        "| ranked by | R@1 of papers with evidence | R@3 | RR | R@3 of gold sentences |",
        "| --- | --- | --- | --- | --- |",
        sep="\n",
    )
    pages = [index.search(claim.text, size=MOST_SUPPORTING, literal=True) for claim in claims]
    show(
        "the search alone", [first(claim, [hit.id for hit in page]) for claim, page in zip(claims, pages, strict=True)]
    )
    measured: dict[tuple[str, str], str] = {}
    for name, (task_format, write) in FORMS.items():
        # Formats that share head and prompt give the same vectors, which would look like an agreement of two forms.
        same = (encoder.card.prompt(write(encoder, pages[0][0], "?"), task_format), encoder.card.head(task_format))
        if same in measured:
            print(f"| {name} | the same vectors as {measured[same]} | | | |")
            continue
        measured[same] = name
        papers, golden = [], []
        for claim, page in zip(claims, pages, strict=True):
            places = [(hit, place) for hit in page for place in sentences(hit.paper.abstract)]
            texts = [write(encoder, hit, hit.paper.abstract[start:end]) for hit, (start, end) in places]
            wanted = encoder.encode([claim.text], Format.QRY)[0]
            scores = closeness(encoder.encode(texts, task_format), wanted, encoder.card.similarity)
            ranked = [places[row] for row in (-scores).argsort(kind="stable")]
            papers.append(first(claim, list(dict.fromkeys(hit.id for hit, _ in ranked))))
            if any(claim.papers.values()):
                golden.append(any(_gold(claim, hit.id, place) for hit, place in ranked[:3]))
        show(name, papers, golden)
    spent = [timed(index, claim.text) for claim in claims[:20]]
    print(f"\nsupport of a claim, its vectors in the cache: median {statistics.median(spent):.0f} ms")


def first(claim: Claim, ranked: Sequence[str]) -> float:
    """The rank of the first paper with evidence; infinite if none was found."""
    return next((rank for rank, name in enumerate(ranked, start=1) if name in claim.papers), math.inf)


def show(name: str, ranks: Sequence[float], golden: Sequence[bool] = ()) -> None:
    shares = [statistics.mean(rank <= most for rank in ranks) for most in (1, 3)]
    shares.append(statistics.mean(1 / rank for rank in ranks))
    gold = f"{statistics.mean(golden):.3f}" if golden else "not known"
    print(f"| {name} | {' | '.join(f'{share:.3f}' for share in shares)} | {gold} |", flush=True)


def timed(index: OpenIndex, text: str) -> float:
    begun = time.perf_counter()
    index.support(text)
    return 1000 * (time.perf_counter() - begun)


def _gold(claim: Claim, paper_id: str, place: tuple[int, int]) -> bool:
    """Tell whether a sentence is gold: at least half of it is, since two splitters can differ."""
    start, end = place
    shared = (min(end, stop) - max(start, begin) for begin, stop in claim.papers.get(paper_id, ()))
    return any(2 * one >= end - start for one in shared)


def judged() -> Iterator[Claim]:
    """The claims of BEIR's form, which names papers only."""
    found = BeirFolder(data_dir() / "eval" / "scifact").judged("test")
    for name, text in found.texts.items():
        yield Claim(text, {paper: () for paper, grade in found.qrels.gains[name].items() if grade > 0})


def papers_of(release: Path) -> dict[str, tuple[Paper, list[tuple[int, int]]]]:
    """The papers of SciFact's release, and where their sentences are in the abstract."""
    found = {}
    for line in (release / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        one, abstract, places = json.loads(line), "", []
        for part in map(str.strip, one["abstract"]):
            abstract += " " if abstract else ""
            places.append((len(abstract), len(abstract) + len(part)))
            abstract += part
        found[str(one["doc_id"])] = (Paper(str(one["doc_id"]), one["title"], abstract=abstract), places)
    return found


def released(release: Path) -> Iterator[Claim]:
    """The claims of SciFact's development set that have evidence, with their gold sentences."""
    papers = papers_of(release)
    for line in (release / "claims_dev.jsonl").read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        gold = {
            paper: tuple(papers[paper][1][row] for evidence in sets for row in evidence["sentences"])
            for paper, sets in one["evidence"].items()
        }
        if gold:
            yield Claim(one["claim"], gold)


if __name__ == "__main__":
    main()
