"""Trains a tagger: for each label a logistic regression on vectors and one on words, added, calibrated and cut.

How much each of the two counts, the calibration and the threshold are fitted to papers that they were not fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from corpora.errors import InputError
from corpora.installed import optional
from corpora.lazy import np
from corpora.options import Option, check_options
from encoders.heads import Head
from products.tags.hierarchy import Hierarchy
from products.tags.labels import UNKNOWN, YES, LabelledPapers
from products.tags.measures import TaggerMeasures, measured
from products.tags.tagger import Tagger
from products.trained import TrainedVectors
from products.words import vocabulary_of, word_weights
from search_plugin.words.languages import DEFAULT_LANGUAGE

Calibration = Literal["auto", "platt", "isotonic"]

NEED = "Training a tagger needs scikit-learn"
STRENGTHS = (1.0, 10.0, 100.0)
"""Values of C to choose from for each label: rows of length 1 need weaker regularisation than usual."""

ISOTONIC_FROM = 1_000
"""Positive papers from which isotonic calibration is better than Platt's (Niculescu-Mizil & Caruana, "Predicting good
probabilities with supervised learning", 2005, section 4)."""

FEWEST_TO_HOLD_OUT = 200
"""Labelled papers from which some are held out for the report; with fewer, it is by cross-validation."""

_FOLDS = 5


@dataclass(frozen=True, slots=True)
class TaggerOptions:
    """How a tagger is trained; raises `InputError` if a number is out of bounds."""

    fewest: Annotated[int, Option("Papers that a label needs", least=2)] = 10
    held_out: Annotated[float, Option("Share of the papers for the report", "SHARE", least=0, most=0.5)] = 0.2
    precision: Annotated[
        float | None,
        Option(
            "Choose thresholds for this precision; labels that can't reach it are never given",
            "P",
            default_help="for the best F1",
            above=0,
            most=1,
        ),
    ] = None
    calibration: Annotated[
        Calibration, Option("Calibration of probabilities; auto is isotonic for labels of many papers")
    ] = "auto"
    vectors_only: Annotated[bool, Option("Don't learn from the words of title and abstract")] = False
    seed: Annotated[int, Option("Seed of the split into training and test papers", least=0, most=2**32 - 1)] = 0

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """A label's model, with the probabilities that cross-validation gave to papers of known label (0 to others).

    There are weights (features,) of the vectors, and then of the words if they are learned from.
    """

    weights: Sequence[np.ndarray]
    bias: float
    curve: tuple[np.ndarray, np.ndarray] | None
    threshold: float
    probabilities: np.ndarray


def train_tagger(
    name: str,
    source: TrainedVectors,
    vectors: np.ndarray,
    papers: LabelledPapers,
    hierarchy: Hierarchy,
    options: TaggerOptions,
    *,
    texts: Sequence[str] = (),
    language: str = DEFAULT_LANGUAGE,
    made_from: str = "",
    done: Callable[[int], None] = lambda _: None,
) -> Tagger:
    """Train a tagger, and measure it on papers that are held out, or by cross-validation if there are few.

    `source` is what the vectors are, float32 (papers, dimension), of the labelled papers in their order; `texts` are
    their titles and abstracts, without which only vectors are learned from, and `language` that of these; `made_from`
    says in words where the labels came from, and `done` receives how many more labels are trained. Raises `InputError`
    if no label has two papers with it and two without it, and `UnavailableError` if scikit-learn isn't installed.
    """
    order = np.random.default_rng(options.seed).permutation(len(vectors))
    test = order[: int(options.held_out * len(order))] if len(order) >= FEWEST_TO_HOLD_OUT else order[:0]
    train = np.setdiff1d(order, test)
    rows = np.ascontiguousarray(vectors[train], np.float64)
    truth = papers.truth[train]
    usable = [
        number for number in range(len(papers.labels)) if min(np.bincount(truth[:, number] + 1, minlength=3)[1:]) > 1
    ]
    if not usable:
        raise InputError(
            "A label needs two papers with it and two without it, and none has them", "label papers that lack it too"
        )
    read = [] if options.vectors_only or not len(texts) else [texts[row] for row in train]
    vocabulary = vocabulary_of(read, language, len(usable))
    views = [rows, vocabulary.matrix(read)] if vocabulary else [rows]
    fitted = []
    for number in usable:
        fitted.append(_fit_label(views, truth[:, number], options))
        done(1)
    labels = tuple(papers.labels[number] for number in usable)
    head = Head(
        name,
        source.format,
        labels,
        several=True,
        weight=np.stack([one.weights[0] for one in fitted]).astype(np.float32),
        bias=np.array([one.bias for one in fitted], np.float32),
    )
    curves = {label: one.curve for label, one in zip(labels, fitted, strict=True) if one.curve}
    thresholds = np.array([one.threshold for one in fitted])
    words = word_weights(vocabulary, np.stack([one.weights[1] for one in fitted])) if vocabulary else None
    tagger = Tagger(name, source, head, thresholds, curves, hierarchy, made_from=made_from, words=words)
    trained = [int((truth[:, number] == YES).sum()) for number in usable]

    def measure(probabilities: np.ndarray, true: np.ndarray, how: str) -> TaggerMeasures:
        given = tagger.given(probabilities)
        return measured(probabilities, given, true, labels, thresholds=thresholds, trained=trained, how=how)

    if len(test):
        how = f"{len(test):,} labelled papers that were held out, of {len(order):,}"
        probabilities = tagger.probabilities(vectors[test], [texts[row] for row in test] if words else ())
        found = measure(probabilities, papers.truth[test][:, usable], how)
    else:
        how = f"cross-validation of all {len(order):,} labelled papers, which flatters the thresholds"
        found = measure(np.column_stack([one.probabilities for one in fitted]), truth[:, usable], how)
    return replace(tagger, measures=found)


def _regression(strength: float) -> Any:
    return optional("sklearn.linear_model", NEED, "products").LogisticRegression(C=strength, max_iter=1_000)


def _held_out_odds(rows: Any, true: np.ndarray, strength: float, seed: int) -> np.ndarray:
    """Return each paper's log odds by a model that was not fitted to it (stratified cross-validation)."""
    selection = optional("sklearn.model_selection", NEED, "products")
    folds = selection.StratifiedKFold(min(_FOLDS, int(true.sum()), int((~true).sum())), shuffle=True, random_state=seed)
    odds = selection.cross_val_predict(_regression(strength), rows, true, cv=folds, method="decision_function")
    return np.asarray(odds)


def _choose_strength(rows: Any, true: np.ndarray, seed: int) -> tuple[float, np.ndarray]:
    """Return the C whose calibrated probabilities are the best in cross-validation, and the papers' log odds there."""
    odds = {strength: _held_out_odds(rows, true, strength, seed) for strength in STRENGTHS}
    strength = min(STRENGTHS, key=lambda one: _loss(odds[one], true))
    return strength, odds[strength]


def _loss(odds: np.ndarray, true: np.ndarray) -> float:
    """Return the logistic loss of log odds (papers,) after calibration; F1 depends on a few papers of a rare label."""
    slopes, shift = _platt(odds[:, None], true)
    return float(np.logaddexp(0, np.where(true, -1, 1) * (odds * slopes[0] + shift)).sum())


def _fit_label(views: Sequence[Any], truth: np.ndarray, options: TaggerOptions) -> _Fitted:
    """Fit a label's models: `views` are vectors float64 (papers, dimension), and perhaps words, sparse."""
    known = np.flatnonzero(truth != UNKNOWN)
    true = truth[known] == YES
    chosen = [_choose_strength(view[known], true, options.seed) for view in views]
    odds = np.column_stack([own for _, own in chosen])
    slopes, shift = _platt(odds, true)
    held_out = _logistic(odds @ slopes + shift)
    curve = None
    if options.calibration == "isotonic" or (options.calibration == "auto" and true.sum() >= ISOTONIC_FROM):
        isotonic = (
            optional("sklearn.isotonic", NEED, "products").IsotonicRegression(out_of_bounds="clip").fit(held_out, true)
        )
        curve = np.asarray(isotonic.X_thresholds_), np.asarray(isotonic.y_thresholds_)
        held_out = np.interp(held_out, *curve)
    models = [_regression(strength).fit(view[known], true) for view, (strength, _) in zip(views, chosen, strict=True)]
    everywhere = np.zeros(len(truth))
    everywhere[known] = held_out
    threshold = threshold_for(held_out, true, options.precision)
    weights = [slope * model.coef_[0] for slope, model in zip(slopes, models, strict=True)]
    bias = shift + sum(slope * float(model.intercept_[0]) for slope, model in zip(slopes, models, strict=True))
    return _Fitted(weights, bias, curve, threshold, everywhere)


def _platt(odds: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, float]:
    """Return slopes and shift of Platt's calibration (Platt, "Probabilistic outputs for SVMs", 1999, section 2.2).

    The log odds are those of one or more models, (papers, models), which are added; each has a slope. The targets are
    (n + 1) / (n + 2) for the n positive papers and 1 / (m + 2) for the m negative ones. Each paper is given twice, as
    positive and negative, weighted by its target.
    """
    positives, negatives = int(true.sum()), int((~true).sum())
    target = np.where(true, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    model = _regression(1e6).fit(
        np.concatenate([odds, odds]),
        np.repeat([True, False], len(odds)),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    slopes = np.asarray(model.coef_[0])
    useful = slopes > 0
    # A label that can't be predicted may get a slope below 0, which would turn the order of all papers around.
    if useful.any() and not useful.all():
        slopes[useful], shift = _platt(odds[:, useful], true)
        return np.where(useful, slopes, 0), shift
    return np.maximum(slopes, 0), float(model.intercept_[0])


def threshold_for(probabilities: np.ndarray, true: np.ndarray, precision: float | None = None) -> float:
    """Choose from which probability on a label is given: that of the best F1, or that of a precision to reach.

    Probabilities, and whether each is true, both (papers,), are of papers that the model was not fitted to.
    The threshold is halfway between two papers, and infinite if the precision can't be reached.
    """
    order = np.argsort(-probabilities, kind="stable")
    ranked, hits = probabilities[order], np.cumsum(true[order])
    said = np.arange(1, len(order) + 1)
    # Papers of the same score are given the label together.
    ends = np.append(ranked[:-1] > ranked[1:], [True])
    f1 = 2 * hits / (said + true.sum())
    best = int(np.where(ends, f1, -1).argmax())
    if precision is not None:
        enough = np.flatnonzero(ends & (hits >= precision * said))
        if not len(enough):
            return float("inf")
        best = int(enough[-1])
    below = ranked[best + 1] if best + 1 < len(ranked) else 0.0
    return float((ranked[best] + below) / 2)


def _logistic(odds: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 + 0.5 * np.tanh(odds / 2))
