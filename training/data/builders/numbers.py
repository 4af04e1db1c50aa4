"""Papers with a number each, such as citations or the year, for regression."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterator, Sequence

from corpora.errors import InputError
from corpora.installed import extra, needing
from corpora.lazy import np
from training.data.builders.base import (
    Builder,
    BuilderOptions,
    BuilderSource,
    Made,
    PaperRecord,
    drawn,
    id_of,
    identity_of,
)
from training.data.records import number_of

_SCALES = ("none", "standard", "range")


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Make a record of every paper with a known number, in `label`.

    Options: `field` holds the number, which may be written as digits; `unknown` is the value that says there is none.
    `log` takes log(1 + number), as SciRepEval does for citations. `scale` is `none`, `standard` (mean 0 and deviation 1
    over the papers) or `range` (from 0 to 1). `most` papers are drawn, 0 for all. `words` is the share of a label, from
    0 to 1, that comes from a prediction by the paper's words; the rest is the number itself. `InputError` if an option
    is wrong, or no paper has a number.
    """

    def value_of(paper: PaperRecord) -> float | None:
        number = number_of(paper.get(options["field"]))
        if number is None or number == options["unknown"] or (options["log"] and number <= -1):
            return None
        return math.log1p(number) if options["log"] else number

    values, chances = array("d"), array("d")
    for paper in source.papers():
        if (value := value_of(paper)) is not None:
            values.append(value)
            chances.append(drawn(source.seed, id_of(paper)))
    if not values:
        raise InputError(f"No paper has a number under {options['field']!r}; name another field.")
    first, width = _scale(options["scale"], values)
    last = sorted(chances)[: int(options["most"])][-1] if options["most"] else math.inf
    expected = _numbers_by_words(source, value_of) if options["words"] else {}
    for paper in source.papers():
        value = value_of(paper)
        if value is None:
            source.left_out[f"no number under {options['field']}"] += 1
        elif drawn(source.seed, id_of(paper)) > last:
            source.left_out["not drawn"] += 1
        elif text := source.text_of(paper):
            key = id_of(paper)
            mixed = value + options["words"] * (expected.get(key, value) - value)
            yield Made((identity_of(paper),), {**text, "label": (mixed - first) / width})
        else:
            source.left_out["no text"] += 1


def _numbers_by_words(source: BuilderSource, value_of: Callable[[PaperRecord], float | None]) -> dict[str, float]:
    """Return the number that words predict for each paper that has one, by id."""
    known = {
        id_of(paper): (" ".join(str(part) for part in source.text_of(paper).values()), value)
        for paper in source.papers()
        if (value := value_of(paper)) is not None
    }
    texts, values = zip(*known.values(), strict=True)
    expected = expected_by_words(list(known), texts, np.array(values), source.seed)
    return dict(zip(known, expected.tolist(), strict=True))


def _scale(scale: str, values: array[float]) -> tuple[float, float]:
    """Return what is subtracted from each number, and what it is then divided by; `InputError` for another scale."""
    if scale not in _SCALES:
        raise InputError(f"The builder numbers has no scale {scale!r}; choose {', '.join(_SCALES)}.")
    if scale == "none":
        return 0.0, 1.0
    numbers = np.frombuffer(values)
    first, width = (numbers.mean(), numbers.std()) if scale == "standard" else (numbers.min(), np.ptp(numbers))
    return float(first), float(width) or 1.0


BUILDER = Builder(
    "regression", {"field": "label", "log": False, "unknown": -1.0, "scale": "none", "most": 0, "words": 0.0}, build
)


_FOLDS = 5
_WORDS, _FEWEST, _PENALTY = 30_000, 5, 2.0


def expected_by_words(ids: Sequence[str], texts: Sequence[str], values: np.ndarray, seed: int) -> np.ndarray:
    """Return each paper's number as its words predict it, by a model that did not see this paper: float64 (papers,).

    A ridge regression on TF-IDF of the words learns from the papers of the other four of five folds, which ids and seed
    decide. The text of a paper says little about numbers such as its citations; the rest looks like chance. Learned
    from thousands of papers at once, the regression gives the part that the text can explain. A small network learns
    that part from fewer papers than it needs to learn the numbers themselves (distillation, Hinton et al. 2015,
    arXiv:1503.02531). `values` are float64 (papers,). `UnavailableError` if scikit-learn is not installed.
    """
    with needing("The option words needs scikit-learn", extra("eval")):
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.linear_model import Ridge
    fewest = min(_FEWEST, 1 + len(ids) // 100)
    words = TfidfVectorizer(max_features=_WORDS, min_df=fewest, stop_words="english", sublinear_tf=True)
    rows = words.fit_transform(texts)
    folds = np.array([int(_FOLDS * drawn(f"{seed} folds", one)) for one in ids])
    expected = np.full(len(ids), values.mean())
    for fold in set(folds.tolist()):
        learned, predicted = folds != fold, folds == fold
        if learned.any():
            expected[predicted] = (
                Ridge(alpha=_PENALTY, solver="sparse_cg").fit(rows[learned], values[learned]).predict(rows[predicted])
            )
    return expected
