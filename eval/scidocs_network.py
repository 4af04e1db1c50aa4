"""The network that ranks SciDocs' recommendations (Cohan et al. 2020, section 4), trained on clicks.

Features, layers, loss and optimizer are those of SciDocs' program and of the configuration in its history
(`experiment_configs/train_similar_papers_model.json`). Two things differ: the random numbers, and the words of a title,
which are runs of letters and digits, and single signs, where the program takes those of spaCy.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from corpora.cleaning import text_of
from corpora.errors import InputError, require
from corpora.installed import extra, needing
from corpora.json_objects import read_items
from eval.files.text import json_objects

FEATURES = 11
PAIRS = 10
"""The most papers that a click is compared with."""

_WORD = re.compile(r"\w+|[^\w\s]")
_NO_TITLE = "< blank >"


@dataclass(frozen=True, slots=True)
class PaperFacts:
    """What features are made of, beside vectors; as it is by default, a paper that the metadata lacks."""

    title: str = _NO_TITLE
    authors: frozenset[str] = frozenset()
    references: frozenset[str] = frozenset()
    cited_by: frozenset[str] = frozenset()
    year: float | None = None


@dataclass(frozen=True, slots=True)
class Training:
    """How the network is trained; the defaults are those of the published configuration."""

    hidden: int = 50
    dropout: float = 0.4
    margin: float = 0.1
    rho: float = 0.95
    largest_gradient: float = 5.0
    batch: int = 128
    epochs: int = 5
    seed: int = 7


def read_facts(path: Path) -> dict[str, PaperFacts]:
    """Return the facts of a metadata file by the paper's id, or raise `InputError` where it is damaged."""
    facts = {}
    for line, members in json_objects(path, partial(read_items, layout="mapping")):
        lists = {name: members.get(name) for name in ("authors", "references", "cited_by")}
        if lacking := [name for name, value in lists.items() if not isinstance(value, list)]:
            raise InputError(f"{path}, line {line}: the paper has no list {lacking[0]!r}; fetch the file again.")
        known: dict[str, Any] = {name: frozenset(map(str, value or ())) for name, value in lists.items()}
        name = text_of(members.get("paper_id")) or text_of(members.get("id"))
        title = text_of(members.get("title")) or _NO_TITLE
        facts[name] = PaperFacts(title, year=_year(members.get("year")), **known)
    return facts


def features(query: str, shown: Sequence[str], facts: Mapping[str, PaperFacts], cosines: np.ndarray) -> np.ndarray:
    """Return the features of papers shown beside another, (papers shown, 11), in the order of the program.

    They are the share of common authors, 0 for the place, the share of common words of titles, the cosine, the shares
    of common citing and cited papers, whether either cites the other, how old the paper is, by itself and against the
    other, and how often it is cited.
    """
    source, none = facts.get(query, PaperFacts()), PaperFacts()
    rows = [
        _row(query, source, name, facts.get(name, none), cosine) for name, cosine in zip(shown, cosines, strict=True)
    ]
    return np.array(rows, np.float64)


def pairs_of(rows: Sequence[np.ndarray], places: Sequence[tuple[int, Sequence[int]]]) -> np.ndarray:
    """Return what is learnt from, (pairs, 2, 11): a paper clicked on, and another one shown with it.

    `rows` has the features of the papers shown for each click, `places` where the one clicked on and the others are.
    """
    pairs = [
        (matrix[place], matrix[other])
        for matrix, (place, others) in zip(rows, places, strict=True)
        for other in others[:PAIRS]
    ]
    return np.array(pairs, np.float64).reshape(-1, 2, FEATURES)


def train(
    pairs: np.ndarray, validating: np.ndarray | None, propensities: Sequence[float], how: Training | None = None
) -> Callable[[np.ndarray], np.ndarray]:
    """Train the network on pairs, and return the function from features (papers, 11) to scores (papers,).

    The weights are those of the epoch with the least loss on the pairs that validate, or of the last one without any.
    Raises `InputError` if there is no pair, and `UnavailableError` if torch isn't installed.
    """
    require(len(pairs), "No click to learn from has another paper shown: fetch SciDocs' recomm/train.csv again.")
    with needing("SciDocs' network needs torch", extra("train")):
        import torch
    how = how or Training()
    # The program divides by the propensity of the last place whatever was clicked on: it sets each place to 0, and
    # looks up the one before it. So every click weighs the same.
    propensity = propensities[-1] * len(propensities) / sum(propensities)

    def loss(part: Any) -> Any:
        clicked, other = network(part).squeeze(-1).unbind(1)
        return (how.margin - clicked + other).clamp(min=0).mean() / propensity

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(how.seed)
        # In double precision, so that equal features have equal scores on every processor.
        network = torch.nn.Sequential(
            torch.nn.Linear(FEATURES, how.hidden),
            torch.nn.ReLU(),
            torch.nn.Dropout(how.dropout),
            torch.nn.Linear(how.hidden, 1),
            torch.nn.Sigmoid(),
        ).double()
        optimizer = torch.optim.Adadelta(network.parameters(), rho=how.rho)
        learnt, held = torch.from_numpy(pairs), None if validating is None else torch.from_numpy(validating)
        least, best = math.inf, network
        for _ in range(how.epochs):
            network.train()
            for rows in torch.randperm(len(learnt)).split(how.batch):
                optimizer.zero_grad()
                loss(learnt[rows]).backward()
                torch.nn.utils.clip_grad_value_(network.parameters(), how.largest_gradient)
                optimizer.step()
            network.eval()
            if held is not None and len(held):
                with torch.no_grad():
                    found = float(torch.stack([loss(part) for part in held.split(how.batch)]).mean())
                if found < least:
                    least, best = found, copy.deepcopy(network)

    def score(matrix: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            scores = best(torch.from_numpy(matrix)).squeeze(-1).numpy()
        return np.asarray(np.round(scores, 12))

    return score


def _row(query: str, source: PaperFacts, name: str, paper: PaperFacts, cosine: float) -> tuple[float, ...]:
    relative = 0.0 if source.year is None or paper.year is None else (source.year - paper.year) / 20
    return (
        _common(source.authors, paper.authors),
        0,
        _common(_words(source.title), _words(paper.title)),
        cosine,
        _common(source.cited_by, paper.cited_by),
        _common(source.references, paper.references),
        name in source.cited_by or query in paper.references,
        query in paper.cited_by or name in source.references,
        0.0 if paper.year is None else _limited((2020 - paper.year) / 20),
        _limited(relative),
        math.log(len(paper.cited_by) + 1) / 10,
    )


def _common(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 0.0


def _words(title: str) -> frozenset[str]:
    return frozenset(_WORD.findall(title))


def _limited(value: float) -> float:
    return max(-1.0, min(1.0, value))


def _year(value: object) -> float | None:
    try:
        year = float(str(value))
    except ValueError:
        return None
    return year if math.isfinite(year) else None
