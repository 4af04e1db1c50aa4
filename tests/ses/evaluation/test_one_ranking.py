"""Searches, cursors, evaluations, tuning and MTEB rank by one function: the same order and scores, and a new stage."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

import ses
from corpora.paper import Paper
from eval.mteb import MtebSearch
from eval.retrieval.beir import JudgedQueries
from eval.retrieval.protocol import Protocol, run_queries
from eval.retrieval.tuning import Trials, start
from eval.trec.judgments import Qrels
from search_plugin.contract.legs import Fused
from search_plugin.fusion.search_settings import SearchSettings, search_settings_json
from search_plugin.ranking.stages import RANKING
from tests.beir_folders import write_beir
from tests.commands import ses as command
from tests.tiny import make_model, papers

MODES = ("lexical", "vector", "hybrid")

# All that a query can hold: words, errors of typing, identifiers, names, operators, a whole title, nothing to rank by.
QUERIES = (
    *("virus lung", "vaccines of adults", "gene", "quantum galaxy response", "What is the risk of a dose?"),
    *("viruz lung", "protien therapy", "infektion"),
    *("p00003", "doi:10.1000/xyz.7", "10.1000/xyz.7 virus", "Ada Byron virus", "Meitner brain", "virus 2005", "Nature"),
    *("virus -lung", '"immune response" cell', "year>=2010 virus", "year:2005", "author:Byron", "title:star", "-virus"),
    *('virus "lung', "(virus", "AND OR", "virus OR star", "?", "ocean climate soil plant water"),
    *("patient trial Lancet", "cell vs protein", "tumour", "\u4e2d\u6587"),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A library with an index of 240 papers, which have DOIs, and copies of some titles."""
    folder = tmp_path_factory.mktemp("ranking")
    make_model(folder / "model")
    (folder / "synonyms.txt").write_text("tumour => cancer\n")
    written = [replace(paper, identifiers=(f"doi:10.1000/xyz.{n}",)) for n, paper in enumerate(papers(240))]
    # Equal texts have equal scores.
    written += [Paper(f"copy{n}", written[n].title, written[n].abstract) for n in range(1, 12)]
    settings = {f"{name}_dir": folder / name for name in ("data", "cache")}
    settings |= {"model": str(folder / "model"), "synonyms": folder / "synonyms.txt"}
    library = ses.open(folder / "indexes", **settings)
    library.index("mine", written)
    queries = dict(enumerate((*QUERIES, *(paper.title for paper in written[:6]))))
    texts = {f"q{number}": text for number, text in queries.items()}
    gains = {query: {written[number].id: 1} for number, query in enumerate(texts)}
    return SimpleNamespace(folder=folder, library=library, settings=settings, papers=written, texts=texts, gains=gains)


def ranked(page):
    """Ids, and by id the best score from there on: a run gives a paper that was put first at least the next score."""
    scores = [hit.score for hit in page]
    return [hit.id for hit in page], {hit.id: max(scores[place:]) for place, hit in enumerate(page)}


def same(run, page):
    ids, scores = ranked(page)
    assert [id_ for id_, _ in run] == ids
    assert dict(run) == pytest.approx(scores, rel=1e-4, abs=1e-30)


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_an_evaluation_ranks_as_a_search_does(home, mode):
    index = home.library["mine"]
    runs = index.evaluate(topics=home.texts, qrels=home.gains).runs
    empty = 0
    for query, text in home.texts.items():
        page = index.search(text, mode=mode, size=100)
        same(runs[mode].rankings[query], page)
        empty += not page.hits
    assert empty < 5
    assert len(runs[mode].rankings["q0"]) > 50


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_cursor_ranks_as_a_search_does(home, mode):
    index = home.library["mine"]
    for text in home.texts.values():
        hits = list(index.search(text, mode=mode, size=100))
        read = [hit for hit, _ in zip(index.iterate(text, mode=mode, size=100, window=100), hits, strict=False)]
        assert [(hit.id, hit.score) for hit in read] == [(hit.id, hit.score) for hit in hits]


@pytest.mark.slow
def test_an_evaluation_takes_the_options_of_a_search(home):
    index = home.library["mine"]
    fusions = ("minmax", "rrf@20", "zscore")
    read = {"literal": True, "verbatim": True}
    found = index.evaluate(
        topics=home.texts, qrels=home.gains, modes=["hybrid"], fusions=fusions, depth=30, measures="AP", **read
    )
    assert list(found.runs) == [f"hybrid-{fusion}" for fusion in fusions]
    for fusion in fusions:
        for query, text in home.texts.items():
            page = index.search(text, fusion=fusion, window=30, size=30, **read)
            same(found.runs[f"hybrid-{fusion}"].rankings[query], page)
    ranked = {"feedback": 1.0, "neighbours": 0.9, "weights": {"lexical": 0.2}, "title_boost": 3.0, "rerank": "complete"}
    runs = index.evaluate(topics=home.texts, qrels=home.gains, **ranked).runs
    usual = index.evaluate(topics=home.texts, qrels=home.gains).runs
    for mode in MODES:
        given = {name: value for name, value in ranked.items() if mode == "hybrid" or name != "weights"}
        for query, text in home.texts.items():
            lists = index.search(text, mode=mode, size=1).mode == "listing"
            given["rerank"] = "" if lists else "complete"
            same(runs[mode].rankings[query], index.search(text, mode=mode, size=100, **given))
    assert runs["hybrid"].rankings != usual["hybrid"].rankings
    plain, usual = (index.evaluate(topics=home.texts, qrels=home.gains, **one).runs["lexical"] for one in (read, {}))
    assert plain.rankings != usual.rankings


@pytest.mark.slow
def test_tuned_settings_are_those_of_the_searches(home):
    tuned = SearchSettings("rrf", {"lexical": 0.2, "prx": 0.8}, 20, title_boost=1.0)
    (home.folder / "tuned.json").write_text(search_settings_json(tuned))
    index = ses.open(home.folder / "indexes", tuned=home.folder / "tuned.json", **home.settings)["mine"]
    for fusions, fusion in (((), None), (("minmax",), "minmax")):
        found = index.evaluate(topics=home.texts, qrels=home.gains, fusions=fusions)
        compared = ses.experiment({"ses": index}, home.texts, home.gains)
        for query, text in home.texts.items():
            for mode in MODES:
                given = {"fusion": fusion} if mode == "hybrid" else {}
                same(found.runs[mode].rankings[query], index.search(text, mode=mode, size=100, **given))
            same(compared.runs["ses"].rankings[query], index.search(text, size=100))
    judged = JudgedQueries(home.texts, Qrels(home.gains), ())
    evaluated = index.evaluate(topics=home.texts, qrels=home.gains, measures="nDCG@10").per_query["hybrid"]["nDCG@10"]
    trials = Trials(judged, index.index, index.models.of_leg(index.index), "nDCG@10")
    assert dict(zip(home.gains, trials(tuned), strict=True)) == pytest.approx(evaluated)


@pytest.mark.slow
def test_queries_are_read_in_the_language_of_the_index(home):
    home.library.index("german", home.papers, language="german")
    index = home.library["german"]
    texts = {"q0": 'virus "die der"', "q1": "virus title:the", "q2": "virus -und"}
    runs = index.evaluate(topics=texts, qrels={query: {"p00001": 1} for query in texts}).runs
    for query, text in texts.items():
        for mode in MODES:
            same(runs[mode].rankings[query], index.search(text, mode=mode, size=100))


@pytest.mark.slow
def test_papers_that_were_judged_before_are_as_if_they_were_not_there(home):
    index = home.library["mine"]
    seen = {query: {hit.id for hit in index.search(text, size=5)} for query, text in home.texts.items()}
    runs = run_queries(
        home.texts,
        index.index,
        index.models.of_leg(index.index),
        Protocol(seen=seen, options={"synonyms": index.synonyms}),
    )
    for query, text in home.texts.items():
        where = " and ".join(f"not id={id_}" for id_ in sorted(seen[query]))
        for mode in MODES:
            same(runs[mode].rankings[query], index.search(text, mode=mode, size=100, filter=where))


@pytest.mark.slow
def test_the_command_ranks_by_default_as_a_search_does(home):
    beir = write_beir(home.folder / "beir", home.papers, home.texts, test=home.gains)
    given = ["--data", beir, "--model", home.folder / "model"]
    words = ("--literal", "--verbatim"), {"literal": True, "verbatim": True}
    meaning = ("--feedback", "1", "--neighbours", "0", "--expand"), {"feedback": 1.0, "neighbours": 0.0, "expand": True}
    for flags, options in (((), {}), words, meaning):
        runs = home.folder / "-".join(("runs", *flags))
        done = command(home.folder, "eval", "retrieval", *given, *flags, "--run", runs, "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        assert {name: told.get(name) for name in options} == {
            name: "yes" if value is True else str(value) for name, value in options.items()
        }
        settings = {**home.settings, "synonyms": None}
        library = ses.open(home.folder / "data" / "indexes", **settings)
        (name,) = [name for name in library.indexes(evaluations=True) if name.startswith("eval-")]
        for mode in MODES:
            found = {}
            for line in (runs / f"{mode}.trec").read_text().splitlines():
                query, _, id_, _, score, _ = line.split()
                found.setdefault(query, []).append((id_, float(score)))
            for query, text in home.texts.items():
                same(found.get(query, []), library[name].search(text, mode=mode, size=100, **options))


def backwards(state):
    """A stage: the best last, and a score of its own."""
    ranking = [Fused(hit.id, float(place), hit.given) for place, hit in enumerate(state.ranking)][::-1]
    return replace(state, ranking=ranking, shown=ranking)


def orders(home, index):
    """The order of the papers of a query, and what this is worth, by what ranks them."""
    query, text = "q0", home.texts["q0"]
    engine_index, encoder = index.index, index.models.of_leg(index.index)
    judged = {"topics": {query: text}, "qrels": {query: home.gains[query]}}
    evaluated = index.evaluate(**judged, modes=["hybrid"], fusions=["minmax"], measures="AP")
    compared = ses.experiment({"ses": index}, **judged, measures="AP")
    trials = Trials(JudgedQueries(judged["topics"], Qrels(judged["qrels"]), ()), engine_index, encoder, "AP")
    mteb = MtebSearch(SimpleNamespace(), encoder, home.folder, "hybrid", _index=engine_index)
    by_mteb = mteb.search([{"id": query, "text": text}], top_k=100)[query]
    found = {
        "search": [hit.id for hit in index.search(text, size=100)],
        "cursor": [hit.id for hit, _ in zip(index.iterate(text, window=100), range(100), strict=False)],
        "evaluation": [id_ for id_, _ in evaluated.runs["hybrid"].rankings[query]],
        "experiment": [id_ for id_, _ in compared.runs["ses"].rankings[query]],
        "mteb": sorted(by_mteb, key=lambda id_: -by_mteb[id_]),
    }
    return found, {evaluated.mean("AP"), compared.mean("AP"), float(trials(start(("lexical", "prx")))[0])}


def test_a_new_stage_is_seen_wherever_papers_are_ranked(home, monkeypatch):
    index = home.library["mine"]
    before, (worth,) = orders(home, index)
    assert {tuple(order) for order in before.values()} == {tuple(before["search"])}
    assert len(before["search"]) == 100
    monkeypatch.setattr("search_plugin.search.RANKING", {**RANKING, "backwards": backwards})
    after, (other,) = orders(home, index)
    assert {tuple(order) for order in after.values()} == {tuple(after["search"])}
    assert not set(before["search"][:10]) & set(after["search"][:10])
    assert worth != other
