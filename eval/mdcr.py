"""MDCR (Medić & Šnajder 2022): cited papers ranked among others, by field of science, in the form it is published in.

Papers are ranked by Euclidean distance, as SciRepEval ranks them. A paper that is both cited and another candidate
counts as cited, as in MDCR's `evaluate.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import orjson

from corpora.documents import read_json
from corpora.errors import InputError, require
from corpora.writing import explaining, replacing
from encoders.models.formats import Format
from eval.embedder import Embedder, Text
from eval.files.text import file_in, json_objects, paper_text, require_line
from eval.measures.similarity import minus_distance
from eval.outcome import Outcome
from eval.reranking import Ranked, ranked_outcome, rerank
from eval.statistics.interval import value_of
from eval.trec.judgments import Qrels

AVERAGE = "average"
CITED = "true"
LARGEST = 256 << 20
"""Most bytes of the benchmark's file."""
MEASURES = ("MAP", "nDCG", "Recall@5")
SPLITS = ("val", "test")


@dataclass(frozen=True, slots=True)
class Mdcr:
    """A split of MDCR: its papers by id, and the judged candidates of queries by field."""

    papers: Mapping[str, Text]
    fields: Mapping[str, Qrels]


def read_mdcr(folder: Path, split: str = "test") -> Mdcr:
    """Read `mdcr_SPLIT.json` and `mdcr_SPLIT_data.jsonl` in a folder; `InputError` if one is missing or malformed."""
    require(split in SPLITS, f"MDCR has no split {split!r}; choose one of: {', '.join(SPLITS)}.")
    path = folder / f"mdcr_{split}.json"
    require(path.is_file(), f"There is no {path.name} in {folder}: give the folder that holds MDCR's files.")
    try:
        fields = {field: Qrels(dict(map(_judged, queries.items()))) for field, queries in _object(path).items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        form = "fields of queries, whose candidates are lists by the way they were found"
        raise InputError(f"{path} can't be read as MDCR's file, which holds {form}: fetch it again.") from error
    require(any(one.gains for one in fields.values()), f"{path} holds no queries: fetch it again.")
    return Mdcr(_papers(file_in(folder, f"mdcr_{split}_data.jsonl")), fields)


def rank_mdcr(data: Mdcr, embed: Embedder) -> dict[str, Ranked]:
    """Rank the candidates of each query by PRX vectors, by field; `InputError` if no paper has a vector."""
    judged = [one.gains for one in data.fields.values()]
    wanted = dict.fromkeys(name for gains in judged for query in gains for name in (query, *gains[query]))
    vectors = embed([data.papers[name] for name in wanted if name in data.papers], Format.PRX)
    require(vectors.known(wanted), "No paper of MDCR has a vector: the embeddings belong to other papers.")
    return {
        field: rerank(
            "ses-mdcr",
            qrels,
            vectors,
            vectors,
            lambda query, candidates: minus_distance(candidates.astype(float), query),
        )
        for field, qrels in data.fields.items()
    }


def measure_mdcr(data: Mdcr, ranked: Mapping[str, Ranked]) -> dict[str, Outcome]:
    """Return MAP, nDCG and recall at 5 by field, and their averages over fields.

    A query without a vector counts 0, and a candidate without one as not found; both are counted.
    """
    outcomes = {
        field: ranked_outcome(one.run, data.fields[field], MEASURES, one.counts) for field, one in ranked.items()
    }
    averages = {
        measure: fmean(value_of(outcome.cells[measure]) for outcome in outcomes.values()) for measure in MEASURES
    }
    return {**outcomes, AVERAGE: Outcome(averages)}


def write_scores(path: Path, ranked: Mapping[str, Ranked]) -> None:
    """Write the file that MDCR's `evaluate.py` reads: minus the distance for each `QUERY_CANDIDATE`.

    It lacks pairs of which one has no vector. Raises `UnavailableError` if it can't be written there.
    """
    rankings = (ranking for one in ranked.values() for ranking in one.run.rankings.items())
    scores = {f"{query}_{name}": score for query, ranking in rankings for name, score in ranking}
    with explaining(path), replacing(path) as part:
        part.write_bytes(orjson.dumps(scores))


def _object(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = read_json(path, LARGEST)
    return found


def _judged(item: tuple[str, Mapping[str, list[Any]]]) -> tuple[str, dict[str, int]]:
    query, candidates = item
    if not all(isinstance(names, list) for names in candidates.values()):
        raise TypeError(query)
    others = {str(name): 0 for names in candidates.values() for name in names}
    return query, {**others, **{str(name): 1 for name in candidates[CITED]}}


def _papers(path: Path) -> dict[str, Text]:
    papers = {}
    for number, members in json_objects(path):
        text = paper_text(members, "paper_id", "id", "corpus_id", "doc_id")
        require_line(text.id, path, number, 'a paper has a "paper_id"')
        papers[text.id] = text
    return papers
