"""Whether the vectors of a format are better for a task than others of the same papers, such as the base's own.

Probes choose their settings by nested cross-validation (`eval.probes.nested`), so that the spread of vectors alone
can't win. Beside them are a few papers of each label, and the nearest centroid, where spread may honestly matter. All
vectors are measured on the same papers and folds, and the intervals of the differences are paired.

To report a new format against the base, with vectors of the same papers in the same order:

    found = compare_formats({"prx": base, "clf": new}, class_targets(journals))
    found.gains["clf"]["F1"].low > 0  # better beyond doubt
    Results("vectors", found.rows()).table()  # rows of both, and of their difference
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from corpora.errors import require
from corpora.installed import optional
from encoders.models.formats import Format
from eval.embedder import Embedder
from eval.files.labelled import Labelled
from eval.outcome import Outcome
from eval.probes.nested import Setting, Targets, class_targets, folds, label_targets, learn
from eval.statistics.interval import Interval, bootstrap_statistic, expanded_interval
from search_plugin.contract.legs import unit_rows

FOLDS = 5
SHOTS = (4, 16)
DRAWS = 5
"""How often some papers of each label are drawn."""

RESAMPLES = 1_000
PROBED, NEAREST = "F1", "F1, nearest centroid"
TAU = "kendalltau"


@dataclass(frozen=True, slots=True)
class FormatGains:
    """What comparing vectors found.

    Attributes:
        outcomes: Outcome of each kind of vectors, the base first; its notes say which settings were chosen.
        gains: By name of the others, and measure: the difference from the base, with its paired interval over papers.
    """

    outcomes: Mapping[str, Outcome]
    gains: Mapping[str, Mapping[str, Interval]]

    def rows(self) -> dict[str, Outcome]:
        """Return the outcomes for a table, and a row for each difference from the base, such as `clf less prx`."""
        base = next(iter(self.outcomes))
        return {**self.outcomes, **{f"{name} less {base}": Outcome(gain) for name, gain in self.gains.items()}}

    def verdicts(self) -> tuple[str, ...]:
        """Return a sentence for each of the others: whether they are better than the base, by the first measure."""
        base = next(iter(self.outcomes))
        return tuple(_verdict(name, base, *next(iter(gain.items()))) for name, gain in self.gains.items())


def _verdict(name: str, base: str, measure: str, gain: Interval) -> str:
    sure = "better" if gain.low > 0 else "worse" if gain.high < 0 else ""
    found = f"{name} is {sure} than {base} beyond doubt" if sure else f"{name} is not shown to differ from {base}"
    return f"{found}: {measure} {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]."


@dataclass(frozen=True, slots=True, eq=False)
class _Said:
    """What was predicted by one measure: float64 (papers, columns, runs), and of which papers, (papers, runs)."""

    said: np.ndarray
    tested: np.ndarray


def evaluate_formats(
    data: Labelled,
    embed: Embedder,
    formats: Sequence[Format],
    *,
    several: bool = False,
    fewest: int = 8,
    probe: str = "ridge",
    seed: int = 0,
) -> FormatGains:
    """Compare formats of a model by labelled papers, the first format being the base.

    Papers without a vector are left out and counted. With `several`, all labels of a paper are predicted that `fewest`
    papers or more have, otherwise the first alone. Other arguments and errors are those of `compare_formats`.
    """
    optional("sklearn", "This needs scikit-learn", "eval")  # checked before texts are encoded
    made = {one.value: embed(data.papers, one) for one in formats}
    have = [row for row, text in enumerate(data.papers) if all(text.id in one.rows for one in made.values())]
    data = data.only(have, "papers_missing")
    sizes = Counter(label for own in data.labels for label in set(own))
    frequent = sorted(label for label, size in sizes.items() if size >= fewest)
    targets = label_targets(data.labels, frequent) if several else class_targets(data.classes)
    ids = [text.id for text in data.papers]
    found = compare_formats({name: one.of(ids) for name, one in made.items()}, targets, probe=probe, seed=seed)
    outcomes = {name: replace(one, counts={**one.counts, **data.counts}) for name, one in found.outcomes.items()}
    return replace(found, outcomes=outcomes)


def compare_formats(
    vectors: Mapping[str, np.ndarray],
    targets: Targets,
    *,
    probe: str = "ridge",
    shots: Sequence[int] = SHOTS,
    draws: int = DRAWS,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> FormatGains:
    """Measure how well linear models predict what papers have, from several kinds of vectors of the same papers.

    Classes and labels are measured by macro F1: of a probe that learns four fifths of the papers and predicts the
    others, each fifth in turn (`F1`); for classes also of probes that learn a few papers of each, drawn several times,
    and predict all others (`F1, 4 a label`), and of the nearest centroid. A number is measured by Kendall's tau of the
    first kind of probe. Few papers are left out where some class has fewer than twice as many.

    Args:
        vectors: (papers, dimension) by name, the base first; dimensions may differ.
        targets: What the papers have, by `class_targets`, `label_targets` or `number_targets`.
        probe: `ridge` or `svm`; numbers need `ridge`.
        shots: Numbers of papers of each label.
        draws: How often to draw them.
        resamples: How often papers are drawn with replacement, for intervals.
        seed: Seed of folds and draws.

    Returns:
        Measures of each kind of vectors, and the differences from the base.

    Raises:
        InputError: If the vectors aren't of the same papers as the targets, or those are too few.
        UnavailableError: If the extra eval isn't installed.
    """
    require(vectors, "There are no vectors to compare.")
    for name, matrix in vectors.items():
        require(
            len(matrix) == len(targets.values),
            f"{name} has vectors of {len(matrix):,} papers, and {len(targets.values):,} papers have a label; give the "
            "same papers in the same order.",
        )
    said, counts, notes = {}, {}, {}
    for name, matrix in vectors.items():
        said[name], counts[name], notes[name] = _measured(
            np.asarray(matrix, dtype=np.float64), targets, probe, shots, draws, seed
        )
    base = next(iter(vectors))
    cells, gains = (
        _numbers(said, targets, resamples, seed) if targets.kind == "number" else _f1s(said, targets, resamples, seed)
    )
    outcomes = {name: Outcome(cells[name], counts=counts[name], notes=notes[name]) for name in vectors}
    return FormatGains(outcomes, {name: gain for name, gain in gains.items() if name != base})


def _measured(
    matrix: np.ndarray, targets: Targets, probe: str, shots: Sequence[int], draws: int, seed: int
) -> tuple[dict[str, _Said], dict[str, int], dict[str, str]]:
    measure = TAU if targets.kind == "number" else PROBED
    found, settings, stopped, ends = {}, Counter[Setting](), 0, 0

    def learnt(fit: np.ndarray, predict: np.ndarray) -> np.ndarray:
        nonlocal stopped, ends
        one = learn(matrix[fit], targets.of(fit), matrix[predict], probe=probe, seed=seed)
        settings[one.setting] += 1
        stopped, ends = stopped + one.not_converged, ends + one.at_end
        return one.said

    outer = list(folds(targets, FOLDS, seed))
    whole = np.empty(targets.values.shape)
    for fit, predict in outer:
        whole[predict] = learnt(fit, predict)
    found[measure] = _Said(whole[:, :, None], np.ones((len(matrix), 1), bool))
    notes = {measure: "settings of the folds: " + ", ".join(f"{_told(one)} {n} times" for one, n in settings.items())}
    if targets.kind == "class":
        near = np.empty(targets.values.shape)
        for fit, predict in outer:
            near[predict] = _nearest(matrix[fit], targets.values[fit], matrix[predict])
        found[NEAREST] = _Said(near[:, :, None], np.ones((len(matrix), 1), bool))
    for shot in shots if targets.kind == "class" else ():
        if targets.values.sum(axis=0).min() < 2 * shot:
            continue
        few = np.zeros((*targets.values.shape, draws))
        tested = np.ones((len(matrix), draws), bool)
        for run in range(draws):
            generator = np.random.default_rng([seed, shot, run])
            chosen = [generator.choice(np.flatnonzero(column), shot, replace=False) for column in targets.values.T]
            tested[np.concatenate(chosen), run] = False
            few[tested[:, run], :, run] = learnt(*map(np.flatnonzero, (~tested[:, run], tested[:, run])))
        found[f"F1, {shot} a label"] = _Said(few, tested)
    counts = {"papers": len(matrix), "not_converged": stopped, "settings_at_an_end": ends}
    if targets.kind != "number":
        counts["labels"] = len(targets.names)
    return found, counts, notes


def _told(setting: Setting) -> str:
    return f"{setting.strength:.2g}{', standardised,' if setting.standardised else ''}"


def _nearest(rows: np.ndarray, classes: np.ndarray, others: np.ndarray) -> np.ndarray:
    centroids = unit_rows(classes.T @ unit_rows(rows))
    said: np.ndarray = np.eye(classes.shape[1])[(unit_rows(others) @ centroids.T).argmax(axis=1)]
    return said


_Found = tuple[dict[str, dict[str, Interval]], dict[str, dict[str, Interval]]]


def _f1s(said: Mapping[str, Mapping[str, _Said]], targets: Targets, resamples: int, seed: int) -> _Found:
    """Return F1 of each, and its difference from the first, with intervals over the same draws of papers."""
    papers = len(targets.values)
    drawn = np.random.default_rng(seed).multinomial(papers, np.full(papers, 1 / papers), size=resamples)
    weights = np.concatenate([np.ones((1, papers)), drawn]).astype(np.float32)
    values = {
        name: {measure: _weighted_f1(weights, targets.values, one) for measure, one in of.items()}
        for name, of in said.items()
    }

    def interval(found: np.ndarray) -> Interval:
        return expanded_interval(float(found[0]), found[1:], papers)

    base = next(iter(values.values()))
    cells = {name: {measure: interval(one) for measure, one in of.items()} for name, of in values.items()}
    gains = {
        name: {measure: interval(one - base[measure]) for measure, one in of.items()} for name, of in values.items()
    }
    return cells, gains


def _weighted_f1(weights: np.ndarray, truth: np.ndarray, found: _Said) -> np.ndarray:
    """Return macro F1, the mean over runs, for each row of weights of papers, (rows, papers)."""
    total = np.zeros(len(weights))
    for run in range(found.tested.shape[1]):
        own = found.tested[:, run]
        actual, said = truth[own].astype(np.float32), found.said[own, :, run].astype(np.float32)
        both = weights[:, own] @ (actual * said)
        either = weights[:, own] @ (actual + said)
        there = either > 0
        f1 = np.divide(2 * both, either, out=np.zeros_like(both), where=there)
        total += f1.sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    return np.asarray(total / found.tested.shape[1])


def _numbers(said: Mapping[str, Mapping[str, _Said]], targets: Targets, resamples: int, seed: int) -> _Found:
    kendalltau = optional("scipy.stats", "Intervals need scipy", "eval").kendalltau
    truth = targets.values[:, 0]
    predicted = {name: of[TAU].said[:, 0, 0] for name, of in said.items()}
    base = next(iter(predicted.values()))

    def tau(actual: np.ndarray, one: np.ndarray) -> float:
        return float(kendalltau(actual, one).statistic)

    drawn = {"resamples": resamples, "seed": seed}
    cells = {name: {TAU: bootstrap_statistic(tau, truth, one, **drawn)} for name, one in predicted.items()}
    gains = {
        name: {
            TAU: bootstrap_statistic(
                lambda actual, new, old: tau(actual, new) - tau(actual, old), truth, one, base, **drawn
            )
        }
        for name, one in predicted.items()
        if one is not base
    }
    return cells, gains
