"""A small library of made-up papers on four topics, for a suite that needs no data: everything is written by code."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.files.text import write_json_lines, write_lines

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
    """A made-up paper.

    Attributes:
        id: Identifier.
        title: Title.
        abstract: Abstract.
        topic: What it is about.
        year: When it appeared.
        references: Ids of papers that it cites, of its own topic.
    """

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
