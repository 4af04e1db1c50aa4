"""Suites: what is run, what is taken from the cache, and what the table tells."""

from __future__ import annotations

import hashlib
import json
import math
import random
from dataclasses import replace
from importlib.metadata import version
from operator import attrgetter

import numpy as np
import pytest

from corpora.checksums import sha256_of
from corpora.errors import InputError
from encoders.encoder import load_encoder
from encoders.models.formats import Format
from encoders.registry import find_model
from eval.embedder import Text, Vectors, by_encoder
from eval.files.labelled import read_labelled
from eval.outcome import Outcome
from eval.retrieval.beir import BeirFolder
from eval.statistics.interval import Interval
from eval.suites.base import WORDS, Bench, Entry, run_suite
from eval.suites.kinds import KINDS, OkapiBm25, held_out, labels, read_citations, read_numbered
from eval.suites.manifest import OFFLINE, get_suite, read_manifest
from eval.suites.smoke import made_up_papers, write_retrieval
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
    "Made-up queries, hybrid retrieval": (0.869, None),  # 0.898 without neighbours
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


def entries():
    """Rows of the suite's entries but for searches; those whose data take seconds to unpack are in the lane long."""
    for number, entry in enumerate(get_suite("offline")):
        if "retrieval" not in entry.name:
            large = {"train/arxiv.jsonl.xz", "train/conf.jsonl.xz"} & set(entry.files)
            yield pytest.param(number, marks=[pytest.mark.long] if large else [])


@pytest.mark.parametrize("number", [*entries()])
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
    # Results of other machines, and of earlier versions, are of these very papers.
    assert hashlib.sha256(repr(papers).encode()).hexdigest()[:16] == "1c4ac9d099daa39d"
    topics = {paper.id: paper.topic for paper in papers}
    assert len(topics) == 120
    assert all(topics[other] == paper.topic for paper in papers for other in paper.references)
    assert max(len(paper.references) for paper in papers) == 3
    assert [paper.references for paper in made_up_papers(4)] == [()] * 4
    assert [paper.year for paper in papers[::30]] == [2000, 2005, 2010, 2015]
    assert made_up_papers(8, seed=1) != papers[:8] == made_up_papers(8)


def test_made_up_queries_are_answered_by_the_papers_of_the_topic_that_hold_both_words(tmp_path):
    papers = made_up_papers()
    data = BeirFolder(write_retrieval(tmp_path / "made-up", papers)).judged("test")
    assert set(data.texts) == set(data.qrels.gains)
    assert list(data.texts) == [f"q{number}" for number in range(16)]
    for query, text in data.texts.items():
        first, second = text.split(" and ")
        holding = [one for one in papers if first in one_text(one) and second in one_text(one)]
        assert data.qrels.gains[query] == {paper.id: 1 for paper in holding}
    corpus = [json.loads(line) for line in (tmp_path / "made-up" / "corpus.jsonl").read_text().splitlines()]
    assert corpus == [{"_id": one.id, "title": one.title, "text": one.abstract} for one in papers]


def one_text(paper):
    return f"{paper.title} {paper.abstract}".lower()


def test_words_are_bm25s():
    texts = ["viruses spread", "the virus and the lung", "ocean"]
    scores = OkapiBm25(texts).scores("virus virus")
    # Okapi: idf of a word in two of three texts is below 0 and is set to a fourth of the mean idf.
    idf = {"virus": math.log(1.5) - math.log(2.5), "other": math.log(2.5) - math.log(1.5)}
    idf["virus"] = 0.25 * (idf["virus"] + 5 * idf["other"]) / 6
    mean = (2 + 5 + 1) / 3
    expected = [idf["virus"] * 2.5 / (1 + 1.5 * (0.25 + 0.75 * length / mean)) for length in (2, 5)]
    np.testing.assert_allclose(scores, [*expected, 0])


@pytest.mark.long
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


@pytest.mark.slow
def test_the_command_shows_a_table_and_writes_a_report(tmp_path):
    model = make_model(tmp_path / "model")
    done = ses(tmp_path, "eval", "suite", "smoke", "--model", model, "--report", tmp_path / "out.json", "--json")
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["entry"] for row in rows] == [f"{entry.name}: {entry.measure}" for entry in get_suite("smoke")]
    assert rows[0]["measures"].keys() == {"BM25", str(model)}
    report = json.loads((tmp_path / "out.json").read_text())
    assert report["title"] == "The suite smoke"
    assert report["rows"] == rows
    made = report["provenance"]
    card = find_model(str(model)).card
    assert made["models"] == {card.name: card.fingerprint}
    assert (made["data"], made["runtime"]) == ({}, "onnx-int8")
    assert made["engine"] == f"tantivy {version('tantivy')}, embedded"
    assert made["settings"].keys() == {"seconds of BM25", f"seconds of {card.name}"}
    again = ses(tmp_path, "eval", "suite", "smoke", "--model", model, "--report", tmp_path / "out.md")
    assert "Made-up queries, retrieval: nDCG@10" in (tmp_path / "out.md").read_text()
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


@pytest.mark.slow
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
    words += ("--precision", "fp32")
    report = ("--report", tmp_path / "out.json")
    done = ses(tmp_path, *words, "--manifest", tmp_path / "mine.toml", "--json", *report)
    assert done.returncode == 0, done.stderr
    made = json.loads(report[1].read_text())["provenance"]
    assert made["data"] == {str(tmp_path / "mine.jsonl"): sha256_of(tmp_path / "mine.jsonl")}
    assert made["runtime"] == "onnx-fp32"
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
    facts = (4, "name", [("data", hashlib.sha256(b"one").hexdigest())], "model")
    (file,) = (tmp_path / "found").iterdir()
    assert file.stem == hashlib.sha256(repr(facts).encode()).hexdigest()[:24]
    assert all(not one.options for one in get_suite("offline"))


def test_no_texts_give_no_vectors(bench):
    assert bench.embed([], Format.PRX).matrix.shape == (0, 64)


def lines_of(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("kind", "options", "rows", "words", "says"),
    [
        ("retrieval", {}, [("D, retrieval", "nDCG@10"), ("D, hybrid retrieval", "nDCG@10")], [True, False], False),
        ("citations", {"reviews": ["a"]}, [("D", "MAP")], [True], True),
        ("screening", {}, [("D", "WSS@95")], [True], False),
        ("gold-standard", {}, [("D", "loss")], [False], False),
        ("authors", {}, [("D", "B3 F1")], [False], True),
        ("labels", {}, [("D, probe", "accuracy"), ("D, clusters", "NMI")], [False, False], True),
        ("regression", {"number": "n"}, [("D", "kendalltau")], [False], True),
    ],
)
def test_each_kind_has_its_names_measures_and_systems(kind, options, rows, words, says):
    made = KINDS[kind]("D", "path", **options)
    assert [(entry.name, entry.measure) for entry in made] == rows
    assert [entry.by_words is not None for entry in made] == words
    assert {entry.files for entry in made} == {("path",)}
    assert {entry.tested is not None for entry in made} == {says}
    assert list(KINDS) == ["retrieval", "citations", "screening", "gold-standard", "authors", "labels", "regression"]


def cited_papers():
    """Papers p00 to p33 of review a, of which the last three cite 5, 6 and 4 of them, and papers of another review."""
    rows = [{"id": f"p{n:02}", "title": f"lung {n}", "abstract": "x", "dataset": "a"} for n in range(34)]
    for row, count in zip(rows[31:], (5, 6, 4), strict=True):
        row["references_in_set"] = [f"p{n:02}" for n in range(count)] + ["b0", "gone"]
    rows += [{"id": "b0", "title": "other", "dataset": "b", "references_in_set": [f"p{n:02}" for n in range(9)]}]
    return [*rows, {"id": "p99", "title": "", "dataset": "a"}]


def test_citations_are_five_cited_papers_among_25_of_the_review_that_have_nothing_to_do_with_the_query(bench):
    path = lines_of(bench.data / "papers", cited_papers())
    papers, qrels = read_citations(path, reviews=["a"])
    # p31 may have p05 to p30, p32 and p33 as others; p32 one less.
    assert list(qrels.gains) == ["p31", "p32"]
    for query, cited in (("p31", 5), ("p32", 6)):
        gains = qrels.gains[query]
        found = {name for name, gain in gains.items() if gain == 1}
        assert len(found) == 5
        assert found <= {f"p{n:02}" for n in range(cited)}
        assert len(gains) == 30
        assert not {query, *(f"p{n:02}" for n in range(cited))} & (gains.keys() - found)
    assert list(papers) == sorted({*qrels.gains, *(name for gains in qrels.gains.values() for name in gains)})
    assert papers["p31"] == Text("p31", "lung 31", "x")
    assert (papers, qrels) == read_citations(path, reviews=["a"])
    assert qrels != read_citations(path, reviews=["a"], seed=1)[1]
    assert len(read_citations(path, reviews=["a"], queries=1)[1].gains) == 1
    assert held_out(path, ["a"]) == {*(f"p{n:02}" for n in range(34)), "p99"}
    # With a candidate less there are too few for p32, and with two less none for either.
    for left_out, queries in (({"p30"}, ["p31", "p32"]), ({"p28", "p29", "p30"}, ["p31"])):
        fewer = lines_of(bench.data / "fewer", [row for row in cited_papers() if row["id"] not in left_out])
        assert list(read_citations(fewer, reviews=["a"])[1].gains) == queries


def test_citations_are_ranked_by_vectors_and_by_words(bench):
    rows = cited_papers()
    for row in rows[:6]:
        row["title"] = "lung"
    for row, title in zip(rows[31:34], ("lung", "lung ocean", "star"), strict=True):
        row["title"] = title
    for row in rows[6:31]:
        row["title"] = "star galaxy"
    lines_of(bench.data / "papers", rows)
    (entry,) = KINDS["citations"]("C", "papers", ["a"], queries=2)
    for found in (entry.by_vectors(replace(bench, embed=by_titles)), entry.by_words(bench)):
        assert list(found.cells) == ["MAP", "nDCG"]
        assert found.counts["papers"] == len(read_citations(bench.data / "papers", reviews=["a"])[0])
        assert found.counts["queries"] == 2
        assert found.cells["MAP"].mean > 0.8
    assert entry.tested(bench.data) == held_out(bench.data / "papers", ["a"])


@pytest.mark.slow
def test_numbers_are_read_off_vectors_and_a_third_is_tested(bench):
    rows = [{"id": f"p{n}", "title": "lung" if n % 2 else "star", "abstract": "", "n": 7 * (n % 2)} for n in range(31)]
    path = lines_of(bench.data / "papers", rows)
    drawn = random.Random(0).sample(range(31), 30)
    data = read_numbered(path, "n", count=30, log=True)
    assert [text.id for text in (*data.train, *data.test)] == [f"p{n}" for n in drawn]
    assert (len(data.train), len(data.test)) == (20, 10)
    assert data.targets == pytest.approx([math.log(1 + 7 * (n % 2)) for n in drawn])
    (entry,) = KINDS["regression"]("N", "papers", "n", most=30)
    found = entry.by_vectors(replace(bench, embed=by_titles))
    assert found.counts == {"train": 20, "test": 10}
    assert list(found.cells) == ["kendalltau", "pearsonr"]
    assert min(cell.mean for cell in found.cells.values()) > 0.8
    assert entry.tested(bench.data) == {text.id for text in data.test}
    assert len(read_numbered(path, "n", count=99, log=False).test) == 31 // 3


def test_of_labels_the_tested_third_alone_is_clustered(bench):
    rows = [{"id": f"p{n}", "title": ("lung", "star")[n % 2], "label": "ab"[n % 2]} for n in range(60)]
    path = lines_of(bench.data / "papers", rows)
    probe, clusters = KINDS["labels"]("L", "papers")
    tested = {text.id for text, test in zip(*attrgetter("papers", "test")(read_labelled(path)), strict=True) if test}
    assert probe.tested(bench.data) == clusters.tested(bench.data) == tested
    quick = replace(bench, embed=by_titles)
    assert probe.by_vectors(quick).counts == {"papers": 60, "papers_tested": len(tested), "classes": 2}
    found = clusters.by_vectors(quick)
    assert found.cells == pytest.approx({"purity": 1, "NMI": 1})
    assert (found.counts, list(found.per_unit)) == ({"classes": 2}, ["purity k=2", "NMI k=2"])


def test_reviews_are_screened_by_vectors_and_by_words(bench):
    (bench.data / "r.csv").write_text(
        "title,abstract,included\n" + "lung,virus,1\n" * 3 + "star,galaxy,0\n" * 20, encoding="utf-8"
    )
    (entry,) = KINDS["screening"]("S", "r.csv")
    for found in (entry.by_vectors(replace(bench, embed=by_titles)), entry.by_words(bench)):
        # After the seed the other two come first of 22.
        assert found.cells["WSS@95"].mean == pytest.approx(20 / 22 - 0.05)
        assert (found.counts["seeds"], found.counts["draws"], found.counts["papers"]) == (1, 10, 23)
