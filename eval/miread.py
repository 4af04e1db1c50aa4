"""MIReAD's evaluation (Razdaibiedina & Brechalov 2023, section 3): a linear probe, clusters and pairs of papers.

What the paper leaves open, and what is done here:
- The probe's optimizer (Adam), its initial weights (0) and the average of F1 (over classes, "macro"). The folds have
  equal shares of each class. Its rate and epochs are the paper's: on a few thousand papers it stays far from
  convergence, so figures compare only with those of the same papers.
- The initialisation of k-means: one k-means++ start per seed, and the mean over seeds. NMI is added to the paper's
  purity.
- "Information retrieval" is the average precision of pairs of papers, all ranked in one list by their correlation. It
  is not that of each paper's nearest neighbours. The paper does so within fields of arXiv; other labels make one field
  of all.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from random import Random
from statistics import fmean, stdev

import numpy as np

from corpora.errors import InputError, require
from corpora.installed import optional
from encoders.models.formats import Format
from eval.embedder import Embedder
from eval.files.labelled import Labelled
from eval.measures.classes import macro_f1, purity
from eval.outcome import Outcome
from eval.probes.linear import train_epochs
from eval.statistics.interval import bootstrap_statistic, mean_interval
from search_plugin.contract.legs import unit_rows

FOLDS, EPOCHS, BATCH, LEARNING_RATE = 4, 5, 100, 5e-4
"""Settings of the probe: appendix A.3."""

PAIRED = 4_000
"""Most papers of a field to pair: 8 million pairs take some seconds."""


def evaluate_miread(
    data: Labelled, embed: Embedder, *, clusters: Sequence[int] = (), seeds: int = 3, by_field: bool = False
) -> dict[str, Outcome]:
    """Run the three evaluations; return `probe`, `clusters`, and `pairs` or a row of pairs for each field.

    Papers without a vector are left out and counted. `embed` makes CLF vectors for probe and clusters, PRX vectors for
    pairs. `clusters` are numbers of clusters (the paper's are 10, 20, 50 and 100); as many as there are classes if
    empty. `seeds` are runs of the probe and of k-means, to average; the paper's probe has three. With `by_field`,
    labels are arXiv's, such as cs.LG: papers are classified by field (cs) and paired within it by label, and papers of
    several fields are left out, as in the paper. Raises `InputError` if too few papers or classes are left, and
    `UnavailableError` if scikit-learn isn't installed.
    """
    optional("sklearn", "This needs scikit-learn", "eval")  # checked before texts are encoded
    if by_field:
        single = [row for row, labels in enumerate(data.labels) if len(set(map(_field, labels))) == 1]
        data = data.only(single, "papers_of_several_fields")
    # Checked before hours of encoding that could not be measured.
    require(len(set(data.classes)) >= 2, "The papers have fewer than two classes: there is nothing to classify.")
    if clusters and max(clusters) > len(data.papers):
        raise InputError(f"{len(data.papers):,} papers can't be divided into {max(clusters)} clusters; choose fewer.")
    by_class, by_closeness = embed(data.papers, Format.CLF), embed(data.papers, Format.PRX)
    have = [row for row, text in enumerate(data.papers) if text.id in by_class.rows and text.id in by_closeness.rows]
    data = data.only(have, "papers_missing")
    ids = [text.id for text in data.papers]
    fields = tuple(map(_field, data.classes)) if by_field else ("",) * len(ids)
    classes = fields if by_field else data.classes
    require(
        len(set(classes)) >= 2,
        "The papers that have a vector have fewer than two classes: there is nothing to classify.",
    )
    probed = probe(by_class.of(ids), classes, data.test, seeds=seeds)
    outcomes = {
        "probe": replace(probed, counts={**probed.counts, **data.counts}),
        "clusters": cluster(by_class.of(ids), classes, clusters or (len(set(classes)),), seeds=seeds),
    }
    for field in sorted(set(fields)):
        rows = [row for row, name in enumerate(fields) if name == field]
        found = pair(by_closeness.of([ids[row] for row in rows]), [data.labels[row] for row in rows])
        outcomes[f"pairs {field}".strip()] = found
    return outcomes


def probe(matrix: np.ndarray, classes: Sequence[str], test: Sequence[bool], *, seeds: int = 3) -> Outcome:
    """Predict papers' classes by multinomial logistic regression, trained as appendix A.3 says.

    The matrix is (papers, dimension); `test` says of each paper whether it is tested on. Each quarter of the training
    papers validates in turn, and the epoch that is best on it is tested. Each of the `seeds` has its own folds and
    order of papers. Returns accuracy and macro F1, means over runs and folds, with intervals over the papers tested on,
    and the standard deviation over runs as in the paper's table 1 (that of a sample), if there are two or more. Raises
    `InputError` if there are too few papers on one side.
    """
    truth, tested = np.unique(np.array(classes), return_inverse=True)[1], np.array(test)
    sizes = np.bincount(truth[~tested], minlength=2)
    require(
        sizes.max() >= FOLDS and np.count_nonzero(sizes) >= 2 and tested.any(),
        f"The probe learns from {int((~tested).sum()):,} papers and is tested on {int(tested.sum()):,}: give more, "
        f"two classes to learn from, and {FOLDS} papers of one.",
    )
    learnt = (matrix[~tested], truth[~tested])
    predicted = np.stack(
        [found for seed in range(seeds) for found in _fold_predictions(*learnt, matrix[tested], seed)], axis=1
    )
    right = (predicted == truth[tested][:, None]).mean(axis=1)
    cells = {"accuracy": mean_interval(right), "F1 macro": bootstrap_statistic(_mean_f1, truth[tested], predicted)}
    counts = {"papers": len(truth), "papers_tested": int(tested.sum()), "classes": len(set(classes))}
    return Outcome({**cells, **_deviations(truth[tested], predicted, seeds)}, counts=counts)


def _deviations(truth: np.ndarray, predicted: np.ndarray, seeds: int) -> dict[str, float]:
    """Return the standard deviation over runs of each measure; none of a single run."""
    if seeds < 2:
        return {}
    runs = np.split(predicted, seeds, axis=1)
    accuracies = [float((run == truth[:, None]).mean()) for run in runs]
    each = {"accuracy": accuracies, "F1 macro": [_mean_f1(truth, run) for run in runs]}
    return {f"{measure}, deviation of runs": stdev(values) for measure, values in each.items()}


def _mean_f1(truth: np.ndarray, predicted: np.ndarray) -> float:
    return fmean(macro_f1(truth, column) for column in predicted.T)


def _fold_predictions(matrix: np.ndarray, classes: np.ndarray, test: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class may have fewer papers than there are folds
        folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(matrix, classes))
    for fit, validate in folds:
        epochs = train_epochs(matrix[fit], classes[fit], epochs=EPOCHS, batch=BATCH, rate=LEARNING_RATE, seed=seed)
        right = ((np.mean(model.predict(matrix[validate]) == classes[validate]), model) for model in epochs)
        _, best = max(right, key=itemgetter(0))  # the first of equal ones
        yield best.predict(test)


def cluster(matrix: np.ndarray, classes: Sequence[str], sizes: Sequence[int], *, seeds: int = 3) -> Outcome:
    """Divide papers, (papers, dimension), by k-means into some numbers of clusters, and compare with their classes.

    Returns purity and normalised mutual information for each number of clusters, means over runs with several seeds.
    Raises `InputError` if there are fewer papers than clusters.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import normalized_mutual_info_score

    per_seed: dict[str, dict[str, float]] = {}
    for size in sizes:
        require(
            1 <= size <= len(matrix),
            f"{len(matrix):,} papers can't be divided into {size} clusters; choose another number.",
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # equal vectors may make fewer clusters
            runs = {
                f"seed {seed}": KMeans(size, n_init=1, random_state=seed).fit_predict(matrix).tolist()
                for seed in range(seeds)
            }
        per_seed[f"purity k={size}"] = {run: purity(classes, found) for run, found in runs.items()}
        per_seed[f"NMI k={size}"] = {
            run: float(normalized_mutual_info_score(classes, found)) for run, found in runs.items()
        }
    return Outcome({name: fmean(values.values()) for name, values in per_seed.items()}, per_seed)


def pair(matrix: np.ndarray, labels: Sequence[Sequence[str]], *, most: int = PAIRED) -> Outcome:
    """Rank all pairs of papers by the correlation of their vectors; those that share a label should come first.

    The matrix is (papers, dimension). From more than `most` papers this many are drawn, always the same ones. Returns
    average precision and area under the ROC curve; neither where no pair, or every pair, shares a label.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score
    from sklearn.preprocessing import MultiLabelBinarizer

    rows = sorted(Random(0).sample(range(len(matrix)), min(most, len(matrix))))  # noqa: S311 - nothing secret
    pairs = np.triu_indices(len(rows), 1)
    has = MultiLabelBinarizer().fit_transform([labels[row] for row in rows]).astype(np.float32)
    alike = (has @ has.T > 0)[pairs]
    counts = {"papers": len(matrix), "papers_not_paired": len(matrix) - len(rows), "pairs_alike": int(alike.sum())}
    if not alike.any() or alike.all():
        return Outcome({}, counts=counts)
    # Close vectors have almost equal correlations: rounding to single precision would change their order.
    chosen = matrix[rows].astype(np.float64)
    centred = unit_rows(chosen - chosen.mean(axis=1, keepdims=True))
    scores = (centred @ centred.T)[pairs]
    cells = {"AP": float(average_precision_score(alike, scores)), "AUC": float(roc_auc_score(alike, scores))}
    return Outcome(cells, counts=counts)


def _field(label: str) -> str:
    return label.partition(".")[0]
