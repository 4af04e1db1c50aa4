"""Suggestions for a manuscript from its nearest papers in an index.

Each of them has a weight that falls with its distance; all weights add up to one. A venue's probability is the weight
of the papers that appeared there. How fast weights fall is fitted to the venues of these papers, each held out in turn.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from corpora.paper import Paper
from products.reviewers.pool import FIELD
from products.reviewers.rules import TOP
from search_plugin.contract.engine import Index
from search_plugin.contract.legs import unit_rows

NEAREST = 100
"""Papers that suggestions are made from."""

TEMPERATURE = 0.05
"""A paper that is nearer by this cosine has e times the weight; for venues, only where too few papers are near to fit
it."""

TEMPERATURES = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.3, 1.0)
"""Those to choose from."""

FEWEST_TO_FIT = 20
"""Papers with a venue that a temperature is fitted to."""

_UNSEEN = 0.05
"""Share of the probability for venues that no other paper has, so that one such paper does not decide alone."""

_BECAUSE = 3


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A paper like the manuscript, with its cosine, and its vector to compare papers with each other.

    The vector is float32 (dimension,) of length one, or empty.
    """

    paper: Paper
    similarity: float
    vector: np.ndarray = field(default_factory=lambda: np.empty(0, np.float32), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggestion.

    Attributes:
        name: The venue, the id of the reference, or the reviewer.
        score: The probability of a venue; the weight of a reference; the similarity of a reviewer.
        because: Ids of the papers that speak for it most.
        title: Title of a reference that the index holds.
    """

    name: str
    score: float
    because: tuple[str, ...]
    title: str = ""


def read_neighbours(index: Index, ids: Sequence[str], vector: np.ndarray, task_format: str) -> list[Neighbour]:
    """Return papers with their cosine to a vector (dimension,), the nearest first; the same on every engine."""
    papers, vectors = index.papers(ids), index.vectors(ids, task_format)
    own = unit_rows(vector[None])[0]
    held = [name for name in vectors if name in papers]
    units = unit_rows(np.stack([vectors[name] for name in held])) if held else ()
    found = [Neighbour(papers[name], float(own @ unit), unit) for name, unit in zip(held, units, strict=True)]
    return sorted(found, key=lambda one: (-one.similarity, one.paper.id))


def weights_of(neighbours: Sequence[Neighbour], temperature: float = TEMPERATURE) -> np.ndarray:
    """Return the weights of papers, float64 (papers,): the softmax of their cosines over the temperature."""
    scaled = np.array([one.similarity for one in neighbours]) / temperature
    raised = np.exp(scaled - scaled.max(initial=-np.inf)) if len(scaled) else scaled
    return np.asarray(raised / max(float(raised.sum()), 1e-12))


def _venue(paper: Paper) -> tuple[str, ...]:
    return (paper.venue,)


def fit_temperature(
    neighbours: Sequence[Neighbour], names: Callable[[Paper], Sequence[str]] = _venue, *, several: bool = False
) -> float:
    """Return the one of `TEMPERATURES` that makes the venues of papers most probable, each predicted from the others.

    So probabilities suit the index and its model: cosines of one model spread more than those of another, and so do the
    papers of a venue. All papers have a venue and a vector; fewer than `FEWEST_TO_FIT` get `TEMPERATURE`. `names`
    returns what is suggested in place of venues; if a paper may have `several`, what it lacks counts too.
    """
    if len(neighbours) < FEWEST_TO_FIT:
        return TEMPERATURE
    rows = np.stack([one.vector for one in neighbours])
    cosines = rows @ rows.T
    np.fill_diagonal(cosines, -np.inf)
    held = [{*names(one.paper)} for one in neighbours]
    known = sorted(set().union(*held))
    true = np.array([[name in own for name in known] for own in held])
    unseen = _UNSEEN / len(known)

    def likelihood(temperature: float) -> float:
        raised = np.exp((cosines - cosines.max(axis=1, keepdims=True)) / temperature)
        likely = (1 - _UNSEEN) * (raised @ true / raised.sum(axis=1, keepdims=True)) + unseen
        return float(np.log(likely[true]).sum() + (np.log1p(-likely[~true]).sum() if several else 0.0))

    return max(TEMPERATURES, key=likelihood)


def suggest_venues(neighbours: Sequence[Neighbour]) -> list[Suggestion]:
    """Return the venues of the nearest papers, the most probable first; papers without a venue are left out."""
    held = [one for one in neighbours if one.paper.venue]
    return _by_weight(held, lambda paper: (paper.venue,), fit_temperature(held))


def suggest_labels(neighbours: Sequence[Neighbour], labels: Mapping[str, Sequence[str]]) -> list[Suggestion]:
    """Return the labels of the nearest papers, the most probable first; `labels` are those of each paper, by its id.

    A label's probability is the weight of the papers that have it, of those that have any.
    """
    held = [one for one in neighbours if labels.get(one.paper.id)]

    def names(paper: Paper) -> Sequence[str]:
        return labels[paper.id]

    return _by_weight(held, names, fit_temperature(held, names, several=True))


def suggest_references(
    neighbours: Sequence[Neighbour], titles: Callable[[Sequence[str]], Mapping[str, str]]
) -> list[Suggestion]:
    """Return what the nearest papers cite, and these papers themselves, by the weight of those that speak for each.

    `titles` returns the titles of the ids that the index holds; other suggestions have no title.
    """
    found = _by_weight(neighbours, lambda paper: (paper.id, *paper.references))
    known = titles([one.name for one in found])
    return [Suggestion(one.name, one.score, one.because, known.get(one.name, "")) for one in found]


def suggest_reviewers(neighbours: Sequence[Neighbour], without: Collection[str] = ()) -> list[Suggestion]:
    """Return the people who wrote the nearest papers, the best first, by the mean cosine of their three nearest.

    They are the ids in the field `reviewers`, or the authors where the papers have no such field, but those `without`,
    such as the manuscript's authors. Papers beyond the neighbours count as the last of them, so that one near paper is
    less than three.
    """
    last = min((one.similarity for one in neighbours), default=0.0)
    own: dict[str, list[Neighbour]] = defaultdict(list)
    for one in neighbours:
        named = one.paper.extra.get(FIELD)
        for name in dict.fromkeys(named if isinstance(named, tuple) else one.paper.authors):
            own[name].append(one)
    found = []
    for name, papers in own.items():
        best = [one.similarity for one in papers[:TOP]]
        score = (sum(best) + last * (TOP - len(best))) / TOP
        found.append(Suggestion(name, score, tuple(one.paper.id for one in papers[:_BECAUSE])))
    return sorted((one for one in found if one.name not in without), key=lambda one: (-one.score, one.name))


def _by_weight(
    neighbours: Sequence[Neighbour], names: Callable[[Paper], Sequence[str]], temperature: float = TEMPERATURE
) -> list[Suggestion]:
    weights: dict[str, float] = defaultdict(float)
    because: dict[str, list[str]] = defaultdict(list)
    for one, weight in zip(neighbours, weights_of(neighbours, temperature).tolist(), strict=True):
        for name in dict.fromkeys(names(one.paper)):
            weights[name] += weight
            because[name].append(one.paper.id)
    found = [Suggestion(name, weight, tuple(because[name][:_BECAUSE])) for name, weight in weights.items()]
    return sorted(found, key=lambda one: (-one.score, one.name))
