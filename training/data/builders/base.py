"""The input of every builder, and its output."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from encoders.text_encoder import TextEncoder
from eval.files.labelled import ID_KEYS
from eval.frozen import ids_of, own_id, title_key

TaskType = Literal["classification", "regression", "ir", "triplet", "ranked", "vectors"]
"""SciRepEval's four; `ranked`: a query and candidates with a teacher's scores; `vectors`: a text and its vector."""

PaperRecord = Mapping[str, Any]
"""A record of a file of papers, unchanged."""

BuilderOptions = Mapping[str, Any]
"""Numbers, strings and booleans by name."""


@dataclass(frozen=True, slots=True)
class BuilderSource:
    """What a builder reads.

    Attributes:
        papers: Starts a pass over the papers of all files, without duplicates and without papers of evaluation sets.
        model: Loads the recipe's base, or the model of a name.
        seed: Seed of everything drawn at random.
        fields: The fields of a paper that the task reads.
        files: Other files that the recipe names, such as a citation graph.
        left_out: Papers that the builder could not use, by reason; the builder counts them here.
        held_out_share: Share of all papers on which nothing is trained.
    """

    papers: Callable[[], Iterator[PaperRecord]]
    model: Callable[..., TextEncoder]
    seed: int
    fields: tuple[str, ...] = ("title", "abstract")
    files: Mapping[str, Path] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    held_out_share: float = 0.0

    def holds_out(self, identity: str) -> bool:
        """Return whether nothing is trained on a paper; it is then a candidate only for queries to validate on."""
        return held_out_at(identity) < self.held_out_share

    def text_of(self, paper: PaperRecord) -> dict[str, Any]:
        """Return the fields of a paper that the task reads, those that are filled."""
        return {name: paper[name] for name in self.fields if paper.get(name)}


@dataclass(frozen=True, slots=True)
class Made:
    """One record of a task.

    Attributes:
        papers: Identities of the papers in it (`identity_of`), first of the paper or query that it asks about.
        record: Record in the form of the task's type (`training.data.examples`).
    """

    papers: tuple[str, ...]
    record: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Builder:
    """A way to make a task's records from papers.

    Attributes:
        type: The type of the task.
        options: The options with their defaults. The option `multi_label` is set by the task's own key.
        build: Function of papers and options that makes the records.
        files: Names of the other files that it can read.
    """

    type: TaskType
    options: BuilderOptions
    build: Callable[[BuilderSource, BuilderOptions], Iterator[Made]]
    files: tuple[str, ...] = ()


def id_of(paper: PaperRecord) -> str:
    """Return a paper's own identifier; its title where it has none."""
    return next(filter(None, (own_id(paper, key) for key in ID_KEYS)), "") or str(paper.get("title") or "")


def identity_of(paper: PaperRecord | str) -> str:
    """Return what is the same in every file that holds a paper: its title without case, accents, markup and the like.

    Without a title, it is the key of an identifier or else of the paper's text; for a query, the key of its text.
    """
    if isinstance(paper, str):
        return title_key(paper)
    texts = (title_key(paper.get(name)) for name in ("abstract", "text"))
    return title_key(paper.get("title")) or next(ids_of(paper), "") or next(filter(None, texts), "")


def held_out_at(identity: str) -> float:
    """Return the share, from 0 to 1, above which a paper is held out: the same in every task, run and recipe."""
    return drawn("validation", identity)


MODEL = "model:"
"""The prefix of a model's name in an option of a builder."""


def drawn_papers(source: BuilderSource, most: int) -> BuilderSource:
    """Return a source of a number of papers, drawn by their ids; 0 for all papers."""
    chances = sorted(drawn(source.seed, id_of(paper)) for paper in source.papers())
    if not 0 < most < len(chances):
        return source
    last = chances[most - 1]
    source.left_out["not drawn"] += len(chances) - most
    return replace(
        source, papers=lambda: (paper for paper in source.papers() if drawn(source.seed, id_of(paper)) <= last)
    )


def drawn(seed: int | str, key: str) -> float:
    """Return a number from 0 to below 1 that a seed and a key alone decide: a draw is the same in any order."""
    digest = hashlib.sha256(f"{seed}\t{key}".encode(errors="surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
