"""Suites: what is run, what is taken from the cache, and what the table tells."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import replace
from operator import attrgetter

import numpy as np
import pytest

from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.formats import Format
from eval.embedder import Vectors, by_encoder
from eval.outcome import Outcome
from eval.statistics.interval import Interval
from eval.suites.base import WORDS, Bench, Entry, run_suite
from eval.suites.kinds import labels
from eval.suites.manifest import OFFLINE, get_suite, read_manifest
from eval.suites.samples import read_citations, read_numbered
from eval.suites.smoke import made_up_papers
from eval.suites.words import OkapiBm25
from tests.commands import fails, ses
from tests.tiny import make_model


@pytest.fixture
def bench(tmp_path):
    encoder = load_encoder(str(make_model(tmp_path / "model")), cache_dir=tmp_path / "cache", precision="fp32")
    return Bench(tmp_path, encoder, by_encoder(encoder), tmp_path / "work")


def test_entries_are_run_once_for_each_system_and_state_of_the_data(bench, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "papers").write_text("one")
    ran = []

    def by(system):
        return lambda given: ran.append(system) or Outcome({"m": Interval(0.1, 0.2, 0.3)}, {"m": {"q": 0.2}}, {"n": 1})

    both = Entry("both", "m", ("data",), by("vectors"), by("words"))
    only = Entry("only", "m", ("data/papers",), by("vectors"))

    def run(system):
        return list(run_suite([both, only], bench, system, tmp_path / "found"))

    first, again = run("model a"), run("model a")
    assert [one.cached for one in (*first, *again)] == [False, False, True, True]
    assert [one.outcome for one in first] == [one.outcome for one in again]
    assert [one.entry.name for one in run(WORDS)] == ["both"]
    assert ran == ["vectors", "vectors", "words"]
    run("model b")
    (tmp_path / "data" / "papers").write_text("two")
    run("model a")
    assert len(ran) == 7
    for file in (tmp_path / "found").iterdir():
        file.write_text("{}")
    run("model a")
    assert len(ran) == 9
    with pytest.raises(InputError, match=r"needs .*nowhere, which is not there"):
        list(run_suite([both, Entry("absent", "m", ("nowhere",), by("vectors"))], bench, "model c", tmp_path / "found"))
    assert len(ran) == 9, "that data is missing is said before anything is run"


SMOKE = {
    "Made-up queries, retrieval": (0.160, 0.996),
    "Made-up queries, hybrid retrieval": (0.901, None),
    "Made-up citations among 13 candidates": (0.368, None),
    "Made-up reviews, screening": (0.038, None),
    "Made-up topics, probe": (0.302, None),
}
"""What the tiny model, whose weights are random, and BM25 come to; a guess would have 0.25 in the last."""


@pytest.mark.parametrize("entry", get_suite("smoke"), ids=attrgetter("name"))
def test_the_smoke_suite_runs_with_any_model(entry, bench):
    for run, value in zip((entry.by_vectors, entry.by_words), SMOKE[entry.name], strict=True):
        assert (run is None) == (value is None)
        if run:
            cell = run(bench).cells[entry.measure]
            assert cell.mean == pytest.approx(value, abs=0.03)
            assert cell.low < cell.mean < cell.high


def few(path):
    """The suite offline of fewer papers, which is quicker."""
    lines = OFFLINE.read_text().splitlines()
    drawn = [one + "\nmost = 300" if one in ('kind = "labels"', 'kind = "regression"') else one for one in lines]
    path.write_text("\n".join(drawn))
    return get_suite("offline", path)


def by_titles(texts, task_format):
    """Embed titles by their words, which is quicker than any model."""
    words = {}
    matrix = np.zeros((len(texts), 64), np.float32)
    for row, text in zip(matrix, texts, strict=True):
        for word in text.title.lower().split():
            if word not in words:
                words[word] = np.random.default_rng(len(words)).standard_normal(64).astype(np.float32)
            row += words[word]
    return Vectors({text.id: row for row, text in enumerate(texts)}, matrix)


@pytest.mark.parametrize(
    "number", [number for number, one in enumerate(get_suite("offline")) if "retrieval" not in one.name]
)
def test_the_offline_suite_runs_on_its_data(number, bench, data_dir, tmp_path):
    entry = few(tmp_path / "few.toml")[number]
    found = entry.by_vectors(replace(bench, data=data_dir, embed=by_titles))
    cell = found.cells[entry.measure]
    value = getattr(cell, "mean", cell)
    assert abs(value) < 1
    assert value != 0, "what finds nothing comes to exactly 0"
    assert min(found.counts.get(name, 99) for name in ("papers", "queries", "reviews", "test")) >= 19


def test_of_many_labelled_papers_some_are_drawn_and_the_rest_counted(bench):
    rows = [{"id": f"p{row}", "title": f"virus {row}", "journal": "abc"[row % 3]} for row in range(90)]
    rows += [{"id": "rare", "title": "lung", "journal": "d"}]
    (bench.data / "papers").write_text("".join(json.dumps(row) + "\n" for row in rows))
    probe, clusters = labels("Papers", "papers", label="journal", fewest=2, most=60)
    told = probe.by_vectors(bench).counts
    assert (told["papers"], told["classes"]) == (60, 3)
    found = clusters.by_vectors(bench)
    assert 0 <= getattr(found.cells["NMI"], "mean", found.cells["NMI"]) <= 1
    assert found.counts["classes"] == 3


def test_made_up_papers_are_the_same_everywhere_and_cite_their_own_topic():
    papers = made_up_papers()
    assert papers == made_up_papers()
    topics = {paper.id: paper.topic for paper in papers}
    assert len(topics) == 120
    assert all(topics[other] == paper.topic for paper in papers for other in paper.references)


def test_words_are_bm25s():
    texts = ["viruses spread", "the virus and the lung", "ocean"]
    scores = OkapiBm25(texts).scores("virus virus")
    # Okapi: idf of a word in two of three texts is below 0 and is set to a fourth of the mean idf.
    idf = {"virus": math.log(1.5) - math.log(2.5), "other": math.log(2.5) - math.log(1.5)}
    idf["virus"] = 0.25 * (idf["virus"] + 5 * idf["other"]) / 6
    mean = (2 + 5 + 1) / 3
    expected = [idf["virus"] * 2.5 / (1 + 1.5 * (0.25 + 0.75 * length / mean)) for length in (2, 5)]
    np.testing.assert_allclose(scores, [*expected, 0])


def test_samples_are_drawn_from_real_papers_and_no_answer_is_among_the_others(data_dir):
    reviews = ["Meijboom_2021", "Nelson_2002", "van_der_Valk_2021"]
    papers, qrels = read_citations(data_dir / "train" / "synergy.jsonl.xz", reviews=reviews, queries=20)
    assert len(qrels.gains) == 20
    for query, judged in qrels.gains.items():
        assert (sum(judged.values()), len(judged), query in judged) == (5, 30, False)
        assert {query, *judged} <= papers.keys()
    for name, log, low, high in (("citations", True, 0, 12), ("year", False, 1980, 2030)):
        numbers = read_numbered(data_dir / "train" / "conf.jsonl.xz", name, count=30, log=log)
        sizes = len(numbers.train), len(numbers.test)
        # Some of the drawn papers share an id with others, and are left out.
        assert (15, 7) <= sizes <= (20, 10)
        assert len(numbers.targets) == sum(sizes)
        assert low <= numbers.targets.min() < numbers.targets.max() < high
        assert len({text.id for text in (*numbers.train, *numbers.test)}) == sum(sizes)


def test_numbers_are_those_that_are_known(tmp_path):
    kept = [3, "2021", 0, 2.5]
    values = [*kept, None, -1, "-1", "about 3", "", True, "\u0663"]
    rows = [{"id": f"p{row}", "title": f"Paper {row}", "n": value} for row, value in enumerate(values)]
    (tmp_path / "papers").write_text("".join(json.dumps(row) + "\n" for row in rows))
    numbers = read_numbered(tmp_path / "papers", "n", count=99, log=False)
    assert sorted(numbers.targets) == sorted(map(float, kept))
    with pytest.raises(InputError, match=r"No paper of .* has a number under 'm'"):
        read_numbered(tmp_path / "papers", "m", count=99, log=False)


def test_papers_that_share_an_id_are_left_out_after_the_draw(tmp_path):
    rows = [{"id": f"p{row}", "title": f"Paper {row}", "n": row} for row in range(30)]
    (tmp_path / "papers").write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole = read_numbered(tmp_path / "papers", "n", count=24, log=False)
    rows[3]["id"] = rows[4]["id"] = rows[5]["id"] = "cvpr2016:None"
    (tmp_path / "papers").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = read_numbered(tmp_path / "papers", "n", count=24, log=False)
    for ours, before in ((found.train, whole.train), (found.test, whole.test)):
        assert ours == tuple(text for text in before if text.id not in ("p3", "p4", "p5"))
    assert [int(text.id[1:]) for text in (*found.train, *found.test)] == found.targets.tolist()
    assert len(found.targets) < len(whole.targets)


def test_the_command_shows_a_table_and_writes_a_report(tmp_path):
    model = make_model(tmp_path / "model")
    done = ses(tmp_path, "eval", "suite", "smoke", "--model", model, "--report", tmp_path / "out.md", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["entry"] for row in rows] == [f"{entry.name}: {entry.measure}" for entry in get_suite("smoke")]
    assert rows[0]["measures"].keys() == {"BM25", str(model)}
    assert "Made-up queries, retrieval: nDCG@10" in (tmp_path / "out.md").read_text()
    again = ses(tmp_path, "eval", "suite", "smoke", "--model", model)
    assert again.stderr.count("from the cache") == 6
    fails(
        ses(tmp_path, "eval", "suite", "offline"), 2, "Say where the data of the suite offline is, with --data FOLDER"
    )
    some = ses(tmp_path, "eval", "suite", "smoke", "--model", model, "--entry", "RETRIEVAL", "--json")
    names = [row["entry"] for row in json.loads(some.stdout)["rows"]]
    assert names
    assert all("retrieval" in name for name in names)
    assert len(names) < len(get_suite("smoke"))
    fails(ses(tmp_path, "eval", "suite", "smoke", "--entry", "moon"), 2, "No entry of the suite has 'moon' in its name")
    fails(ses(tmp_path, "eval", "suite", "all"), 2, "There is no suite 'all'; choose one of smoke, offline.")
    fails(ses(tmp_path, "eval", "suite", "offline", "--data", tmp_path), 2, "which is not there; give its folder")


MANIFEST = """
[[entry]]
kind = "labels"
name = "Mine"
path = "mine.jsonl"
label = "journal"
fewest = 2
"""


def test_a_manifest_of_ones_own_says_what_the_suite_runs(tmp_path):
    rows = [{"id": f"p{row}", "title": f"virus {row}", "journal": "abc"[row % 3]} for row in range(60)]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "mine.toml").write_text(MANIFEST)
    words = (
        "eval",
        "suite",
        "offline",
        "--data",
        tmp_path,
        "--model",
        make_model(tmp_path / "model"),
        "--entry",
        "probe",
    )
    done = ses(tmp_path, *words, "--manifest", tmp_path / "mine.toml", "--json")
    assert done.returncode == 0, done.stderr
    assert [row["entry"] for row in json.loads(done.stdout)["rows"]] == ["Mine, probe: accuracy"]
    (tmp_path / "mine.toml").write_text(MANIFEST + "most = 40\n")
    other = ses(tmp_path, *words, "--manifest", tmp_path / "mine.toml", "--json")
    assert "from the cache" not in other.stderr, "what other options came to is not shown for these"
    fails(ses(tmp_path, "eval", "suite", "smoke", "--manifest", tmp_path / "mine.toml"), 2, "makes its own papers")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[entry", "can't be read"),
        ("", r"lists no \[\[entry\]\]"),
        ('[[entry]]\nkind = "magic"', "Entry 1 of .* needs a kind, one of retrieval, citations"),
        ('[[entry]]\nkind = "labels"\nname = "a"', "Entry 1 of .*: path: "),
        (MANIFEST + "colour = 3", "Entry 1 of .*: colour: "),
        (MANIFEST + 'most = "many"', "Entry 1 of .*: most: "),
        (MANIFEST * 2, "two entries of one name"),
    ],
)
def test_a_wrong_manifest_is_refused_with_what_is_wrong(text, message, tmp_path):
    (tmp_path / "suite.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_manifest(tmp_path / "suite.toml")


def test_results_of_the_suites_own_manifest_are_kept_under_the_same_key_as_ever(tmp_path):
    (tmp_path / "data").write_text("one")
    entry = Entry("name", "m", ("data",), lambda bench: Outcome({"m": 0.5}))
    list(run_suite([entry], Bench(tmp_path, None, None, tmp_path), "model", tmp_path / "found"))
    facts = (3, "name", [("data", hashlib.sha256(b"one").hexdigest())], "model")
    (file,) = (tmp_path / "found").iterdir()
    assert file.stem == hashlib.sha256(repr(facts).encode()).hexdigest()[:24]
    assert all(not one.options for one in get_suite("offline"))


def test_no_texts_give_no_vectors(bench):
    assert bench.embed([], Format.PRX).matrix.shape == (0, 64)
