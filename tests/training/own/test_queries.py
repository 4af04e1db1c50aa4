import numpy as np
import pytest

import ses
from corpora.errors import InputError
from encoders.registry import find_model
from eval.retrieval.beir import join
from eval.statistics.interval import Interval
from eval.trec.judgments import Qrels
from tests.tiny import WORDS
from tests.training.own.library import SUBJECTS, open_library, papers
from training.own.papers import read_records
from training.own.queries import QueriesComparison, train_queries

pytestmark = pytest.mark.torch


def judged(count=60):
    """Queries of two words of a subject, each answered by the papers that have both."""
    draw = np.random.default_rng(4)
    every, texts, gains = list(papers()), {}, {}
    for number in range(count):
        subject = number % len(SUBJECTS)
        one, two = draw.choice(WORDS[subject * 12 : subject * 12 + 12], size=2, replace=False)
        held = {paper["id"]: 1 for paper in every if {one, two} <= set(f"{paper['title']} {paper['abstract']}".split())}
        texts[f"q{number}"], gains[f"q{number}"] = f"{one} {two} {number}", held or {"p0000": 0}
    return texts, gains


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    folder = tmp_path_factory.mktemp("queries")
    library = open_library(folder)
    texts, gains = judged()
    return folder, library, library.formats.train_queries("own", texts, gains, folder / "run", minutes=0.01)


def test_a_model_asks_the_index_as_it_is(own):
    folder, library, found = own
    asking, base = find_model(str(found.model)).card, find_model(str(folder / "tiny")).card
    assert asking.fingerprint != base.fingerprint
    assert (asking.papers_by, base.papers_by) == (base.fingerprint, "")
    other = ses.open(model=str(found.model), data_dir=folder / "data", cache_dir=folder / "cache")
    pages = [one["own"].search("virus lung", mode="vector", size=3) for one in (library, other)]
    assert [len(page) for page in pages] == [3, 3]
    assert pages[0][0].legs["prx"].raw != pages[1][0].legs["prx"].raw
    before, after = (ses.load_model(name, cache_dir=folder / "cache") for name in (base.name, asking.name))
    assert np.allclose(before.encode(["virus lung"], "prx"), after.encode(["virus lung"], "prx"), atol=1e-6)
    assert not np.allclose(before.encode(["virus lung"], "qry"), after.encode(["virus lung"], "qry"), atol=1e-3)
    with pytest.raises(InputError, match="was made by the model"):
        other.index("own", list(papers()))


def test_some_queries_only_measure(own):
    folder, _, found = own
    texts, gains = judged()
    usable = [query for query, held in gains.items() if any(held.values())]
    assert found.worth.train + found.worth.test == len(usable)
    assert 8 < found.worth.test < len(usable) / 2
    lines = [line for name in ("train", "validation") for line in read_records(folder / "run" / f"{name}.jsonl")]
    assert len(lines) == found.worth.train
    assert {line["title"] for line in lines} <= {texts[query] for query in usable}
    for line in lines:
        assert np.linalg.norm(line["label"]) == pytest.approx(1, abs=1e-4)


def test_targets_are_nearer_to_relevant_papers(own):
    folder, library, _ = own
    texts, gains = judged()
    index, names = library["own"].index, {text: query for query, text in texts.items()}
    lines = read_records(folder / "run" / "train.jsonl")
    vectors = ses.load_model(str(folder / "tiny"), cache_dir=folder / "cache").encode(
        [x["title"] for x in lines], "qry"
    )
    gained = []
    for line, vector in zip(lines, vectors, strict=True):
        relevant = [id_ for id_, gain in gains[names[line["title"]]].items() if gain]
        rows = np.stack(list(index.vectors(relevant, "prx").values()))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        gained.append((rows @ (np.array(line["label"]) - vector / np.linalg.norm(vector))).mean())
    assert np.mean(np.array(gained) > 0) > 0.9


def test_what_can_not_be_trained_is_told(own, tmp_path):
    folder, library, found = own
    texts, gains = judged(9)
    index, load = library["own"].index, library.formats.load
    with pytest.raises(InputError, match="queries have a relevant paper in the index own, too few to learn from"):
        train_queries(index, join(texts, Qrels(gains)), tmp_path, minutes=0.01, load=load)
    with pytest.raises(InputError, match="holds a recipe already"):
        library.formats.train_queries("own", *judged(), folder / "run", minutes=0.01)
    trained = ses.open(model=str(found.trained.folder), data_dir=tmp_path / "data", cache_dir=folder / "cache")
    trained.index("own", list(papers(20)))
    with pytest.raises(InputError, match="has trained queries already"):
        trained.formats.train_queries("own", *judged(), tmp_path / "run", minutes=0.01)


def told(low, mean, high):
    return QueriesComparison(50, 20, {"hybrid": 0.7, "vector": 0.5}, {"hybrid": Interval(low, mean, high)})


def test_one_line_says_whether_they_are_worth_using():
    assert told(0.01, 0.03, 0.05).sentence == (
        "Worth using: nDCG@10 +0.030 [+0.010, +0.050] beside the 0.700 of before."
    )
    assert told(-0.01, 0.03, 0.05).sentence == (
        "Not worth using: nDCG@10 +0.030 [-0.010, +0.050] beside the 0.700 of before; the difference may be chance, so "
        "search as before."
    )
    assert "searches become worse" in told(-0.05, -0.03, -0.01).sentence
    assert not told(0.0, 0.03, 0.05).is_better
