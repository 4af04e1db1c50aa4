"""Taggers beside a linear probe."""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.tags.papers import arxiv_papers, drawn, rows_of, vectors
from encoders.registry import DEFAULT_MODEL
from products.tags.hierarchy import Hierarchy
from products.tags.labels import YES, labelled_papers
from products.tags.training import TaggerOptions, threshold_for, train_tagger

PROBE_GRID = (0.1, 1.0, 10.0)


def quality() -> None:
    """Compare taggers with a linear probe that is refitted on the same papers and vectors, with thresholds of its own.

    The first rows are the tagger that comes with ses, trained again as `ship` does.
    """
    _, rest, archives = arxiv_papers()
    pubmed = drawn([row for row in rows_of("pubmed") if row.get("mesh") and row["abstract"]])
    sets = {
        "arXiv categories and archives": (rest, "categories", archives, 50),
        "MeSH headings": (pubmed, "mesh", Hierarchy(), 100),
    }
    print(
        "| labels | number | tagger: macro F1 | probe: macro F1 | difference | probe, not cut: macro F1 | "
        "ECE, all | ECE, mean of labels |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for what, (rows, field, hierarchy, fewest) in sets.items():
        judged = {row["id"]: dict.fromkeys(row[field], True) for row in rows}
        papers = labelled_papers(judged, judged, hierarchy, fewest)
        place = {row["id"]: number for number, row in enumerate(rows)}
        source, found = vectors(DEFAULT_MODEL, "prx", rows)
        matrix = found[[place[id_] for id_ in papers.ids]]
        tagger = train_tagger("tags", source, matrix, papers, hierarchy, TaggerOptions(fewest=fewest))
        order = np.random.default_rng(0).permutation(len(matrix))
        test, train = order[: len(order) // 5], np.sort(order[len(order) // 5 :])
        truth = papers.truth[:, [papers.labels.index(label) for label in tagger.labels]] == YES
        cut, uncut = probe(matrix[train], truth[train], matrix[test])
        measures = tagger.measures
        if measures is None or measures.papers != len(test):
            sys.exit("The tagger was not measured on the probe's test papers.")
        theirs = macro_f1(truth[test], cut)
        cells = (
            measures.macro_f1,
            theirs,
            measures.macro_f1 - theirs,
            macro_f1(truth[test], uncut),
            measures.ece,
            measures.label_ece,
        )
        shown = " | ".join(f"{one:.3f}" for one in cells)
        print(f"| {what} | {len(tagger.labels)} | {shown} |", flush=True)


def probe(train: np.ndarray, truth: np.ndarray, test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels that a linear support vector machine says of test papers, with tuned thresholds and with 0.

    C and the threshold of each label are the best by F1 on cross-validated scores, as a tagger's thresholds are.
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.svm import LinearSVC

    rows = np.ascontiguousarray(train, np.float64)
    cut, uncut = np.zeros((2, len(test), truth.shape[1]), bool)
    for column, true in enumerate(truth.T):
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        best = (-1.0, 0.0, 0.0)
        for strength in PROBE_GRID:
            machine = LinearSVC(C=strength, dual=False, random_state=0)
            scores = cross_val_predict(machine, rows, true, cv=folds, method="decision_function")
            # All positive and in the same order, as `threshold_for` expects of probabilities.
            ranked = 1 / (1 + np.exp(-scores))
            threshold = threshold_for(ranked, true)
            found = f1(true, ranked >= threshold)
            best = max(best, (found, strength, float(np.log(threshold / (1 - threshold)))))
        said = LinearSVC(C=best[1], dual=False, random_state=0).fit(rows, true).decision_function(test)
        cut[:, column], uncut[:, column] = said >= best[2], said > 0
    return cut, uncut


def f1(true: np.ndarray, said: np.ndarray) -> float:
    return float(2 * (true & said).sum() / max(true.sum() + said.sum(), 1))


def macro_f1(truth: np.ndarray, said: np.ndarray) -> float:
    there = np.flatnonzero(truth.any(axis=0))
    return float(np.mean([f1(truth[:, column], said[:, column]) for column in there]))
