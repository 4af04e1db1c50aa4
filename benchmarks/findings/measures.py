"""The measures of the findings on held-out papers: one number for a model's vectors of one format."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from benchmarks.findings.data import HELD_OUT, TRAIN, read
from benchmarks.findings.runs import Run
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.text_encoder import TextEncoder
from eval.embedder import Embedder, Text, by_encoder
from eval.measures.f1 import macro_f1
from eval.measures.metrics import evaluate
from eval.probes.linear import classify, regress
from eval.reranking import rerank
from eval.retrieval.exact import SIMILARITIES
from eval.suites.kinds import read_citations
from training.data.builders.base import BuilderSource
from training.data.pool import read_pool
from training.data.queries import OPTIONS

TOKENS = 32
"""As in the recipes."""

_GRID = (0.1, 1.0, 10.0)
_QUERIES = {**OPTIONS, "titles": 0.0, "conclusions": 1.0, "keywords": 2.0, "citations": 0.0}
_REVIEWS = ("Meijboom_2021", "Nelson_2002", "van_der_Valk_2021")  # as in eval/suites/offline.toml
_BEST = 20

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Bench:
    """A loaded model.

    Attributes:
        data: The folder of drawn papers.
        encoder: The model.
        embed: The same, as protocols take it.
    """

    data: Path
    encoder: TextEncoder
    embed: Embedder

    def held_out(self, name: str) -> list[dict[str, Any]]:
        """Return the papers of a file that were not used in training."""
        return read(self.data / HELD_OUT / f"{name}.jsonl")

    def vectors(self, texts: Sequence[tuple[str, str | None]], task_format: Format) -> np.ndarray:
        """Return the vectors of titles and abstracts, float32 (texts, dimension)."""
        return self.embed([Text(str(row), *text) for row, text in enumerate(texts)], task_format).matrix

    def alike(self, queries: np.ndarray, papers: np.ndarray) -> np.ndarray:
        """Compare as the model's card says, (queries, papers)."""
        return SIMILARITIES[self.encoder.card.similarity](queries, papers)


def load(run: Run, folder: Path, tokens: int = TOKENS) -> TextEncoder:
    """Return a run's model, which cuts texts at the same length as its training."""
    card = replace(run.model.card, max_tokens=tokens)
    return load_encoder(replace(run.model, card=card), cache_dir=folder / "graphs", threads=1)


def _probed(file: str, label: Callable[[Row], str], learned: int) -> Callable[[Bench, Format], float]:
    """Return the macro F1 of a linear probe that learns from some of the papers and is tested on the others."""

    def measure(bench: Bench, task_format: Format) -> float:
        rows = bench.held_out(file)
        matrix = bench.vectors(_texts(rows), task_format)
        labels = np.unique([label(row) for row in rows], return_inverse=True)[1]
        found = classify(matrix[:learned], labels[:learned], matrix[learned:], grid=_GRID, jobs=1)
        return float(macro_f1(labels[learned:], found.labels))

    return measure


def _year(bench: Bench, task_format: Format) -> float:
    """Return Kendall's tau of a linear probe of 400 papers, on the others."""
    rows = bench.held_out("conf")
    matrix, years = bench.vectors(_texts(rows), task_format), np.array([float(row["year"]) for row in rows])
    found = regress(matrix[:400], years[:400] - years.mean(), matrix[400:], grid=_GRID, jobs=1)
    return float(kendalltau(years[400:], found.labels).statistic)


def _citations(bench: Bench, task_format: Format) -> float:
    """Return MAP of five cited papers among 30 of the same review; the suite's own queries and candidates."""
    papers, qrels = read_citations(bench.data / TRAIN / "synergy.jsonl", reviews=_REVIEWS)
    vectors = bench.embed(list(papers.values()), task_format)
    ranked = rerank("citations", qrels, vectors, vectors, lambda a, b: bench.alike(a, b)[0])
    return float(evaluate(ranked.run, qrels, ("MAP",)).means["MAP"])


def _search(bench: Bench, task_format: Format) -> float:
    """Return the mean reciprocal rank of the paper that a query was made of; papers are PRX where queries are QRY."""
    pool = read_pool(BuilderSource(lambda: iter(bench.held_out("pubmed")), lambda _: bench.encoder, 0), _QUERIES)
    papers = [(str(text.get("title") or ""), str(text.get("abstract") or "")) for text in pool.answers]
    of_papers = Format.PRX if task_format is Format.QRY else task_format
    queries = bench.vectors([(str(query.asked), None) for query in pool.queries], task_format)
    scores = bench.alike(queries, bench.vectors(papers, of_papers))
    right = scores[np.arange(len(queries)), [query.answers[0] for query in pool.queries]]
    return float((1 / (scores >= right[:, None]).sum(axis=1)).mean())


def _headings(bench: Bench, task_format: Format) -> float:
    """Return the recall of a paper's major MeSH headings among the 20 nearest of all headings' names."""
    rows = bench.held_out("pubmed")
    names = sorted({name for row in rows for name in row["mesh_major"]})
    papers = bench.vectors(_texts(rows), task_format)
    scores = bench.alike(papers, bench.vectors([(name, None) for name in names], task_format))
    nearest = np.argsort(-scores, axis=1)[:, :_BEST]
    found = [{names[column] for column in best} for best in nearest]
    wanted = [set(row["mesh_major"]) for row in rows]
    return float(np.mean([len(best & own) / len(own) for best, own in zip(found, wanted, strict=True)]))


def _texts(rows: Sequence[Row]) -> list[tuple[str, str | None]]:
    return [(row["title"], row["abstract"]) for row in rows]


MEASURES: dict[str, tuple[str, Format, Callable[[Bench, Format], float]]] = {
    "categories": ("arXiv, probe: macro F1", Format.CLF, _probed("arxiv", lambda row: row["categories"][0], 400)),
    "year": ("year, probe: tau", Format.RGN, _year),
    "citations": ("citations among 30: MAP", Format.PRX, _citations),
    "links": ("citations among 30: MAP", Format.RGN, _citations),
    "search": ("search: MRR", Format.QRY, _search),
    "headings": ("MeSH headings by name: R@20", Format.CLF, _headings),
    "ohsumed": ("OHSUMED, probe: macro F1", Format.CLF, _probed("ohsumed", lambda row: row["label"], 500)),
}
"""The name of a column, its format, and the function that measures it."""


def measured(run: Run, asked: Sequence[tuple[str, Format | None]], folder: Path, data: Path) -> list[float]:
    """Measure a run's model; each measure is taken once.

    Args:
        run: The model.
        asked: Names in `MEASURES`, each with the format whose vectors are measured; if None, the measure's own.
        folder: Folder for graphs and for earlier results.
        data: The drawn papers.

    Returns:
        The numbers, in the order asked.
    """
    kept = folder / "measures.json"
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}

    @cache
    def bench() -> Bench:
        encoder = load(run, folder)
        return Bench(data, encoder, by_encoder(encoder))

    values = []
    for name, given in asked:
        label, own, measure = MEASURES[name]
        used = given or own
        key = f"{run.model.card.fingerprint} {label} {run.vector(used)}"
        if key not in known:
            known[key] = measure(bench(), used)
            kept.write_text(json.dumps(known, indent=1), encoding="utf-8")
        values.append(known[key])
    return values
