"""Commands that measure the vectors of one source: what they read, and what their options choose."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from eval.outcome import Outcome
from ses.terminal.commands.eval import eval_


class Asked(list):
    """Notes the arguments of calls, and returns the same for each."""

    def __init__(self, returned):
        self.returned = returned

    def __call__(self, *given, **named):
        self.append((given, named))
        return self.returned


@pytest.fixture
def run(tmp_path):
    """A function that runs a command on a folder `data`, with vectors of a file, and returns what it tells."""
    (tmp_path / "v.jsonl").write_text('{"paper_id": "a", "embedding": [1, 0]}\n')
    (tmp_path / "data").mkdir(exist_ok=True)

    def told(command, *options, code=0):
        given = [command, "--data", str(tmp_path / "data"), "--embeddings", str(tmp_path / "v.jsonl"), *options]
        done = CliRunner().invoke(eval_, given, catch_exceptions=code != 0)
        if code:
            return done
        assert done.exit_code == 0, done.output
        return done.output

    return told


OUTCOME = Outcome({"F1": 0.25}, {}, {"papers": 3})


def rows(told, heading):
    return {row[heading]: row["measures"] for row in json.loads(told)["rows"]}


def test_authors_by_a_folder_or_a_file_and_a_method(run, tmp_path, monkeypatch):
    evaluated, folder, file = Asked(OUTCOME), Asked({"qian": "signatures"}), Asked("named")
    monkeypatch.setattr("ses.terminal.commands.eval.protocols.evaluate_authors", evaluated)
    monkeypatch.setattr("ses.terminal.commands.eval.protocols.read_s2and", folder)
    monkeypatch.setattr("ses.terminal.commands.eval.protocols.read_named_papers", file)
    told = run("authors", "--json")
    assert (json.loads(told)["method"], rows(told, "set")) == ("agglomerative", {"qian": {"F1": {"mean": 0.25}}})
    assert json.loads(run("authors", "--method", "seeds", "--json"))["method"] == "seeds"
    assert [(given[0], given[2]) for given, _ in evaluated] == [
        ("signatures", "agglomerative"),
        ("signatures", "seeds"),
    ]
    (tmp_path / "data").rmdir()
    (tmp_path / "data").write_text("")
    assert rows(run("authors", "--json"), "set") == {"data": {"F1": {"mean": 0.25}}}
    run("authors", "--blocks", "7")
    assert (len(folder), file) == (2, [((tmp_path / "data",), {"blocks": 50}), ((tmp_path / "data",), {"blocks": 7})])
    assert run("authors", "--blocks", "1", code=2).exit_code == 2


def test_labelled_papers_are_read_and_measured_as_the_options_say(run, tmp_path, monkeypatch):
    read, evaluated = Asked("papers"), Asked({"probe": OUTCOME, "pairs": OUTCOME})
    monkeypatch.setattr("eval.files.labelled.read_labelled", read)
    monkeypatch.setattr("eval.miread.evaluate_miread", evaluated)
    told = run("miread", "--json")
    assert (json.loads(told)["label"], list(rows(told, "part"))) == ("label", ["probe", "pairs"])
    options = ("--label", "venue", "--split", "part", "--fewest", "2", "--clusters", "5", "--clusters", "9")
    run("miread", *options, "--seeds", "4", "--by-field")
    place = (tmp_path / "data",)
    assert read == [
        (place, {"label": "label", "split": "split", "fewest": 8}),
        (place, {"label": "venue", "split": "part", "fewest": 2}),
    ]
    assert [(given[0], named) for given, named in evaluated] == [
        ("papers", {"clusters": (), "seeds": 3, "by_field": False}),
        ("papers", {"clusters": (5, 9), "seeds": 4, "by_field": True}),
    ]
    for wrong in (("--seeds", "0"), ("--seeds", "1001"), ("--clusters", "0"), ("--fewest", "0")):
        assert run("miread", *wrong, code=2).exit_code == 2


def test_tasks_and_split_of_scidocs(run, tmp_path, monkeypatch):
    folder, evaluated = Asked("folder"), Asked({"mag": OUTCOME})
    monkeypatch.setattr("eval.scidocs.SciDocs", folder)
    monkeypatch.setattr("eval.scidocs.evaluate_scidocs", evaluated)
    told = run("scidocs", "--json")
    assert (json.loads(told)["split"], list(rows(told, "task"))) == ("test", ["mag"])
    run("scidocs", "--task", "mag", "--task", "cite", "--split", "val")
    assert [(given[0], named) for given, named in evaluated] == [
        ("folder", {"tasks": (), "split": "test"}),
        ("folder", {"tasks": ("mag", "cite"), "split": "val"}),
    ]
    assert folder == [((tmp_path / "data",), {})] * 2


@pytest.fixture
def scimult(monkeypatch):
    """SciMult's functions: what they are asked, with sets of two names."""
    parts = {"": OUTCOME, "strict": OUTCOME}
    asked = SimpleNamespace(classification=Asked(parts), links=Asked(parts), searches=Asked(OUTCOME), read=Asked("set"))
    monkeypatch.setattr("eval.scimult.find_sets", lambda data: ["Art", "Biology"])
    for kind in ("classification", "links", "searches"):
        monkeypatch.setattr(f"eval.scimult.read_{kind}", asked.read)
        monkeypatch.setattr(f"eval.scimult.evaluate_{kind}", getattr(asked, kind))
    return asked


def test_sets_of_scimult_by_task_and_similarity(run, scimult, tmp_path):
    told = run("scimult", "--task", "links", "--json")
    assert list(rows(told, "set")) == ["Art", "Art strict", "Biology", "Biology strict"]
    assert (json.loads(told)["task"], json.loads(told)["similarity"]) == ("links", "dot")
    assert list(rows(run("scimult", "--task", "search", "--set", "Biology", "--json"), "set")) == ["Biology"]
    run("scimult", "--task", "classification", "--set", "Art", "--similarity", "l2")
    labels = ("--label-embeddings", str(tmp_path / "v.jsonl"))
    run("scimult", "--task", "classification", "--set", "Art", *labels)
    assert [given for given, _ in scimult.read] == [
        (tmp_path / "data", n) for n in ("Art", "Biology", "Biology", "Art", "Art")
    ]
    assert [len(getattr(scimult, kind)) for kind in ("links", "searches", "classification")] == [2, 1, 2]
    assert [named["similarity"] for _, named in scimult.classification] == ["l2", "dot"]
    without, given = (named["embed_labels"] for _, named in scimult.classification)
    assert without is None
    assert callable(given)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--task", "links", "--set", "Art", "--set", "Law"), "has no set 'Law'; it has: Art, Biology."),
        (
            ("--task", "links", "--label-embeddings", "v"),
            "--label-embeddings is for --task classification: leave it out.",
        ),
    ],
)
def test_what_scimult_does_not_have_is_told(run, scimult, options, told):
    assert told in str(run("scimult", *options, code=2).exception)


def test_reviews_are_screened_with_seeds_that_are_drawn(run, tmp_path, monkeypatch):
    read, evaluated = Asked("reviews"), Asked({"mean": OUTCOME})
    monkeypatch.setattr("eval.screening.read_reviews", read)
    monkeypatch.setattr("eval.screening.evaluate_screening", evaluated)
    assert list(rows(run("screening", "--json"), "likeness")) == ["mean"]
    told = json.loads(run("screening", "--json"))
    assert (told["data"], told["embeddings"]) == (str(tmp_path / "data"), {"all": str(tmp_path / "v.jsonl")})
    run("screening", "--seeds", "2", "--draws", "3", "--random-seed", "4")
    assert read == [((tmp_path / "data",), {})] * 3
    assert [(given[0], named) for given, named in evaluated[1:]] == [
        ("reviews", {"seeds": 1, "draws": 10, "random_seed": 0}),
        ("reviews", {"seeds": 2, "draws": 3, "random_seed": 4}),
    ]


def test_data_that_can_not_be_read_are_told_before_vectors_are(run, monkeypatch):
    def broken(path):
        raise ValueError("the data")

    monkeypatch.setattr("eval.screening.read_reviews", broken)
    monkeypatch.setattr("ses.evaluation.vectors.vector_source", lambda *_, **__: pytest.fail("opened"))
    assert str(run("screening", code=1).exception) == "the data"
