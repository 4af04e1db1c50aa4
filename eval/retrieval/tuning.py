"""Settings of search fitted on judged queries, and an honest estimate of what they are worth: nested cross-validation.

Measuring settings on the queries that chose them gives too high a value (Varma & Simon, "Bias in error estimation when
using cross-validation for model selection", BMC Bioinformatics 7:91, 2006). So each outer fold is measured by the
settings that the other folds choose, and these choose by inner folds of their own.

Settings are tried stage by stage: BM25's constants, the title's boost, then how the legs are joined. Each stage starts
from the best of the stage before, so that what is tried adds up instead of multiplying. All settings of a stage differ
from that start in what the stage is about; the start comes first, the simplest next.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product

import numpy as np

from corpora.errors import require
from encoders.text_encoder import TextEncoder
from eval.measures.metrics import evaluate, parse_measure
from eval.retrieval.beir import JudgedQueries
from eval.retrieval.protocol import DEPTH, Protocol, Seen, first_of, request_of
from eval.trec.runs import Run, ScoredIds
from search_plugin.contract.engine import Index, scored_by
from search_plugin.contract.plan import TITLE_BOOST
from search_plugin.contract.schema import Bm25
from search_plugin.contract.trace import Clock
from search_plugin.fusion.fusions import DEFAULT_FUSION, FUSIONS, RANKED, Legs
from search_plugin.fusion.search_settings import SearchSettings
from search_plugin.ranking.state import SearchState
from search_plugin.search import prepare_search, rank_papers

TuningStage = Callable[[SearchSettings], Sequence[SearchSettings]]
"""From the best settings so far to those to try."""

K1 = (0.6, 0.9, 1.2, 1.6, 2.0)
B = (0.2, 0.4, 0.6, 0.75, 0.9)
"""The engines' defaults 1.2 and 0.75, Anserini's 0.9 and 0.4, and values around them."""

BOOSTS = (0.0, 0.1, 0.2, TITLE_BOOST, 0.5, 1.0)

STEPS = 10
"""Weights are tried in steps of 0.1: so few queries can't show smaller differences."""

RANK_CONSTANTS = (10, 20, 60, 100)
"""The paper's 60, and constants that give the first ranks more or less weight."""


def stages(legs: Sequence[str], *, bm25: bool) -> tuple[TuningStage, ...]:
    """Return the stages of tuning a search with these legs, BM25's constants among them where they can be set.

    Raises `InputError` if there are fewer than two legs.
    """
    require(len(legs) >= 2, "There is nothing to tune with fewer than two legs; use a model with vectors.")
    return (*([scorings] if bm25 else []), boosts, partial(fusions, legs))


def start(legs: Sequence[str]) -> SearchSettings:
    """Return the settings of a search without tuning, with the equal weights written out."""
    return SearchSettings(weights={leg: 1 / len(legs) for leg in legs})


def scorings(best: SearchSettings) -> tuple[SearchSettings, ...]:
    """Return the settings with other constants of BM25, those nearest to the start first."""
    own = best.bm25
    tried = {own, *(Bm25(k1, b) for k1, b in product(K1, B))}
    nearest = sorted(tried, key=lambda one: (math.dist((one.k1, one.b), (own.k1, own.b)), one.k1, one.b))
    return tuple(replace(best, bm25=one) for one in nearest)


def boosts(best: SearchSettings) -> tuple[SearchSettings, ...]:
    """Return the settings with other boosts of the title, those nearest to the start first."""
    tried = sorted({best.title_boost, *BOOSTS}, key=lambda boost: (abs(boost - best.title_boost), boost))
    return tuple(replace(best, title_boost=boost) for boost in tried)


def fusions(
    legs: Sequence[str], best: SearchSettings, *, steps: int = STEPS, constants: Sequence[int] = RANK_CONSTANTS
) -> tuple[SearchSettings, ...]:
    """Return the settings with every fusion, every weighting in steps that sum to 1, every rank constant.

    `best` are the settings to start from, `steps` is the number of steps between weights 0 and 1, and `constants` are
    those of reciprocal rank fusion. The simplest come first: the default with equal weights, then by how far the
    weights are from equal.
    """
    equal = tuple(1 / len(legs) for _ in legs)
    weightings = {tuple(part / steps for part in parts) for parts in _compositions(steps, len(legs))} | {equal}
    names = [DEFAULT_FUSION, *(name for name in FUSIONS if name != DEFAULT_FUSION)]
    points = [
        (round(math.dist(weights, equal), 9), rank, constant or 0, weights, name)
        for weights in weightings
        for rank, name in enumerate(names)
        for constant in (constants if name == RANKED else (None,))
    ]
    return tuple(
        replace(best, fusion=name, weights=dict(zip(legs, weights, strict=True)), rank_constant=constant or None)
        for _, _, constant, weights, name in sorted(points)
    )


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """Yield, in order, every way to write a total as a sum of a given number of integers from 0 up."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


FOLDS = 5


@dataclass(frozen=True, slots=True)
class Folds:
    """How queries are divided into folds, by a seed."""

    outer: int = FOLDS
    inner: int = FOLDS
    seed: int = 0

    def check(self, queries: int) -> None:
        """Raise `InputError` if there are too few queries for the folds."""
        fewest = 2 * self.outer
        require(
            self.outer >= 2 and self.inner >= 2 and queries >= fewest,
            f"{self.outer} outer and {self.inner} inner folds need 2 folds each and {fewest} judged queries at the "
            f"least, not {queries}; give more judgments or fewer folds.",
        )


@dataclass(frozen=True, slots=True)
class Fit:
    """What tuning found.

    Attributes:
        chosen: The settings all queries choose.
        estimate: Value by query, under the settings that the other outer folds chose: what tuning is worth.
        default: Value by query, under the settings a search has without tuning.
        flattered: The mean of `chosen` on the queries that chose it, which is too high; for comparison only.
        by_fold: For each outer fold, the settings that the other folds chose.
    """

    chosen: SearchSettings
    estimate: Mapping[str, float]
    default: Mapping[str, float]
    flattered: float
    by_fold: tuple[SearchSettings, ...]


def fit(
    start: SearchSettings,
    stages: Sequence[TuningStage],
    measured: Callable[[SearchSettings], np.ndarray],
    queries: Sequence[str],
    folds: Folds | None = None,
) -> Fit:
    """Choose settings, and estimate the value of this way of choosing by nested cross-validation.

    `start` is what a search does without tuning, and each stage is tried from the best of the one before. `measured`
    gives the value of every query under some settings, float64 (queries,), in the order of the ids `queries`. Raises
    `InputError` if there are too few queries for the folds.
    """
    folds = folds or Folds()
    folds.check(len(queries))

    def best_for(columns: np.ndarray) -> SearchSettings:
        best = start
        for stage in stages:
            points = stage(best)
            values = np.array([measured(point)[columns] for point in points])
            best = points[choose(values, folds.inner, folds.seed + 1)]
        return best

    everything, estimate = np.arange(len(queries)), np.empty(len(queries))
    parts = _parted(everything, folds.outer, folds.seed)
    by_fold = tuple(best_for(np.setdiff1d(everything, held_out)) for held_out in parts)
    for held_out, best in zip(parts, by_fold, strict=True):
        estimate[held_out] = measured(best)[held_out]
    chosen = best_for(everything)
    return Fit(
        chosen,
        dict(zip(queries, estimate.tolist(), strict=True)),
        dict(zip(queries, measured(start).tolist(), strict=True)),
        float(measured(chosen).mean()),
        by_fold,
    )


def choose(values: np.ndarray, folds: int, seed: int) -> int:
    """Return the row of the first point that is not worse than the best by more than a standard error.

    `values` are (points, queries), the simplest point first. The rule of one standard error (Breiman et al.,
    "Classification and regression trees", 1984, section 3.4.3), on paired differences: by each fold, into which a seed
    cuts the queries, how much worse a point is than the best one. It keeps the simpler settings if queries show no
    difference from the best, and so does not follow noise.
    """
    parts = _parted(np.arange(values.shape[1]), min(folds, values.shape[1]), seed)
    means = np.stack([values[:, part].mean(axis=1) for part in parts], axis=1)
    best = int(np.argmax(means.mean(axis=1)))
    behind = means[best] - means
    allowed = behind.std(axis=1, ddof=1) / math.sqrt(behind.shape[1]) if behind.shape[1] > 1 else 0.0
    return int(np.argmax(behind.mean(axis=1) <= allowed))


def _parted(columns: np.ndarray, folds: int, seed: int) -> list[np.ndarray]:
    return np.array_split(np.random.default_rng(seed).permutation(columns), folds)


def check_measure(name: str) -> None:
    """Raise `InputError` for a measure that is unknown, or needs more hits than trials have."""
    require(
        (parse_measure(name).cutoff or 0) <= DEPTH,
        f"Settings are tried on the first {DEPTH} hits of a query; give a cut-off of that or less.",
    )


@dataclass(slots=True)
class Trials:
    """Measures settings on judged queries: `trials(settings)` is float64 (queries,), in the order of the judgments.

    Attributes:
        judged: Queries and judgments.
        index: Index of the corpus. While constants of BM25 are tried, nobody else can search it.
        encoder: Encoder of the model that made the index.
        measure: Name of a measure, as `eval.measures.metrics.parse_measure` takes it.
        seen: Documents to remove from the collection, by query.
    """

    judged: JudgedQueries
    index: Index
    encoder: TextEncoder
    measure: str
    seen: Seen = field(default_factory=dict)
    _states: dict[str, SearchState] = field(default_factory=dict)
    _lexical: dict[tuple[Bm25, float], Mapping[str, Legs]] = field(default_factory=dict)
    _vectors: dict[str, Legs] = field(default_factory=dict)
    _values: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many settings were measured."""
        return len(self._values)

    def __call__(self, settings: SearchSettings) -> np.ndarray:
        """Return the value of every judged query; errors as of `eval.measures.metrics.evaluate` and `search`."""
        key = repr(settings)
        if key not in self._values:
            with scored_by(self.index, settings.bm25):
                legs = self._legs(settings)
                rankings = {query: self._ranking(query, settings, found) for query, found in legs.items()}
            [values] = evaluate(Run("tuning", rankings), self.judged.qrels, [self.measure]).per_query.values()
            self._values[key] = np.array([values[query] for query in self.judged.qrels.gains])
        return self._values[key]

    def _ranking(self, query: str, settings: SearchSettings, legs: Legs) -> ScoredIds:
        """Rank the papers of a query's legs as a search by the settings does."""
        state, boost = self._states[query], settings.title_boost
        request = replace(state.request, fusion=settings.name, weights=settings.weights, title_boost=boost)
        plan = replace(state.plan, title_boost=boost)
        done = rank_papers(replace(state, request=request, plan=plan, legs=legs), Clock())
        # The next settings find mostly the same papers.
        self._states[query] = replace(state, papers=done.papers)
        return first_of(done, DEPTH)

    def _legs(self, settings: SearchSettings) -> Mapping[str, Legs]:
        """Return the hits of each leg for each query, the lexical leg first; each is searched once."""
        if not self._states:
            protocol = Protocol(("hybrid",), seen=self.seen)
            for query, text in self.judged.texts.items():
                request = request_of(query, text, "hybrid", self.index, protocol)
                state = self._states[query] = prepare_search(self.index, request, self.encoder, Clock())
                self._vectors[query] = self.index.search(replace(state.plan, words=""))
        key = (settings.bm25, settings.title_boost)
        if key not in self._lexical:
            self._lexical[key] = {
                query: self.index.search(replace(state.plan, vectors=(), title_boost=settings.title_boost))
                for query, state in self._states.items()
            }
        return {query: {**legs, **self._vectors[query]} for query, legs in self._lexical[key].items()}
