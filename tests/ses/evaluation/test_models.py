"""`ses eval models` and `ses.compare_models`: what is compared, and which model is advised."""

from __future__ import annotations

import json
import random
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest

import ses as library
from corpora.checksums import sha256_of
from encoders.registry import find_model
from eval.outcome import outcome_of
from eval.reports.results import Results
from eval.retrieval.beir import BeirFolder
from ses.evaluation.collection import PSEUDO_SPLIT, beir_collection, pseudo_collection
from ses.evaluation.models import ModelComparison, ModelCost, _names, compare_on, seconds_of
from ses.evaluation.result import Evaluation
from ses.settings import load_settings
from tests.beir_folders import write_beir
from tests.commands import fails, ses
from tests.tiny import WORDS, make_model

FIRST = ("We studied", "Here we measure", "Little is known about")


def sentence(draw, start, words=14):
    return f"{start} {' '.join(draw.choices(WORDS, k=words))}."


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Two models, and a BEIR folder of 40 papers with abstracts of four sentences; ten titles are judged queries."""
    folder, draw = tmp_path_factory.mktemp("home"), random.Random(1)
    make_model(folder / "first")
    make_model(folder / "second", seed=4, width=32)
    rows = []
    for number in range(40):
        parts = [sentence(draw, draw.choice(FIRST)) for _ in range(3)]
        conclusion = sentence(draw, f"We conclude {number} that")
        title = f"{' '.join(draw.choices(WORDS, k=5))} {draw.choice(WORDS)}"
        rows.append({"_id": f"p{number}", "title": title, "text": " ".join([*parts, conclusion])})
    rows.append({"_id": "short", "title": "virus", "text": "Lung."})
    queries = {f"q{number}": rows[number]["title"] for number in range(10)}
    write_beir(folder / "mine", rows, queries, test={f"q{number}": {f"p{number}": 1} for number in range(10)})
    return folder


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def settings(tmp_path):
    return replace(load_settings(), data_dir=tmp_path / "data")


@pytest.mark.slow
def test_models_are_compared_on_judged_queries(home, tmp_path):
    asked = ("--data", home / "mine", "--model", home / "first", "--models", f"{home / 'second'}")
    done = ses(tmp_path, "eval", "models", *asked, "--report", tmp_path / "report.json", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    first, second = str(home / "first"), str(home / "second")
    assert [row["model"] for row in told["rows"]] == [first, second]
    assert list(told["rows"][0]["measures"]) == ["vector nDCG@10", "hybrid nDCG@10"]
    assert told["costs"][first]["dimension"] == 64
    assert told["costs"][first]["parameters"] > told["costs"][second]["parameters"] > 0
    assert told["costs"][first]["milliseconds"] > 0
    assert {(pair["baseline"], pair["run"]) for pair in told["pairs"]} == {(first, second)}
    assert told["best"] in (first, second)
    assert told["baseline"] == first
    assert (told["data"], told["split"]) == (str(home / "mine"), "test")
    made = json.loads((tmp_path / "report.json").read_text())["provenance"]
    assert made["models"] == {name: find_model(name).card.fingerprint for name in (first, second)}
    files = ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv")
    assert made["data"] == {str(home / "mine" / name): sha256_of(home / "mine" / name) for name in files}
    assert made["settings"] == {"data": str(home / "mine"), "split": "test"}
    # The same figures as the evaluation of one model.
    alone = ses(tmp_path, "eval", "retrieval", "--data", home / "mine", "--model", home / "second", "--json")
    by_mode = {row["mode"]: row["measures"]["nDCG@10"] for row in json.loads(alone.stdout)["rows"]}
    assert told["rows"][1]["measures"]["hybrid nDCG@10"] == by_mode["hybrid"]
    assert told["rows"][1]["measures"]["vector nDCG@10"] == by_mode["vector"]


@pytest.mark.slow
def test_the_python_function_prints_the_same(home, tmp_path, monkeypatch):
    monkeypatch.setenv("SES_DATA_DIR", str(tmp_path))
    found = library.compare_models(home / "mine", [str(home / "second")], model=str(home / "first"))
    lines = str(found).splitlines()
    assert lines[0].split()[-5:] == ["ms", "a", "paper", "parameters", "numbers"]
    assert lines[-1] == found.advice
    assert found.baseline == str(home / "first")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pseudo", "titles"])
def test_queries_are_made_of_papers(kind, home, tmp_path):
    own = tmp_path / "papers"
    own.mkdir()
    (own / "corpus.jsonl").write_bytes((home / "mine" / "corpus.jsonl").read_bytes())
    asked = ("--data", own, "--queries", kind, "--model", home / "first", "--models", home / "second")
    done = ses(tmp_path, "eval", "models", *asked, "--most-queries", "12")
    assert done.returncode == 0, done.stderr
    assert "hybrid nDCG@10" in done.stdout
    assert "12 queries" in done.stdout
    assert done.stdout.splitlines()[-1].startswith(("Take ", "None is better than "))


def test_a_paper_holds_no_copy_of_its_query(home, settings):
    before = {row["_id"]: row for row in rows_of(home / "mine" / "corpus.jsonl")}
    made = pseudo_collection("beir", [home / "mine"], "pseudo", settings, queries=30)
    folder = BeirFolder(made.paths[0])
    after = {row["_id"]: row for row in rows_of(made.paths[0] / "corpus.jsonl")}
    assert len(made.judged.texts) == 30
    for query, text in folder.judged(PSEUDO_SPLIT).texts.items():
        (paper,) = made.judged.qrels.gains[query]
        assert before[paper]["text"].endswith(text)
        assert after[paper] == {**before[paper], "text": before[paper]["text"].removesuffix(text).rstrip()}
    # Papers that are not asked about lack the same part.
    assert all("We conclude" not in row["text"] for row in after.values())
    assert after["short"] == before["short"]


def test_titles_are_taken_out_of_all_papers(home, settings):
    made = pseudo_collection("beir", [home / "mine"], "titles", settings, queries=30)
    rows = {row["_id"]: row for row in rows_of(made.paths[0] / "corpus.jsonl")}
    assert {row["title"] for row in rows.values()} == {""}
    before = {row["_id"]: row["title"] for row in rows_of(home / "mine" / "corpus.jsonl")}
    assert all(text == before[query.removeprefix("q-")] for query, text in made.judged.texts.items())


def test_draws_depend_on_the_seed_alone(home, settings):
    def drawn(**options):
        made = pseudo_collection("beir", [home / "mine"], "pseudo", settings, queries=5, **options)
        assert made.judged.qrels.documents <= {row["_id"] for row in rows_of(made.paths[0] / "corpus.jsonl")}
        return set(made.judged.texts), made.paths[0], len(rows_of(made.paths[0] / "corpus.jsonl"))

    assert drawn() == drawn()
    assert drawn(seed=1)[0] != drawn()[0]
    few = drawn(papers=8)
    assert (few[0], few[2]) == (drawn()[0], 8)
    assert few[1] != drawn()[1]


def test_papers_without_queries_are_refused(tmp_path, settings):
    (tmp_path / "corpus.jsonl").write_text('{"_id": "a", "title": "virus", "text": "Lung."}\n')
    with pytest.raises(library.InputError, match="Only 0 of 1 papers give a query of their conclusions; give papers"):
        pseudo_collection("beir", [tmp_path], "pseudo", settings)


@pytest.mark.slow
def test_what_does_not_go_together_is_refused(home, tmp_path):
    pseudo = ("eval", "models", "--queries", "pseudo")
    fails(ses(tmp_path, *pseudo), 2, "Say of which papers to make queries")
    fails(ses(tmp_path, *pseudo, "--data", home / "mine", "--corpus", "jsonl"), 2, "either --data DIR, or --corpus")
    fails(ses(tmp_path, *pseudo, "--data", home / "none"), 2, "There is no file or folder")
    fails(ses(tmp_path, *pseudo, "--data", home / "mine", "--rounds", "1-2"), 2, "need no --topics, --qrels")
    asked = ("eval", "models", "--data", home / "mine", "--models", "no-such-model")
    fails(ses(tmp_path, *asked), 2, "There is no model 'no-such-model'")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ses-minilm", "all-MiniLM-L6-v2"])
def test_without_another_model_here_some_must_be_named(name, home, tmp_path, monkeypatch):
    monkeypatch.setattr("encoders.registry.is_here", {"ses-minilm", "all-MiniLM-L6-v2"}.__contains__)
    asked = ("eval", "models", "--data", home / "mine", "--model", name)
    fails(ses(tmp_path, *asked), 2, f"There is no model here to compare with {name}")


def test_a_model_of_two_names_is_compared_once(home, settings, monkeypatch):
    monkeypatch.setattr("encoders.registry.is_here", {"ses-minilm", "all-MiniLM-L6-v2"}.__contains__)
    own = str(home / "first")
    assert _names([], replace(settings, model=own)) == [own, "all-MiniLM-L6-v2"]


def comparison(values, milliseconds):
    """A comparison of models whose hybrid values are given, by name; the first is the baseline."""
    queries = {name: {f"q{n}": value for n, value in enumerate(of)} for name, of in values.items()}
    outcomes = {name: outcome_of({"hybrid nDCG@10": of}, {}) for name, of in queries.items()}
    costs = {name: ModelCost(time, 1, 1) for name, time in zip(values, milliseconds, strict=True)}
    return ModelComparison(Evaluation(Results("model", outcomes), {}), costs, next(iter(values)), "hybrid nDCG@10")


BASE = [0.1, 0.5, 0.3, 0.6] * 20
NOISE = [0.02, -0.01, 0.01, -0.02] * 20


def plus(by, noise=NOISE):
    return [value + by + one for value, one in zip(BASE, noise, strict=True)]


@pytest.mark.parametrize(
    ("values", "milliseconds", "best"),
    [
        ({"base": BASE, "same": plus(0)}, (1, 1), "base"),
        ({"base": BASE, "worse": plus(-0.05)}, (1, 1), "base"),
        ({"base": BASE, "better": plus(0.1)}, (1, 9), "better"),
        # Of two that are alike, the faster; a better one is taken though it is slower.
        ({"base": BASE, "slow": plus(0.1), "fast": plus(0.1, NOISE[::-1])}, (1, 9, 2), "fast"),
        ({"base": BASE, "fast": plus(0.05), "slow": plus(0.2)}, (1, 2, 9), "slow"),
        ({"base": BASE, "slow": plus(0.2), "fast": plus(0.05)}, (4, 9, 2), "slow"),
    ],
)
def test_the_model_to_take(values, milliseconds, best):
    found = comparison(values, milliseconds)
    assert found.best == best
    if best == "base":
        assert found.advice == "None is better than base beyond doubt on these 80 queries: keep it."
    else:
        assert found.advice.startswith(f"Take {best}: its hybrid nDCG@10 is +0.")
        time = milliseconds[list(values).index(best)] / milliseconds[0]
        assert found.advice.endswith(f"against base, and a paper takes {time:.1f} times as long.")
    assert found.to_dict()["best"] == best


def test_costs_stand_beside_the_measures_and_in_the_plot_of_a_report(tmp_path):
    found = comparison({"base": BASE, "better": plus(0.1)}, (2, 3.25))
    found.costs.update(base=ModelCost(2, 22_600_000, 384), better=ModelCost(3.25, 0, 1024))
    first, second, third, *notes = str(found).partition("\n\n")[0].splitlines()
    assert first.endswith("ms a paper  parameters  numbers")
    assert (second.split()[-4:], third.split()[-3:]) == (["2.0", "23", "M", "384"], ["3.2", "?", "1,024"])
    assert notes == [
        "[low, high]: 95% confidence interval over queries",
        "ms a paper: to encode it on this machine, in batches, without a cache",
    ]
    assert str(found).endswith(f"\n\n{found.advice}")
    assert repr(found) == str(found)
    found.write_report(tmp_path / "r.json")
    told = json.loads((tmp_path / "r.json").read_text())
    assert (told["title"], told["seconds"]) == ("Models", {"base": 0.002, "better": 0.00325})
    told = found.to_dict()
    assert told["costs"]["better"] == {"milliseconds": 3.25, "parameters": 0, "dimension": 1024}
    assert [(pair["baseline"], pair["run"]) for pair in told["pairs"]] == [("base", "better")]


def test_a_model_is_compared_once_though_it_is_named_twice(home, settings):
    own, other = str(home / "first"), str(home / "second")
    assert _names([other, own, other], replace(settings, model=own)) == [own, other]


@pytest.mark.slow
def test_what_was_judged_before_is_left_out_and_each_index_is_told_of(home, settings, monkeypatch):
    monkeypatch.setattr("ses.evaluation.models.seconds_of", lambda encoder, texts: len(texts) / 100)
    judged = beir_collection(str(home / "mine"), "test", settings)
    best = {query: frozenset(judged.judged.qrels.gains[query]) for query in judged.judged.texts}
    stages = []
    progress = SimpleNamespace(stage=lambda *given: stages.append(given), advance=lambda *_, **__: None)
    names, own = [str(home / "second")], replace(settings, model=str(home / "first"))
    found = compare_on(replace(judged, seen=best), names, own, "RR@10", progress)
    assert stages.count(("indexing", 41)) == 2
    assert [cost.milliseconds for cost in found.costs.values()] == pytest.approx([10, 10])
    assert found.evaluation.mean("hybrid RR@10", names[0]) == 0
    assert set(found.evaluation.runs) == {own.model, *names}
    assert found.evaluation.left_out["judged_documents_absent"] == 0
    assert found.evaluation.results.outcomes[own.model].counts["queries"] == 10


def test_48_papers_are_timed_after_a_few_that_are_not():
    asked = []
    seconds_of(SimpleNamespace(encode=asked.append), [f"t{n}" for n in range(20)])
    assert asked == [[f"t{n}" for n in range(8)], [f"t{n}" for n in range(20)]]


def test_no_query_is_asked_twice_and_two_are_the_fewest(tmp_path, settings):
    def made_of(*conclusions):
        rows = [
            {
                "_id": f"p{n}",
                "title": "virus",
                "text": " ".join([*(sentence(random.Random(n), one) for one in FIRST), conclusion]),
            }
            for n, conclusion in enumerate(conclusions)
        ]
        (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        made = pseudo_collection("beir", [tmp_path], "pseudo", settings)
        return len(made.judged.texts), len(rows_of(made.paths[0] / "corpus.jsonl"))

    one, other = (sentence(random.Random(n), "We conclude that") for n in (1, 2))
    with pytest.raises(library.InputError, match="Only 1 of 2 papers give a query"):
        made_of(one, one)
    assert made_of(one, one, other) == (2, 3)


def test_the_python_function_takes_split_measure_and_queries(home, tmp_path, monkeypatch):
    monkeypatch.setenv("SES_DATA_DIR", str(tmp_path))
    monkeypatch.setattr("ses.evaluation.models.compare_on", lambda *given: given)
    beir = shutil.copytree(home / "mine", tmp_path / "mine")
    (beir / "qrels" / "test.tsv").rename(beir / "qrels" / "dev.tsv")
    options = {"split": "dev", "measure": "RR", "model": "b"}
    collection, models, settings, measure = library.compare_models(beir, ("a",), queries="judged", **options)
    assert (collection.facts, len(collection.judged.texts)) == ({"data": str(beir), "split": "dev"}, 10)
    assert (models, settings.model, measure) == (("a",), "b", "RR")
    rows = [
        {"id": row["_id"], "title": row["title"], "abstract": row["text"]} for row in rows_of(beir / "corpus.jsonl")
    ]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    collection, *_, measure = library.compare_models(tmp_path / "own.jsonl", queries="titles", corpus="jsonl")
    assert (collection.facts["split"], len(collection.judged.texts), measure) == (PSEUDO_SPLIT, 40, "nDCG@10")
    with pytest.raises(library.InputError, match="queries can't be 'made'"):
        library.compare_models(beir, queries="made")
