"""The MTEB adapter under the real mteb: tasks of a handful of papers in memory, without the network."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass, field
from importlib.metadata import version

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from eval.embedder import Text, by_encoder
from eval.measures.metrics import evaluate
from eval.mteb import MtebEncoder, MtebSearch
from eval.retrieval.beir import JudgedQueries
from eval.retrieval.protocol import Protocol, evaluate_exact, evaluate_queries
from eval.trec.judgments import Qrels
from eval.trec.runs import Run
from tests.eval.mteb.tasks import CANDIDATES, GAINS, PAPERS, QUERIES, classification_task, retrieval_task
from tests.indexer.jobs import engine_in
from tests.tiny import make_model, papers

pytestmark = pytest.mark.mteb

MEASURES = {"nDCG@10": "ndcg_at_10", "MAP@10": "map_at_10", "MRR@10": "mrr_at_10", "Recall@20": "recall_at_20"}


@dataclass
class Spy:
    """An encoder that notes what it encodes."""

    encoder: object
    asked: list = field(default_factory=list)

    @property
    def card(self):
        return self.encoder.card

    def encode(self, texts, task_format=Format.PRX):
        return self.encode_formats(texts, [task_format])[task_format]

    def encode_formats(self, texts, formats, *done):
        self.asked += [(task_format, text) for task_format in formats for text in texts]
        return self.encoder.encode_formats(texts, formats, *done)

    def formats(self):
        """What was asked for since the last call."""
        seen = {task_format for task_format, _ in self.asked}
        self.asked.clear()
        return seen


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("real")


@pytest.fixture(scope="module")
def mteb(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MTEB_CACHE", str(folder / "mteb"))  # it makes the folder when it is imported
        import mteb

        yield mteb


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    def refuse(self, address):
        raise AssertionError(f"connected to {address}")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="module")
def encoder(folder):
    return load(folder, "fp32")


@pytest.fixture
def spy(encoder):
    return Spy(encoder)


def load(folder, precision):
    make_model(folder / "model", codes=True)
    return load_encoder(str(folder / "model"), cache_dir=folder / "cache", precision=precision, threads=1)


def run(mteb, model, task, **options):
    options = {"cache": None, "show_progress_bar": False, "co2_tracker": False} | options
    [result] = mteb.evaluate(model, task, **options).task_results
    return result.scores["test"][0]


def same(theirs, ours):
    assert {name: theirs[key] for name, key in MEASURES.items()} == pytest.approx(ours.means, abs=1e-5)


@pytest.mark.parametrize("drop", [False, True])
def test_an_encoders_figures_are_those_of_exact_retrieval(mteb, spy, encoder, drop):
    theirs = run(mteb, MtebEncoder(spy), retrieval_task(drop=drop))
    asked = [(Format.QRY, text) for text in QUERIES.values()]
    asked += [(Format.PRX, encoder.card.text(paper.title, paper.abstract)) for paper in PAPERS]
    assert spy.asked == asked
    ours = {
        flag: evaluate_exact(
            JudgedQueries(QUERIES, Qrels(GAINS), ()),
            [Text(paper.id, paper.title, paper.abstract) for paper in PAPERS],
            by_encoder(encoder),
            encoder.card.similarity,
            Protocol(measures=tuple(MEASURES), drop_same_id=flag, depth=1000),
        ).scores
        for flag in (False, True)
    }
    same(theirs, ours[drop])
    assert ours[True].means["nDCG@10"] > ours[False].means["nDCG@10"] + 0.01, "the rule must matter here"
    assert ours[True].same_id_dropped == 10


def test_a_searchs_figures_are_those_of_retrieval_through_the_engine(mteb, spy, encoder, tmp_path):
    engine = engine_in(tmp_path)
    texts = {query: text for query, text in QUERIES.items() if text.strip()}
    judged = JudgedQueries(texts, Qrels(GAINS), ("blank",))
    for drop in (False, True):
        for mode in ("lexical", "vector", "hybrid"):
            predictions = tmp_path / f"{mode}-{drop}"
            search = MtebSearch(engine, spy, tmp_path, mode)
            theirs = run(mteb, search, retrieval_task(drop=drop), prediction_folder=predictions)
            # The corpus is encoded once, whatever mode and however often.
            expected = {Format.PRX} if (mode, drop) == ("lexical", False) else set()
            assert spy.formats() == expected | (set() if mode == "lexical" else {Format.QRY})
            [name] = engine.names()
            protocol = Protocol((mode,), measures=tuple(MEASURES), drop_same_id=drop, depth=1000)
            same(theirs, evaluate_queries(judged, engine.open(name), encoder, protocol)[mode].scores)
            [file] = predictions.iterdir()
            found = json.loads(file.read_text())["default"]["test"]
            assert found.pop("blank") == {}
            assert found
            assert all(found.values())


def test_an_instruction_stands_behind_the_query_in_both(mteb, spy, tmp_path):
    for model in (MtebEncoder(spy), MtebSearch(engine_in(tmp_path), spy, tmp_path, "vector")):
        spy.asked.clear()
        run(mteb, model, retrieval_task("InstructionRetrieval", instruction="of mouse cells"))
        queries = {text.strip() for task_format, text in spy.asked if task_format is Format.QRY}
        assert queries == {f"{text} of mouse cells".strip() for text in QUERIES.values()}


def test_a_result_is_not_taken_for_that_of_other_settings(mteb, spy, encoder, folder, tmp_path):
    cache, engine = mteb.ResultCache(tmp_path / "results"), engine_in(tmp_path)
    scores = []
    for weight in (0.01, 100.0, 0.01):
        search = MtebSearch(engine, spy, tmp_path, weights={"prx": weight})
        scores.append(run(mteb, search, retrieval_task(), cache=cache)["ndcg_at_10"])
        assert (Format.QRY in spy.formats()) is (len(scores) < 3), "the third is the first, and kept"
    assert scores[0] == scores[2] != scores[1]
    told = [json.loads(file.read_text()) for file in (tmp_path / "results").rglob("model_meta.json")]
    assert {(meta["name"], meta["revision"]) for meta in told} == {
        ("ses/model-hybrid-minmax", encoder.card.fingerprint)
    }
    assert [meta["model_type"] for meta in told] == [["hybrid"]] * 2
    facts = {"runtime": "Spy", "engine": f"tantivy {version('tantivy')}"}
    kept = sorted((meta["experiment_kwargs"] for meta in told), key=lambda kwargs: kwargs["weights"]["prx"])
    assert kept == [facts | {"weights": {"prx": weight}} for weight in (0.01, 100.0)]
    coarse = load(folder, "int8")
    run(mteb, MtebSearch(engine, coarse, tmp_path, "vector"), retrieval_task())
    assert len(engine.names()) == 2, "vectors of another runtime are not mixed in"
    metas = [MtebEncoder(each).mteb_model_meta for each in (encoder, coarse)]
    assert [meta.name for meta in metas] == ["ses/model"] * 2
    assert [meta.experiment_kwargs for meta in metas] == [{"runtime": "onnx-fp32"}, {"runtime": "onnx-int8"}]


def test_classification_is_by_clf_vectors(mteb, spy, encoder):
    rows = [
        {"text": f"{p.title} {p.abstract}", "label": int("virus" in p.title + p.abstract)} for p in papers(120, seed=5)
    ]
    train, test = rows[:80], rows[80:]
    theirs = run(mteb, MtebEncoder(spy), classification_task(train, test))
    assert spy.formats() == {Format.CLF}
    x_train, x_test = (encoder.encode([row["text"] for row in part], Format.CLF) for part in (train, test))
    fitted = LogisticRegression(max_iter=1000).fit(x_train, [row["label"] for row in train])
    assert theirs["accuracy"] == pytest.approx(fitted.score(x_test, [row["label"] for row in test]))


def test_encoders_rerank_and_engines_say_that_they_do_not(mteb, spy, encoder, tmp_path):
    theirs = run(mteb, MtebEncoder(spy), retrieval_task("Reranking", candidates=CANDIDATES))
    by_id = {paper.id: encoder.card.text(paper.title, paper.abstract) for paper in PAPERS}
    rankings = {}
    for query, candidates in CANDIDATES.items():
        vectors = encoder.encode([by_id[name] for name in candidates], Format.PRX)
        distances = np.linalg.norm(vectors - encoder.encode([QUERIES[query]], Format.QRY), axis=1)
        rankings[query] = list(zip(candidates, (-distances).tolist(), strict=True))
    same(theirs, evaluate(Run("by-hand", rankings), Qrels(GAINS), tuple(MEASURES)))
    spy.asked.clear()
    search = MtebSearch(engine_in(tmp_path), spy, tmp_path)
    with pytest.raises(InputError, match="can't rerank"):
        run(mteb, search, retrieval_task("Reranking", candidates=CANDIDATES))
    assert not spy.asked, "said before an hour of encoding"
    with pytest.raises(InputError, match="can't rerank"):  # as after `convert_to_reranking`
        run(mteb, search, retrieval_task(candidates=CANDIDATES))


def test_another_precision_is_refused(mteb, encoder, tmp_path):
    for model in (MtebEncoder(encoder), MtebSearch(engine_in(tmp_path), encoder, tmp_path)):
        with pytest.raises(InputError, match="leave it out of encode_kwargs"):
            run(mteb, model, retrieval_task(), encode_kwargs={"precision": "int8"})
