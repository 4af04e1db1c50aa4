"""Trains queries by judgments, and leaves papers as they are: an index stays valid, and is asked by another encoder.

A target vector is found for each query: from its own vector, some steps toward its relevant papers and away from the
other papers near it, down the divergence of `training.data.builders.hybrid_queries`. An adapter then learns to make
such vectors of texts. The model is written as routes: the adapter's for queries, the index's own for papers.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import InputError, require
from corpora.writing import explaining
from encoders.models.formats import Format
from encoders.models.model import Model
from encoders.registry import find_model
from encoders.text_encoder import TextEncoder
from eval.frozen import title_key
from eval.retrieval.beir import JudgedQueries, join
from eval.retrieval.protocol import evaluate_queries, make_protocol
from eval.statistics.interval import Interval, mean_interval
from eval.trec.judgments import Qrels
from search_plugin.contract.engine import Index
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.contract.schema import SEARCHED
from training.data.builders.base import drawn, held_out_at
from training.data.builders.hybrid_queries import moved
from training.own.recipes import RECIPE, VALIDATIONS, queries_recipe, write_recipe
from training.own.run import measured_speed, plain_base, write_beside
from training.preparing import Say, held
from training.train import Trained, train

TRAIN, VALIDATION = "train.jsonl", "validation.jsonl"
ASKING = "asking"
"""The folder of the model that asks the index, in the folder of the run."""

MEASURE = "nDCG@10"
_TEST_SHARE, _VALIDATION_SHARE = 0.3, 0.15
_FEWEST = 20
_NEAR = 60
"""Papers near a query that its target is moved away from, unless they are relevant."""

_MOVING = {"temperature": 0.05, "steps": 5, "rate": 0.2}
_DIGITS = 6
_OF_REPORT = 0.2
_SCALE = (-1.0, 1.0)
"""Bounds of the difference of two values of a measure that is from 0 to 1."""


@dataclass(frozen=True, slots=True)
class QueriesComparison:
    """How searches by trained queries compare with those by the index's own model, on queries that only measure.

    Attributes:
        train: Queries to learn from, those of the validation included.
        test: Queries that only measure.
        before: The measure with the index's own model, by mode: `vector` and `hybrid`.
        gains: How much more the trained queries reach, with paired intervals over queries.
    """

    train: int
    test: int
    before: Mapping[str, float]
    gains: Mapping[str, Interval]

    @property
    def is_better(self) -> bool:
        """Whether a hybrid search, which is the usual one, is better with them, and not by chance."""
        return self.gains["hybrid"].low > 0

    @property
    def sentence(self) -> str:
        """Whether the trained queries are worth using, and by how much, in a line."""
        gain, before = self.gains["hybrid"], self.before["hybrid"]
        amount = f"{MEASURE} {gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}] beside the {before:.3f} of before"
        if self.is_better:
            return f"Worth using: {amount}."
        why = "searches become worse" if gain.high < 0 else "the difference may be chance"
        return f"Not worth using: {amount}; {why}, so search as before."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "worth": self.is_better, "sentence": self.sentence}


@dataclass(frozen=True, slots=True)
class OwnQueries:
    """An encoder of queries that was trained for an index.

    Attributes:
        model: Folder of the model that asks the index, for every option for a model.
        trained: Result of the run.
        worth: How searches by it compare with those of before.
    """

    model: Path
    trained: Trained
    worth: QueriesComparison


def train_queries(
    index: Index,
    judged: JudgedQueries,
    folder: Path,
    *,
    minutes: float,
    load: Callable[[Model], TextEncoder],
    say: Say = lambda _: None,
) -> OwnQueries:
    """Train queries by judgments of papers of an index, and measure them on a third of the queries.

    `folder` gets target vectors, the recipe, the run and the model, in about so many minutes. `load` loads a model as
    the index's queries are encoded, and `say` receives what training reports. Raises `InputError` if there are too few
    queries, the index's model has an encoder of queries of its own, or the folder holds a recipe already, and
    `UnavailableError` if torch is not installed.
    """
    require(minutes > 0, f"Nothing can be learned in {minutes:g} minutes", "give more <minutes>, such as 20")
    begun = time.monotonic()
    base, encoder = _base_of_queries(index), load(find_model(index.schema.model))
    require(not (folder / RECIPE).exists(), f"{folder} holds a recipe already", "name another folder by <output>")
    parts = _parts(index, judged)
    with held(folder), explaining(folder, "name another folder by <output>"):
        for name in (TRAIN, VALIDATION):
            _write_targets(index, encoder, parts[name], folder / name)
        recipe = write_recipe(folder, queries_recipe(index.name, base))
    speed = measured_speed(recipe, folder / "trial", say)
    seconds = 60 * minutes * (1 - _OF_REPORT) - (time.monotonic() - begun)
    steps = speed.steps(seconds, VALIDATIONS + 1)
    trained = train(write_recipe(folder, queries_recipe(index.name, base, steps=steps)), folder, say=say)
    assert trained.folder is not None  # noqa: S101 - the run had no time limit
    asking = write_beside(find_model(index.schema.model), Format.QRY, trained.folder, folder / ASKING)
    test = parts["test"]
    say({"measured": {"queries": len(test.texts)}})
    worth = _compared(index, test, len(parts[TRAIN].texts) + len(parts[VALIDATION].texts), encoder, load(asking))
    return OwnQueries(folder / ASKING, trained, worth)


def _base_of_queries(index: Index) -> Model:
    """Return the plain network that encodes queries of an index; `InputError` if something is on it already."""
    require(
        not index.schema.projection,
        f"The vectors of the index {index.name} are projected, and queries can be trained for whole ones only",
        "index again with <fresh> and the <dimension> of the model",
    )
    base, model = plain_base(index), find_model(index.schema.model)
    if model.card.architecture != "plain" and model.card.heads.get(Format.QRY) != "base":
        raise InputError(
            f"The model {index.schema.model} of the index {index.name} has trained queries already",
            "index again with a <model> without them",
        )
    return base


def _parts(index: Index, judged: JudgedQueries) -> dict[str, JudgedQueries]:
    """Return the queries of each part; the same text is in one part only.

    Only queries that have a relevant paper in the index count. Raises `InputError` if there are too few.
    """
    there = index.hashes(sorted(judged.qrels.documents))
    found: dict[str, dict[str, str]] = {TRAIN: {}, VALIDATION: {}, "test": {}}
    for query, text in judged.texts.items():
        if any(gain > 0 and id_ in there for id_, gain in judged.qrels.gains[query].items()):
            key = title_key(text)
            asks = VALIDATION if held_out_at(key) < _VALIDATION_SHARE else TRAIN
            found["test" if drawn("test", key) < _TEST_SHARE else asks][query] = text
    fewest = min(map(len, found.values()))
    require(
        len(found[TRAIN]) >= _FEWEST and fewest,
        f"Only {sum(map(len, found.values())):,} queries have a relevant paper in the index {index.name}, too few to "
        "learn from",
        "judge more queries",
    )
    return {
        part: join(texts, Qrels({query: judged.qrels.gains[query] for query in texts})) for part, texts in found.items()
    }


def _write_targets(index: Index, encoder: TextEncoder, judged: JudgedQueries, path: Path) -> None:
    """Write each query as a title, with its target vector in `label`."""
    queries = list(judged.texts)
    vectors = encoder.encode([judged.texts[query] for query in queries], Format.QRY)
    with path.open("w", encoding="utf-8") as file:
        for query, vector in zip(queries, vectors, strict=True):
            target = _target(index, vector, judged.qrels.gains[query])
            label = [round(float(one), _DIGITS) for one in target]
            file.write(json.dumps({"title": judged.texts[query], "label": label}) + "\n")


def _target(index: Index, vector: np.ndarray, gains: Mapping[str, int]) -> np.ndarray:
    """Return the vector that a query should have, float64 (dimension,), of unit length."""
    near = index.search(Plan("", (VectorClause(SEARCHED, vector),), None, _NEAR))[SEARCHED]
    ids = list(dict.fromkeys([*(id_ for id_, gain in gains.items() if gain > 0), *(one.id for one in near)]))
    held = index.vectors(ids, SEARCHED)
    ids = [id_ for id_ in ids if id_ in held]
    papers = np.stack([held[id_] for id_ in ids]).astype(np.float64)
    relevant = np.array([max(0, gains.get(id_, 0)) for id_ in ids], np.float64)
    return moved(vector, papers, relevant / relevant.sum(), _MOVING)


def _compared(
    index: Index, test: JudgedQueries, train: int, before: TextEncoder, after: TextEncoder
) -> QueriesComparison:
    """Search the queries that only measure by both encoders."""
    protocol = make_protocol(modes=("vector", "hybrid"), measures=(MEASURE,))
    found = [evaluate_queries(test, index, encoder, protocol) for encoder in (before, after)]
    values: Sequence[Mapping[str, np.ndarray]] = [
        {mode: np.array(list(one.scores.per_query[MEASURE].values())) for mode, one in each.items()} for each in found
    ]
    means = {mode: float(one.mean()) for mode, one in values[0].items()}
    gains = {mode: mean_interval(values[1][mode] - one, scale=_SCALE) for mode, one in values[0].items()}
    return QueriesComparison(train, len(test.texts), means, gains)
