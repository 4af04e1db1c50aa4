"""Trains a forecaster: ridge regressions and intervals by cross-validation, measures on papers that are held out.

It learns the percentile of a paper's citations among the papers of its field and year.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from corpora.errors import InputError
from corpora.installed import optional
from corpora.lazy import np
from corpora.options import Option, check_options
from encoders.heads import Head
from products.forecasts.forecaster import Forecaster, ForecastMeasures, intervals
from products.indexed import read_values
from products.trained import TrainedVectors
from products.words import vocabulary_of, word_weights
from search_plugin.contract.engine import Index
from search_plugin.words.languages import DEFAULT_LANGUAGE


@dataclass(frozen=True, slots=True)
class CitedPaper:
    """A paper with its number of citations, and its group, that is field and year; equal groups are compared."""

    id: str
    citations: float
    group: tuple[str, int]


@dataclass(frozen=True, slots=True, eq=False)
class RankedPapers:
    """Papers with their percentiles.

    Attributes:
        ids: Ids of the papers.
        percentiles: float64 (papers,), from 0 to 100.
        groups: Number of groups that were compared within.
        left_out: Number of papers in groups that are too small.
    """

    ids: tuple[str, ...]
    percentiles: np.ndarray
    groups: int
    left_out: int


def cited_papers(index: Index, citations: str, within: str) -> list[CitedPaper]:
    """Read the papers of an index whose number of citations, in the field `citations`, and year are known.

    Papers are compared with those of the same year, and of the same value in the field `within` if one is named; of
    several values the first one counts. Raises `InputError` if there is no such field, its values come from a model, or
    no paper has both.
    """
    field = index.schema.field(citations)
    if field.kind != "number" or field.origin == "forecast":
        raise InputError(
            f"The field {field.name} is of the kind {field.kind} and from {field.origin}; citations are a number that "
            "a corpus gives."
        )
    names = [field.name, "year", *([index.schema.field(within).name] if within else [])]
    found = []
    for id_, values in read_values(index, names):
        number, year = values.get(field.name), values.get("year")
        if isinstance(number, int | float) and isinstance(year, int | float) and number >= 0:
            found.append(CitedPaper(id_, float(number), (_first(values, names[2:]), int(year))))
    if not found:
        raise InputError(
            f"No paper of the index {index.name} has both a year and a number in {field.name}; index a corpus that "
            "gives them."
        )
    return found


def ranked_papers(papers: Sequence[CitedPaper], fewest: int) -> RankedPapers:
    """Rank papers within their groups, without those of fewer than `fewest` papers; small groups of a year are one.

    A paper's percentile is the share of its group that is cited less, plus half of the share that is cited as often
    (Hazen's rule for ties). Raises `InputError` if no group is large enough.
    """
    groups: dict[tuple[str, int], list[CitedPaper]] = {}
    for paper in papers:
        groups.setdefault(paper.group, []).append(paper)
    for group in [group for group, members in groups.items() if len(members) < fewest]:
        groups.setdefault(("", group[1]), []).extend(groups.pop(group)) if group[0] else None
    whole = {group: members for group, members in groups.items() if len(members) >= fewest}
    if not whole:
        largest = max(map(len, groups.values()))
        raise InputError(
            f"No field and year has {fewest} papers with citations, the largest has {largest}",
            "lower <fewest>, or compare <within> a wider field",
        )
    ids: list[str] = []
    percentiles = []
    for members in whole.values():
        numbers = np.array([paper.citations for paper in members])
        ordered = np.sort(numbers)
        below, up_to = np.searchsorted(ordered, numbers, "left"), np.searchsorted(ordered, numbers, "right")
        percentiles.append(50 * (below + up_to) / len(members))
        ids += [paper.id for paper in members]
    return RankedPapers(tuple(ids), np.concatenate(percentiles), len(whole), len(papers) - len(ids))


def _first(values: Mapping[str, object], names: Sequence[str]) -> str:
    value = values.get(names[0], "") if names else ""
    return str(value[0]) if isinstance(value, tuple) and value else str(value or "")


STRENGTHS = tuple(10.0**power for power in range(-2, 4))
"""Ridge penalties to choose from, by the error in cross-validation."""

FEWEST_PAPERS = 100
"""To fit and measure on."""

_NEED = "Training a forecaster needs scikit-learn"
_FOLDS = 5
_PER_CATEGORY = 100
_MOST_CATEGORIES = 10


@dataclass(frozen=True, slots=True)
class ForecastOptions:
    """How a forecaster is trained; raises `InputError` if a number is out of bounds."""

    level: Annotated[float, Option("Probability of the intervals", "P", above=0, below=1)] = 0.9
    fewest: Annotated[int, Option("Papers that a field and year needs", least=2)] = 20
    held_out: Annotated[float, Option("Share of the papers for the report", "SHARE", least=0.05, most=0.4)] = 0.25
    vectors_only: Annotated[bool, Option("Don't learn from the words of title and abstract")] = False
    seed: Annotated[int, Option("Seed of the split into papers to fit and to test on", least=0, most=2**32 - 1)] = 0

    def __post_init__(self) -> None:
        check_options(self)


def train_forecaster(
    name: str,
    source: TrainedVectors,
    vectors: np.ndarray,
    percentiles: np.ndarray,
    years: Sequence[int],
    options: ForecastOptions,
    *,
    texts: Sequence[str] = (),
    language: str = DEFAULT_LANGUAGE,
    made_from: str = "",
) -> Forecaster:
    """Train a forecaster, and measure it on papers that are held out.

    `source` is what the vectors are, float32 (papers, dimension). The percentiles are float64 (papers,), from 0 to 100,
    the years those of publication, and `made_from` says in words where citations came from. `texts` are titles and
    abstracts, without which only vectors are learned from, and `language` that of these. Raises `InputError` if there
    are too few papers, and `UnavailableError` if scikit-learn isn't installed.
    """
    if len(vectors) < FEWEST_PAPERS:
        raise InputError(
            f"{len(vectors)} papers have vector, citations and year, and a forecaster needs {FEWEST_PAPERS}."
        )
    order = np.random.default_rng(options.seed).permutation(len(vectors))
    share = int(options.held_out * len(order))
    test, fitted = order[:share], order[share:]
    read = [] if options.vectors_only or not len(texts) else [texts[row] for row in fitted]
    vocabulary = vocabulary_of(read, language, 1)
    views = [vectors[fitted].astype(np.float64), *([vocabulary.matrix(read)] if vocabulary else [])]
    weights, bias, expected = _fit(views, percentiles[fitted], options.seed)
    head = Head(
        name,
        source.format,
        (),
        several=False,
        weight=weights[0][None].astype(np.float32),
        bias=np.array([bias], np.float32),
    )
    words = word_weights(vocabulary, weights[1][None]) if vocabulary else None
    categories = max(1, min(_MOST_CATEGORIES, len(fitted) // _PER_CATEGORY))
    edges, low, high = intervals(np.clip(expected, 0, 100), percentiles[fitted], options.level, categories)
    forecaster = Forecaster(name, source, head, edges, low, high, options.level, made_from, words=words)
    how = f"{len(test):,} papers that were held out, of {len(order):,}"
    said = [texts[row] for row in test] if words else ()
    measures = measured_forecasts(forecaster, vectors[test], percentiles[test], np.array(years)[test], how, said)
    return replace(forecaster, measures=measures)


def _fit(views: Sequence[Any], percentiles: np.ndarray, seed: int) -> tuple[list[np.ndarray], float, np.ndarray]:
    """Return the weights of each view of the papers, float64 (features,), the bias of their sum, and what it forecasts.

    The forecasts, float64 (papers,), are by models that were not fitted to the paper (cross-validation); how much each
    of several views counts is fitted to these.
    """
    linear, selection = (optional(f"sklearn.{part}", _NEED, "products") for part in ("linear_model", "model_selection"))
    folds = selection.KFold(_FOLDS, shuffle=True, random_state=seed)
    models, said = [], []
    for view in views:
        held_out = {
            strength: selection.cross_val_predict(linear.Ridge(strength), view, percentiles, cv=folds)
            for strength in STRENGTHS
        }
        best = min(STRENGTHS, key=lambda one: float(((held_out[one] - percentiles) ** 2).sum()))
        models.append(linear.Ridge(best).fit(view, percentiles))
        said.append(held_out[best])
    total = linear.LinearRegression(positive=True).fit(np.column_stack(said), percentiles)
    bias = sum(share * float(one.intercept_) for share, one in zip(total.coef_, models, strict=True))
    weights = [share * one.coef_ for share, one in zip(total.coef_, models, strict=True)]
    return weights, bias + float(total.intercept_), total.predict(np.column_stack(said))


def measured_forecasts(
    forecaster: Forecaster,
    vectors: np.ndarray,
    percentiles: np.ndarray,
    years: np.ndarray,
    how: str,
    texts: Sequence[str] = (),
) -> ForecastMeasures:
    """Measure a forecaster on papers it was not fitted to.

    Vectors and texts are as `Forecaster.forecast` takes them, percentiles float64 (papers,), and years of publication
    int64 (papers,); `how` says in words which papers these are.
    """
    expected, low, high = forecaster.forecast(vectors, texts).T
    within = (low <= percentiles) & (percentiles <= high)
    by_year = [
        (int(year), float(within[years == year].mean()), int((years == year).sum())) for year in np.unique(years)
    ]
    return ForecastMeasures(
        papers=len(vectors),
        how=how,
        coverage=float(within.mean()),
        width=float((high - low).mean()),
        error=float(np.abs(expected - percentiles).mean()),
        blind_error=float(np.abs(50 - percentiles).mean()),
        correlation=_correlation(expected, percentiles),
        by_year=tuple(by_year),
    )


def _correlation(one: np.ndarray, other: np.ndarray) -> float:
    """Return Spearman's rank correlation; 0 if one of them is constant, where it is undefined."""
    if not np.ptp(one) or not np.ptp(other):
        return 0.0
    return float(optional("scipy.stats", _NEED, "products").spearmanr(one, other).statistic)
