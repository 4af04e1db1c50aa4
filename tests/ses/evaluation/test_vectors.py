"""Where a protocol's vectors come from, and what is told of them with the results."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from corpora.checksums import sha256_of
from corpora.errors import InputError
from encoders.models.formats import Format
from encoders.registry import find_model
from eval.embedder import Text, by_encoder
from eval.outcome import Outcome
from eval.reports.results import Results
from eval.statistics.interval import Interval
from ses.evaluation.vectors import VectorResults, VectorSource, model_source, own_formats, vector_source
from ses.models import loaded_model
from ses.settings import Settings
from tests.eval.vectors_by_hand import write_vectors
from tests.tiny import make_model

TEXTS = [Text("a", "virus"), Text("b", "lung", "cell")]


@pytest.fixture
def settings(tmp_path):
    model = make_model(tmp_path / "model")
    return Settings(data_dir=tmp_path / "data", cache_dir=tmp_path / "cache", model=str(model))


@pytest.fixture
def files(tmp_path):
    """Two files of vectors, one of which has `=` in its name."""
    return [
        write_vectors(tmp_path / name, {"a": [1, at], "b": [2, at]}) for at, name in enumerate(("x.jsonl", "y=z.jsonl"))
    ]


def rows(source, task_format):
    return source.embed(TEXTS, task_format).of(["a", "b"]).tolist()


def test_files_give_all_vectors_or_those_of_a_format_and_a_model_the_rest(files, settings, monkeypatch):
    first, second = files
    of_first, of_second = [[1, 0], [2, 0]], [[1, 1], [2, 1]]
    loaded, make = [], loaded_model.make_encoder
    monkeypatch.setattr(loaded_model, "make_encoder", lambda *given: loaded.append(1) or make(*given))
    alone = vector_source([str(second)], settings)
    assert (rows(alone, Format.PRX), rows(alone, Format.CLF)) == (of_second, of_second)
    assert (alone.name, alone.card, alone.similarity, alone.runtime()) == (str(second), None, None, "")
    assert alone.facts == {"embeddings": {"all": str(second)}}
    both = vector_source([f"clf={second}", str(first)], settings)
    assert (rows(both, Format.PRX), rows(both, Format.CLF)) == (of_first, of_second)
    assert (both.facts, both.name) == (
        {"embeddings": {"clf": str(second), "all": str(first)}}, f"{second}, {first}"
    )  # fmt: skip
    mixed = vector_source([f"clf={second}"], settings, model_named=True)
    card = find_model(settings.model).card
    assert rows(mixed, Format.CLF) == of_second
    assert loaded == []
    own = by_encoder(make(settings, find_model(settings.model)))(TEXTS, Format.PRX).of(["a", "b"])
    assert rows(mixed, Format.PRX) == own.tolist()
    assert mixed.runtime()
    assert loaded == [1]
    assert (mixed.name, mixed.similarity) == (card.name, card.similarity)
    facts = {"embeddings": {"clf": str(second)}, "model": card.name, "fingerprint": card.fingerprint}
    assert mixed.facts == facts
    assert vector_source([], settings).facts == {**facts, "embeddings": {}}


def test_files_that_do_not_go_together_are_told(files, settings):
    first, second = map(str, files)
    for given, named, told in (
        ([first], True, "With --embeddings FILE for all formats no model is needed: leave --model out"),
        ([first, second], False, "--embeddings names two files for all formats; keep one"),
        ([f"clf={first}", f"clf={second}"], False, "--embeddings names two files for clf; keep one"),
        ([f"abc={first}"], False, "There is no format 'abc' and no file abc=.*; --embeddings takes FILE, or clf="),
    ):
        with pytest.raises(InputError, match=told):
            vector_source(given, settings, model_named=named)


def test_the_runtime_is_that_of_the_model_or_of_the_settings(settings, monkeypatch):
    source = model_source(find_model(settings.model), settings)
    assert source.runtime() == loaded_model.make_encoder(settings, find_model(settings.model)).runtime
    monkeypatch.setattr(loaded_model, "make_encoder", lambda *_: SimpleNamespace())
    for runtime in ("onnx", ""):
        other = model_source(find_model(settings.model), replace(settings, runtime=runtime))
        assert other.runtime() == runtime


def test_formats_of_their_own_are_those_whose_vectors_differ(settings, tmp_path):
    plain = model_source(find_model(settings.model), settings)
    with pytest.raises(InputError, match="has the same vectors for all formats, so there is nothing to compare"):
        own_formats(plain)
    assert own_formats(replace(plain, files={"rgn": tmp_path})) == (Format.PRX, Format.RGN)
    assert own_formats(replace(plain, files={"clf": tmp_path}, card=None)) == (Format.PRX, Format.CLF)
    folder = make_model(tmp_path / "codes")
    (folder / "ses_card.json").write_text(json.dumps({"prompts": {"prx": "a: ", "clf": "b: ", "rgn": "c: "}}))
    codes = model_source(find_model(str(folder)), settings)
    assert own_formats(codes) == (Format.PRX, Format.CLF, Format.RGN)


def measured(sources, **about):
    outcome = Outcome({"AP": Interval(0.1, 0.5, 0.9)}, {"AP": {"q1": 0.25, "q2": 0.75}}, {"queries": 2})
    return VectorResults(Results("task", {"one": outcome}), sources, about)


def test_facts_stand_with_the_results(files, settings):
    model, file = model_source(find_model(settings.model), settings), vector_source([str(files[0])], settings)
    factors = {"topic": {"format": "clf", "model": "m"}, "citation": {"file": "f"}}
    found = measured([model], data=files[1], factors=factors, seed=3)
    assert found.facts == {"data": str(files[1]), "factors": factors, "seed": 3, **model.facts}
    assert found.factors == {"topic": "format clf, model m", "citation": "file f"}
    told = found.to_dict()
    assert (told["seed"], told["rows"][0]["task"]) == (3, "one")
    assert told["per_unit"] == {"one": {"AP": {"q1": 0.25, "q2": 0.75}}}
    several = measured([model, file])
    assert (several.facts, several.factors) == ({"vectors": [model.name, str(files[0])]}, {})


def test_a_report_names_data_models_and_settings(files, settings, tmp_path):
    model, file = model_source(find_model(settings.model), settings), vector_source([str(files[0])], settings)
    about = {"data": files[1], "factors": {"topic": {"file": "f"}}, "seed": 3, "empty": ""}
    measured([file, model, file], **about).write_report(tmp_path / "r.json", "Tasks")
    report = json.loads((tmp_path / "r.json").read_text())
    made = report["provenance"]
    assert report["title"] == f"Tasks on {files[1].name}"
    assert made["data"] == {str(path): sha256_of(path) for path in files}
    assert made["models"] == {model.name: model.card.fingerprint}
    assert made["runtime"] == model.runtime()
    assert made["settings"] == {"seed": "3", "factor topic": "file f"}
    measured([file]).write_report(tmp_path / "r.json", "Tasks")
    assert json.loads((tmp_path / "r.json").read_text())["title"] == "Tasks on the hub"


def test_a_source_of_ones_own_has_no_runtime():
    source = VectorSource(lambda texts, _: np.zeros((len(texts), 2)), {})
    assert (source.runtime(), source.name, source.facts) == ("", "", {"embeddings": {}})
