"""Taggers and forecasters: as good as a probe, calibrated, much faster than indexing again, and intervals that hold.

Needs SES_TEST_DATA and scikit-learn. `quality` and `forecasts` encode 6,000 papers each, once: the cache keeps them.
`speed` encodes 1,000 papers, whatever the number of papers that are tagged.
Run: python -m benchmarks.tags quality | forecasts | speed [PAPERS [ENGINE]] | ship FOLDER
"""

from __future__ import annotations

import json
import lzma
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import ses
from benchmarks.common import data_dir, seconds
from encoders.formats import Format
from eval.suites.frozen import read_frozen, title_key
from products.forecasts.percentiles import CitedPaper, ranked_papers
from products.forecasts.training import ForecastOptions, train_forecaster
from products.tags.apply import TaggingReport
from products.tags.hierarchy import Concept, Hierarchy, make_hierarchy
from products.tags.labels import YES, labelled_papers
from products.tags.measures import measured
from products.tags.store import write_tagger
from products.tags.training import TaggerOptions, threshold_for, train_tagger
from products.trained import TrainedVectors
from search_plugin.engines.base import Document, Engine
from search_plugin.engines.registry import connect

MODELS = ("all-MiniLM-L6-v2", "ses-minilm")
PAPERS = 6_000
SEEDS = range(5)
ENCODED = 1_000
BATCH = 1_000
PROBE_GRID = (0.1, 1.0, 10.0)


def rows_of(name: str) -> Iterator[dict[str, Any]]:
    with lzma.open(data_dir() / "train" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def drawn(rows: list[dict[str, Any]], count: int = PAPERS) -> list[dict[str, Any]]:
    random.Random(0).shuffle(rows)
    return rows[:count]


def arxiv_papers() -> tuple[list[dict[str, Any]], list[dict[str, Any]], Hierarchy]:
    """Return the frozen papers, 7,000 others, and the archives of their categories."""
    frozen = read_frozen().titles
    rows = list({row["id"]: row for row in rows_of("arxiv")}.values())
    held = [row for row in rows if title_key(row["title"]) in frozen]
    rest = drawn([row for row in rows if title_key(row["title"]) not in frozen], 7_000)
    names = {name for row in (*held, *rest) for name in row["categories"] if "." in name}
    return held, rest, make_hierarchy(Concept(name, (name.partition(".")[0],)) for name in sorted(names))


def ship(folder: str) -> None:
    """Train the tagger that comes with ses, without frozen papers, and measure it on them too."""
    held, rest, hierarchy = arxiv_papers()
    judged = {row["id"]: dict.fromkeys(row["categories"], True) for row in (*rest, *held)}
    source, matrix = vectors("ses-minilm", "clf", [*rest, *held])
    learnt = labelled_papers({row["id"]: judged[row["id"]] for row in rest}, judged, hierarchy, 50)
    options = TaggerOptions(fewest=50)
    told = "arXiv categories of 7,000 papers"
    tagger = train_tagger("arxiv", source, matrix[: len(rest)], learnt, hierarchy, options, made_from=told)
    write_tagger(Path(folder), tagger)
    own = labelled_papers({row["id"]: judged[row["id"]] for row in held}, judged, hierarchy, 2)
    shared = [label for label in tagger.labels if label in own.labels]
    columns = [tagger.labels.index(label) for label in shared]
    said = tagger.probabilities(matrix[len(rest) :])
    found = measured(
        said[:, columns],
        tagger.given(said)[:, columns],
        own.truth[:, [own.labels.index(label) for label in shared]],
        shared,
        thresholds=tagger.thresholds[columns],
        trained=[0] * len(shared),
        how=f"{len(held):,} frozen papers",
    )
    for measures in filter(None, (tagger.measures, found)):
        print(
            f"{measures.how}: {len(measures.labels)} labels, macro F1 {measures.macro_f1:.3f}, micro F1 "
            f"{measures.micro_f1:.3f}, ECE {measures.ece:.3f}, mean of labels {measures.label_ece:.3f}, untagged "
            f"{measures.untagged:.1%}"
        )


def vectors(model: str, task_format: str, rows: list[dict[str, Any]]) -> tuple[TrainedVectors, np.ndarray]:
    loaded = ses.load_model(model)
    texts = [loaded.card.text(row["title"], row["abstract"] or "") for row in rows]
    source = TrainedVectors(loaded.card.name, loaded.card.fingerprint, Format(task_format))
    return source, np.concatenate(
        [loaded.encode(texts[at : at + 512], task_format) for at in range(0, len(texts), 512)]
    )


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
        source, found = vectors("ses-minilm", "clf", rows)
        matrix = found[[place[id_] for id_ in papers.ids]]
        tagger = train_tagger("tags", source, matrix, papers, hierarchy, TaggerOptions(fewest=fewest))
        order = np.random.default_rng(0).permutation(len(matrix))
        test, train = order[: len(order) // 5], np.sort(order[len(order) // 5 :])
        truth = papers.truth[:, [papers.labels.index(label) for label in tagger.labels]] == YES
        cut, uncut = probe(matrix[train], truth[train], matrix[test])
        told = tagger.measures
        if told is None or told.papers != len(test):
            sys.exit("The tagger was not measured on the probe's test papers.")
        theirs = macro_f1(truth[test], cut)
        cells = (
            told.macro_f1,
            theirs,
            told.macro_f1 - theirs,
            macro_f1(truth[test], uncut),
            told.ece,
            told.label_ece,
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


def forecasts() -> None:
    """Measure coverage of 90 % intervals on conference papers that ses-minilm was not trained on."""
    frozen = read_frozen().titles
    kept = {
        row["id"]: row
        for row in rows_of("conf")
        if (row["citations"] or 0) >= 0 and row["abstract"] and row["year"] and title_key(row["title"]) in frozen
    }
    cited = [
        CitedPaper(id_, float(row["citations"] or 0), (row["venue"], int(row["year"]))) for id_, row in kept.items()
    ]
    ranked = ranked_papers(cited, 20)
    years = [int(kept[id_]["year"]) for id_ in ranked.ids]
    print(f"{len(ranked.ids):,} papers in {ranked.groups} groups; {len(SEEDS)} splits: mean, lowest and highest")
    print("| model | coverage of 90 % intervals | width | error | error of 50 for all | Spearman |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for model in MODELS:
        source, matrix = vectors(model, "rgn", [kept[id_] for id_ in ranked.ids])
        told = [
            train_forecaster("f", source, matrix, ranked.percentiles, years, ForecastOptions(seed=seed)).measures
            for seed in SEEDS
        ]
        coverage = [one.coverage for one in told if one]
        means = [
            np.mean([getattr(one, part) for one in told]) for part in ("width", "error", "blind_error", "correlation")
        ]
        cells = [f"{np.mean(coverage):.3f} ({min(coverage):.3f} to {max(coverage):.3f})"]
        cells += [*(f"{one:.1f}" for one in means[:3]), f"{means[3]:.3f}"]
        print(f"| {model} | {' | '.join(cells)} |", flush=True)


def speed() -> None:
    """Compare tagging an index with indexing it again without cached vectors, on the same engine.

    Papers beyond the first 1,000 are not encoded: they are written with the vectors of those, and the time of indexing
    them again is that of the first 1,000 in proportion.
    """
    size = int(sys.argv[2]) if len(sys.argv) > 2 else ENCODED
    os.environ["SES_EMBEDDING_CACHE"] = "false"
    rows = drawn([row for row in rows_of("pubmed") if row.get("mesh") and row["abstract"]])[: min(size, ENCODED)]
    papers = [ses.Paper(row["id"], row["title"], row["abstract"], fields=tuple(row["mesh"])) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        url = sys.argv[3] if len(sys.argv) > 3 else f"embedded:{home / 'indexes'}"
        library = ses.open(url, data_dir=home / "data")
        given = {"formats": ["prx,clf"]}
        library.index("bench-tags", papers[:1], **given)  # type: ignore[arg-type]  # builds the model's graph
        again = seconds(lambda: library.index("bench-tags", papers, fresh=True, **given))  # type: ignore[arg-type]
        library.tags.train("bench", "bench-tags", "fields", fewest=30)
        names = ["bench-tags"]
        if size > len(papers):
            repeat(connect(url), "bench-tags", "bench-tags-many", papers, size)
            names.append("bench-tags-many")
        tagged = names[-1]
        some = list(islice(library[tagged].index.ids(), ENCODED))
        before = library[tagged].index.vectors(some, "clf")
        reports = list[TaggingReport]()
        tagging = seconds(lambda: reports.append(library.tags.apply("bench", tagged)))
        after = library[tagged].index.vectors(some, "clf")
        if not all((before[id_] == after[id_]).all() for id_ in some):
            sys.exit("Tagging changed vectors.")
        labels = len(library.tags["bench"].labels)
        whole = again * reports[0].papers / len(papers)
        told = "" if size == len(papers) else f" (in proportion to {again:.1f} s for {len(papers):,})"
        print(
            f"{reports[0].papers:,} papers, {labels} labels, {reports[0].tagged:,} papers tagged: indexed again in "
            f"{whole:,.1f} s{told}, tagged in {tagging:.2f} s: {whole / tagging:.0f} times as fast; vectors unchanged"
        )
        for name in names:
            library.drop(name)


def repeat(engine: Engine, small: str, large: str, papers: list[ses.Paper], size: int) -> None:
    """Write an index of many papers, with the texts and vectors of a small one over and over."""
    source = engine.open(small)
    vectors = {task: source.vectors([paper.id for paper in papers], task) for task in ("prx", "clf")}
    index = engine.build(large, source.schema, "benchmark")
    for start in range(0, size, BATCH):
        batch = []
        for number in range(start, min(start + BATCH, size)):
            paper = replace(papers[number % len(papers)], id=f"{number}")
            own = {task: of[papers[number % len(papers)].id] for task, of in vectors.items()}
            batch.append(Document(paper, paper.content_hash(), own))
        index.upsert(batch)
    index.finish()
    engine.publish(index)


def main() -> None:
    match sys.argv[1:]:
        case ["ship", folder]:
            ship(folder)
        case ["forecasts"]:
            forecasts()
        case ["speed", *_]:
            speed()
        case _:
            quality()


if __name__ == "__main__":
    main()
