"""`ses eval retrieval`, `score` and `tune` as a user runs them."""

from __future__ import annotations

import json
import sys
from collections import Counter
from math import log2

import pytest

from corpora.paper import Paper
from encoders.registry import find_model
from tests.beir_folders import write_beir
from tests.commands import fails, ses
from tests.tiny import make_model, papers


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A model and a BEIR folder of 60 papers; 24 queries want the paper whose title they are, in two splits."""
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model")
    written = papers(60)
    train, test = ({f"q{n}": {written[n].id: 1} for n in some} for some in (range(16), range(16, 24)))
    queries = {f"q{n}": paper.title for n, paper in enumerate(written[:24])}
    write_beir(folder / "beir", [*written, written[3]], queries, train=train, test=test)
    topics = "".join(f'<topic number="q{n}"><question>{written[n].title}</question></topic>' for n in range(3))
    (folder / "topics.xml").write_text(f"<topics>{topics}</topics>")
    # q0 knows its paper from round 1; for q1 and q2 it was judged in round 2; nothing was judged for q9.
    judged = [f"q0 1 {written[0].id} 1", f"q0 2 {written[5].id} 1", f"q1 2 {written[1].id} 1"]
    judged += [f"q2 2 {written[2].id} 1", "q2 2 gone 1"]
    (folder / "qrels").write_text("\n".join(judged) + "\n")
    return folder


def told(done):
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_modes_fusions_and_measures_are_compared_and_runs_scored_again(home):
    modes = [part for mode in ("lexical", "hybrid", "vector", "exact") for part in ("--mode", mode)]
    fusions = ["--fusion", "minmax", "--fusion", "rrf@20"]
    asked = [*modes, *fusions, "--measure", "mrr@10", "--measure", "P@1", "--run", home / "runs", "--json"]
    answer = told(ses(home, "eval", "retrieval", "--data", home / "beir", "--model", home / "model", *asked))
    rows = {row["mode"]: row["measures"] for row in answer["rows"]}
    assert list(rows) == ["lexical", "hybrid-minmax", "hybrid-rrf@20", "vector", "exact"]
    assert list(rows["lexical"]) == ["MRR@10", "P@1"]
    assert rows["exact"]["MRR@10"]["mean"] == pytest.approx(rows["vector"]["MRR@10"]["mean"], abs=0.05)
    left = ("documents_duplicated", "documents_rejected", "judged_documents_absent", "queries_shortened")
    left += ("queries_without_text", "topics_without_judgments")
    assert answer["left_out"] == dict.fromkeys(left, 0) | {"documents_duplicated": 1}
    asked_of = {name: answer[name] for name in ("data", "split", "model")}
    assert asked_of == {"data": str(home / "beir"), "split": "test", "model": str(home / "model")}
    assert answer["index"].startswith("eval-beir-")
    runs = [home / "runs" / f"{mode}.trec" for mode in rows]
    again = told(
        ses(home, "eval", "score", *runs, "--qrels", home / "beir/qrels/test.tsv", "--measure", "RR@10", "--json")
    )
    assert [row["measures"]["RR@10"] for row in again["rows"]] == [row["MRR@10"] for row in rows.values()]


def test_topics_and_rounds(home):
    options = ["--topics", home / "topics.xml", "--qrels", home / "qrels", "--corpus", "beir", "--path", home / "beir"]
    options += ["--rounds", "2", "--mode", "exact", "--run", home / "rounds", "--model", home / "model", "--json"]
    answer = told(ses(home, "eval", "retrieval", *options))
    assert answer["index"] is None
    assert (answer["topics"], answer["rounds"]) == (str(home / "topics.xml"), "2")
    assert answer["left_out"]["judged_documents_absent"] == 1
    lines = [line.split() for line in (home / "rounds/exact.trec").read_text().splitlines()]
    assert {line[0] for line in lines} == {"q0", "q1", "q2"}
    assert {line[5] for line in lines} == {"ses-exact"}
    assert "p00000" not in [line[2] for line in lines if line[0] == "q0"]
    assert "p00000" in [line[2] for line in lines if line[0] == "q1"]
    (home / "run").write_text("q0 Q0 p00000 1 2 t\nq0 Q0 p00005 2 1 t\n")
    score = ["eval", "score", home / "run", "--qrels", home / "qrels", "--rounds", "2", "--measure", "mrr"]
    assert told(ses(home, *score, "--json"))["rows"][0]["measures"]["MRR"]["mean"] == pytest.approx(1 / 3)
    assert "2 queries without results" in (shown := ses(home, *score).stdout)
    assert "1 judged before dropped" in shown


def test_pmc_patients_as_it_is_published(home, tmp_path):
    # Its evaluation.py reads these files, and has BEIR measure MRR over the whole corpus, P@10, nDCG@10 and R@1000.
    corpus, queries = tmp_path / "PPR" / "PPR_corpus.jsonl", tmp_path / "queries" / "test_queries.jsonl"
    qrels = tmp_path / "PPR" / "PPR_test_qrels.tsv"
    for folder in (corpus.parent, queries.parent):
        folder.mkdir()
    texts = {f"{paper.id}-1": f"{paper.title}. {paper.abstract}" for paper in papers(30)}
    corpus.write_text("".join(json.dumps({"_id": n, "title": "", "text": t}) + "\n" for n, t in texts.items()))
    patients = dict(zip(["9-1", "9-2", "9-3"], [*texts.values()][4:7], strict=True))
    queries.write_text("".join(json.dumps({"_id": n, "text": t}) + "\n" for n, t in patients.items()))
    names = list(texts)
    gains = {"9-1": {names[4]: 2, names[20]: 1}, "9-2": {names[9]: 1}, "9-3": {names[6]: 1, names[7]: 2, names[8]: 1}}
    rows = [f"{query}\t{name}\t{gain}" for query, judged in gains.items() for name, gain in judged.items()]
    qrels.write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
    given = ["--topics", queries, "--qrels", qrels, "--corpus", "beir", "--path", corpus, "--mode", "exact"]
    measures = [part for name in ("MRR", "P@10", "nDCG@10", "Recall@1000") for part in ("--measure", name)]
    options = [*given, *measures, "--run", tmp_path / "runs", "--model", home / "model", "--json"]
    row = told(ses(home, "eval", "retrieval", *options))["rows"][0]["measures"]
    ranked = {query: [] for query in gains}
    for line in (tmp_path / "runs/exact.trec").read_text().splitlines():
        query, _, name, *_ = line.split()
        ranked[query].append(name)
    assert {len(names) for names in ranked.values()} == {30}
    wanted = [0.0] * 4
    for query, judged in gains.items():
        found = [judged.get(name, 0) for name in ranked[query]]
        best = sorted(judged.values(), reverse=True)
        gain, ideal = (sum(value / log2(2 + at) for at, value in enumerate(one[:10])) for one in (found, best))
        first = 1 / (1 + next(at for at, value in enumerate(found) if value))
        for at, value in enumerate((first, sum(map(bool, found[:10])) / 10, gain / ideal, 1.0)):
            wanted[at] += value / len(gains)
    assert [one["mean"] for one in row.values()] == pytest.approx(wanted)


@pytest.mark.slow
def test_tuned_settings_go_from_train_to_test_and_into_search(home):
    tuned = home / "tuned.json"
    options = ["--data", home / "beir", "--split", "train", "--test-split", "test", "--folds", "2", "--output", tuned]
    answer = told(ses(home, "eval", "tune", *options, "--model", home / "model", "--json"))
    assert [row["settings"] for row in answer["results"]][2:] == ["default on test", "tuned on test"]
    assert len(answer["by_fold"]) == 2
    written = json.loads(tuned.read_text())
    card = find_model(str(home / "model")).card
    facts = {"data": str(home / "beir"), "split": "train", "model": card.name, "fingerprint": card.fingerprint}
    facts |= {"measure": "nDCG@10", "queries": 16, "folds": 2, "seed": 0, "results": answer["results"]}
    assert written["fitted"] == {**facts, "tried": answer["tried"]}
    chosen = {name: value for name, value in written.items() if name != "fitted"}
    assert answer == {
        **written["fitted"],
        **chosen,
        "fitted": {},
        "left_out": {"documents_duplicated": 1, "documents_rejected": 0},
        "by_fold": answer["by_fold"],
        "output": str(tuned),
    }
    assert answer["tried"] > 10
    for row in answer["results"]:
        assert row["counts"] == {"queries": 8 if row["settings"].endswith("test") else 16}
    written |= {"fusion": "zscore", "weights": {"lexical": 0.25, "prx": 0.75}, "rank_constant": None}
    tuned.write_text(json.dumps({**written, "title_boost": 2}))
    same = ["--fusion", "zscore", "--weight", "lexical=.25", "--weight", "prx=.75", "--title-boost", "2"]
    (index,) = told(ses(home, "indexes", "list", "--all", "--json"))["indexes"]
    assert told(ses(home, "indexes", "list", "--json"))["indexes"] == []
    search = ["search", "--index", index["name"], "--json"]
    by_file, by_hand, default, beside = (
        told(ses(home, *search, "virus lung cell", *given))
        for given in (["--tuned", tuned], same, [], ["--tuned", tuned, "--fusion", "minmax"])
    )
    assert (by_file["fusion"], by_file["hits"]) == ("zscore", by_hand["hits"])
    assert by_file["hits"] != default["hits"]
    assert beside["fusion"] == "minmax"
    flat = told(ses(home, *search, "virus lung cell", *same[:-1], "0"))
    assert [hit["score"] for hit in flat["hits"]] != [hit["score"] for hit in by_hand["hits"]]
    # Weights are of the legs of hybrid searches: the file does no harm to others, also when the environment names it.
    assert told(ses(home, *search, "virus", "--mode", "lexical", SES_TUNED=str(tuned)))["hits"]
    assert told(ses(home, *search, "virus lung cell", SES_TUNED=str(tuned)))["hits"] == by_hand["hits"]
    assert told(ses(home, "similar", *search[1:], by_hand["hits"][0]["paper"]["id"], SES_TUNED=str(tuned)))["hits"]
    # What the environment names is for searches: an evaluation has only what it is asked for.
    plain = ["eval", "retrieval", "--data", home / "beir", "--model", home / "model", "--mode", "hybrid", "--json"]
    runs = []
    for name, given, settings in (("0", [], {}), ("1", [], {"SES_TUNED": str(tuned)}), ("2", ["--tuned", tuned], {})):
        scored = told(ses(home, *plain, *given, "--run", home / name, **settings))
        assert [row["mode"] for row in scored["rows"]] == ["hybrid"]
        runs.append((home / name / "hybrid.trec").read_text())
    assert runs[0] == runs[1] != runs[2]
    tuned.write_text(json.dumps({**written, "bm25": {"k1": 0.9, "b": 0.4}}))
    warned = ses(home, *search, "virus lung cell", "--tuned", tuned)
    assert "fitted with BM25's k1 0.9, b 0.4, and the index" in warned.stderr
    again = ["index", "--corpus", "beir", "--path", home / "beir", "--fresh", "--model", home / "model"]
    fails(ses(home, *again, "--tuned", tuned), 2, "can't be changed; leave --bm25 out")
    fails(ses(home, *again, "--bm25", "1"), 2, "write them as K1,B")


def test_measures_are_taken_as_deep_as_they_look(home, tmp_path):
    write_beir(tmp_path, [Paper(f"d{n}", "virus") for n in range(160)], {"q": "virus"}, test={"q": {"d1": 1}})
    options = ["eval", "retrieval", "--model", home / "model", "--mode", "lexical", "--data"]
    ses(tmp_path, *options, tmp_path, "--measure", "Recall@150", "--run", tmp_path / "deep")
    assert len((tmp_path / "deep/lexical.trec").read_text().splitlines()) == 150
    options += [home / "beir"]
    ses(home, *options, "--measure", "Recall@2", "--depth", "3", "--run", home / "shallow")
    counts = Counter(line.split()[0] for line in (home / "shallow/lexical.trec").read_text().splitlines())
    assert set(counts.values()) == {3}
    fails(ses(home, *options, "--measure", "P@5", "--depth", "4"), 2, "A measure at 5 needs more than the 4 hits")
    fails(ses(home, *options, "--measure", "P@20000"), 2, "needs more than the 10,000 hits")


def test_what_does_not_go_together(home, monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_datasets", None)  # as where it is not installed
    data, topics = ["--data", home / "beir"], ["--topics", home / "topics.xml"]
    retrieval = ["eval", "retrieval"]
    fails(ses(home, *retrieval), 2, "either --data, or --topics")
    fails(ses(home, *retrieval, *data, *topics), 2, "either --data, or --topics")
    fails(ses(home, *retrieval, *topics), 2, "say --qrels FILE and --corpus NAME")
    fails(ses(home, *retrieval, *data, "--rounds", "1"), 2, "--rounds, --path and --topic-field go with --topics")
    fails(ses(home, *retrieval, *data, "--measure", "F1"), 2, "no measure 'F1'")
    fails(ses(home, *retrieval, *data, "--fusion", "borda"), 2, "no fusion 'borda'")
    fails(ses(home, *retrieval, "--data", "irds:beir/x"), 3, "pip install ir_datasets")
    fails(ses(home, "eval", "tune", *data, "--test-split", "test", "--output", home / "x"), 2, "another split")
    fails(ses(home, "eval", "tune", *data, "--output", home / "absent/x"), 2, "no folder for")
    fails(ses(home, "search", "virus", "--tuned", home / "qrels"), 2, "holds no tuned settings")
