"""The suite of made-up papers: every kind of protocol in seconds, to check that all of them work.

The papers, on four topics, are written by code, so the suite needs no data.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from encoders.models.formats import Format
from eval.embedder import Text
from eval.files.text import write_json_lines, write_lines
from eval.measures.similarity import minus_distance
from eval.outcome import Outcome
from eval.reranking import ranked_outcome, rerank
from eval.screening import Review, Reviews, by_likeness, screen
from eval.suites.base import Bench, Entry
from eval.suites.kinds import measured
from eval.trec.judgments import Qrels
from search_plugin.request import Mode

_TESTED = 3
"""One of this many papers is tested on."""

_TOPICS: Mapping[str, tuple[str, ...]] = {
    "virology": ("virus", "infection", "vaccine", "antibody", "outbreak", "transmission", "respiratory", "immunity"),
    "retrieval": ("query", "ranking", "index", "relevance", "search engine", "document", "embedding", "recall"),
    "climate": ("temperature", "ocean", "emission", "glacier", "rainfall", "carbon", "drought", "atmosphere"),
    "surgery": ("patient", "incision", "anaesthesia", "recovery", "implant", "wound", "operation", "complication"),
}
_SENTENCES = (
    "We study how {a} depends on {b}.",
    "A sample of {n} cases of {a} was followed for {m} months.",
    "The effect of {b} on {c} was larger than expected.",
    "Earlier work on {c} did not consider {a}.",
    "These results suggest that {a} and {c} should be measured together.",
)


@dataclass(frozen=True, slots=True)
class MadeUp:
    """A made-up paper on a topic, with ids of papers of the same topic that it cites."""

    id: str
    title: str
    abstract: str
    topic: str
    year: int
    references: tuple[str, ...]


def made_up_papers(count: int = 120, seed: int = 0) -> list[MadeUp]:
    """Make papers, the same on every machine, with the same number for each topic."""
    draw, papers = random.Random(seed), list[MadeUp]()  # noqa: S311 - not for secrets
    topics = list(_TOPICS)
    for number in range(count):
        topic = topics[number % len(topics)]
        words = _TOPICS[topic]
        earlier = [paper.id for paper in papers if paper.topic == topic]
        a, b = draw.sample(words, 2)
        papers.append(
            MadeUp(
                id=f"paper{number:04}",
                title=f"{a.capitalize()} and {b}",
                abstract=" ".join(_sentence(draw, words) for _ in range(4)),
                topic=topic,
                year=2000 + number // 6,
                references=tuple(draw.sample(earlier, min(3, len(earlier)))),
            )
        )
    return papers


def write_retrieval(folder: Path, papers: Sequence[MadeUp]) -> Path:
    """Write a BEIR folder: queries of two words of a topic; papers of the topic that hold both are relevant."""
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    records = ({"_id": paper.id, "title": paper.title, "text": paper.abstract} for paper in papers)
    write_json_lines(folder / "corpus.jsonl", records)
    queries: list[dict[str, str]] = []
    judged = ["query-id\tcorpus-id\tscore"]
    for topic, words in _TOPICS.items():
        for first, second in zip(words[::2], words[1::2], strict=True):
            if found := [paper.id for paper in papers if paper.topic == topic and _holds(paper, first, second)]:
                name = f"q{len(queries)}"
                queries.append({"_id": name, "text": f"{first} and {second}"})
                judged += [f"{name}\t{paper}\t1" for paper in found]
    write_json_lines(folder / "queries.jsonl", queries)
    write_lines(folder / "qrels" / "test.tsv", judged)
    return folder


def _sentence(draw: random.Random, words: Sequence[str]) -> str:
    a, b, c = draw.sample(words, 3)
    return draw.choice(_SENTENCES).format(a=a, b=b, c=c, n=draw.randint(20, 900), m=draw.randint(2, 60))


def _holds(paper: MadeUp, *words: str) -> bool:
    text = f"{paper.title} {paper.abstract}".lower()
    return all(word in text for word in words)


def _retrieval(bench: Bench, mode: Mode) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        write_retrieval(Path(folder) / "made-up", made_up_papers())
        return measured(replace(bench, data=Path(folder), work=Path(folder)), "made-up", mode)


def _classes(bench: Bench) -> Outcome:
    from eval.probes.linear import classify
    from eval.scirepeval.measures import classification_measure

    papers = made_up_papers()
    vectors = bench.embed(_texts(papers), Format.CLF).of([paper.id for paper in papers])
    topics, tested = np.array([paper.topic for paper in papers]), np.arange(len(papers)) % _TESTED == 0
    found = classify(vectors[~tested], topics[~tested], vectors[tested])
    cell = classification_measure("f1_macro", topics[tested], found.labels)
    return Outcome({"F1 macro": cell}, {}, {"papers": len(papers), "papers_tested": int(tested.sum())})


def _citations(bench: Bench) -> Outcome:
    papers, draw = made_up_papers(), random.Random(0)  # noqa: S311 - not for secrets
    others = {paper.id: [other.id for other in papers if other.topic != paper.topic] for paper in papers}
    gains = {
        paper.id: dict.fromkeys(paper.references, 1) | dict.fromkeys(draw.sample(others[paper.id], 10), 0)
        for paper in papers
        if paper.references
    }
    vectors = bench.embed(_texts(papers), Format.PRX)
    ranked = rerank("smoke", Qrels(gains), vectors, vectors, minus_distance)
    return ranked_outcome(ranked.run, Qrels(gains), ("MAP", "nDCG"), {"papers": len(papers)})


def _screening(bench: Bench) -> Outcome:
    papers = made_up_papers()
    topics = sorted({paper.topic for paper in papers})
    texts = tuple(_texts(papers))
    reviews = [Review(topic, texts, tuple(paper.topic == topic for paper in papers)) for topic in topics]
    return screen(Reviews(tuple(reviews)), by_likeness(bench.embed(texts, Format.PRX), "mean"))


def _texts(papers: Sequence[MadeUp]) -> list[Text]:
    return [Text(paper.id, paper.title, paper.abstract) for paper in papers]


ENTRIES: tuple[Entry, ...] = (
    Entry(
        "Made-up queries, retrieval",
        "nDCG@10",
        (),
        lambda bench: _retrieval(bench, "vector"),
        lambda bench: _retrieval(bench, "lexical"),
    ),
    Entry("Made-up queries, hybrid retrieval", "nDCG@10", (), lambda bench: _retrieval(bench, "hybrid")),
    Entry("Made-up citations among 13 candidates", "MAP", (), _citations),
    Entry("Made-up reviews, screening", "WSS@95", (), _screening),
    Entry("Made-up topics, probe", "F1 macro", (), _classes),
)
