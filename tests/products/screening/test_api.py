"""Systematic reviews: `ses screen` and `library.screening`."""

import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

import ses
from corpora.paper import Paper
from products.indexed import read_papers
from products.relevance import FOR_SCREENING, relevance, views_of
from tests.commands import PLAIN, call, fails, of
from tests.tiny import make_model, papers

WANTED = [
    Paper(f"v{n}", f"virus lung vaccine {word}", year=2020) for n, word in enumerate(["cell", "gene", "drug", "dose"])
]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("screening")
    library = ses.open(model=str(make_model(folder / "model")), data_dir=folder / "data", cache_dir=folder / "cache")
    library.index("papers", [*WANTED, *papers(30)])
    return folder, library


@pytest.fixture
def screening(home):
    _, library = home
    yield library.screening
    for name in library.screening.names():
        library.screening.delete(name)


@pytest.fixture
def run(home, screening):
    return lambda *arguments: call(["screen", *arguments], of(home[0]))


def ids(suggestions):
    return [one.paper.id for one in suggestions]


def test_a_review_learns_from_its_labels(screening):
    screening.create("lungs")
    screening.label("lungs", include=["v0"])
    assert ids(screening.next("lungs", size=3))[0] in ("v1", "v2", "v3")
    screening.label("lungs", include=["v1"], exclude=["p00003", "p00004"])
    batch = screening.next("lungs", size=4)
    assert set(ids(batch[:2])) == {"v2", "v3"}
    assert [one.score for one in batch] == sorted((one.score for one in batch), reverse=True)
    assert not {"v0", "v1", "p00003"} & set(ids(batch))
    assert ids(screening.next("lungs", size=4)) == ids(batch)


def test_papers_are_ranked_by_the_views_for_screening(home, screening):
    screening.create("lungs")
    screening.label("lungs", include=["v0", "v1"], exclude=["p00003", "p00004"])
    index = home[1]["papers"].index
    pool = read_papers(index, sorted(index.ids()))
    views = views_of(pool.papers, pool.vectors, FOR_SCREENING)
    labels = {"v0": True, "v1": True, "p00003": False, "p00004": False}
    rows = [row for row, id_ in enumerate(views.ids) if id_ in labels]
    scores = relevance(views, rows, [labels[views.ids[row]] for row in rows])
    expected = {id_: score for id_, score in zip(views.ids, scores, strict=True) if id_ not in labels}
    assert {one.paper.id: one.score for one in screening.next("lungs", size=99)} == pytest.approx(expected)


@pytest.mark.slow
def test_status_counts_and_estimates(screening):
    screening.create("lungs")
    screening.label("lungs", include=["v0"])
    before = screening.status("lungs")
    assert (before.candidates, before.included, before.excluded, before.unread) == (34, 1, 0, 33)
    assert not before.recall.reached
    while batch := screening.next("lungs", size=8):
        wanted = [one for one in ids(batch) if one.startswith("v")]
        screening.label("lungs", include=wanted, exclude=[one for one in ids(batch) if one not in wanted])
    done = screening.status("lungs")
    assert (done.included, done.unread, done.recall.at_least, done.recall.reached) == (4, 0, 1.0, True)
    runs = screening.simulate("lungs", draws=3)
    assert [(one.papers, sum(one.relevant)) for one in runs] == [(32, 3)] * 3
    assert max(one.read_until(0.95) for one in runs) < 20


@pytest.mark.slow
def test_papers_count_as_read_in_the_order_in_which_they_were_offered(screening):
    found = {}
    for name, order in (("as-offered", range(30)), ("included-first", [*range(1, 30, 2), *range(0, 30, 2)])):
        screening.create(name)
        screening.label(name, include=["v0"])
        batch = ids(screening.next(name, size=30))
        for place in order:
            screening.label(name, **{"include" if place % 2 else "exclude": [batch[place]]})
        found[name] = screening.status(name).recall.missing_at_most
    assert found == {"as-offered": 3, "included-first": 3}


def test_labels_known_beforehand_are_no_sample(screening):
    screening.create("lungs")
    screening.label("lungs", exclude=[f"p{n:05d}" for n in range(28)], include=["v0"])
    # Nothing was read in the order of the review, so that nothing is known of the five unread papers.
    assert screening.status("lungs").recall.missing_at_most == 5


def test_candidates_are_those_of_the_filter(screening):
    screening.create("new", filter="year>=2020")
    count = screening.status("new").candidates
    assert 4 <= count < 34
    with pytest.raises(
        ses.InputError, match="The paper 'p00000' is no candidate: it does not match the review's filter"
    ):
        screening.label("new", include=["p00000"])
    with pytest.raises(ses.InputError, match="holds no candidate for this review; give a wider filter"):
        screening.create("none", filter="year=1800")


@pytest.mark.parametrize("suffix", ["csv", "ris", "asreview"])
def test_labels_go_out_and_come_back(screening, tmp_path, suffix):
    screening.create("one", filter="id in (v0, v1, v2, p00001)")
    screening.create("two")
    screening.label("one", include=["v0", "v1"], exclude=["p00001"])
    path = tmp_path / f"labels.{suffix}"
    assert screening.export("one", path) == 4
    done = screening.read("two", path)
    assert (done.labels, done.unknown, done.undecided) == (3, (), 1)
    assert screening.get("two").labels == {"v0": True, "v1": True, "p00001": False}


def test_a_file_may_not_contradict_the_review(screening, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("id,title,included\nv0,x,0\nother,y,1\n")
    screening.create("one")
    screening.label("one", include=["v0"])
    with pytest.raises(ses.InputError, match="The paper 'v0' is included already; say change"):
        screening.read("one", path)
    assert screening.get("one").labels == {"v0": True}
    done = screening.read("one", path, change=True)
    assert (done.labels, done.unknown) == (1, (3,))
    assert screening.get("one").labels == {"v0": False}


def test_commands(run, tmp_path):
    assert run("create", "lungs").stdout == "The review lungs has 34 candidates.\n"
    assert run("label", "lungs", "--include", "v0", "--exclude", "p00003").stdout == "Papers labelled: 2.\n"
    shown = run("next", "lungs", "--size", "2").stdout.splitlines()
    assert shown[0].startswith("  1. virus lung vaccine")
    assert shown[1].startswith("     2020 · id v")
    told = run("status", "lungs").stdout.splitlines()
    assert told[0] == "34 candidates: 1 included, 1 excluded, 32 unread"
    assert told[1].startswith("Recall is at least 0.030 with 95% confidence; up to 32 relevant")
    assert told[2].startswith("Method: sequential hypergeometric test. It holds however often you look, if each paper")
    assert told[3] == "The target of 0.950 is not reached yet."
    assert json.loads(run("status", "lungs", "--json").stdout)["recall"]["missing_at_most"] == 32
    path = tmp_path / "labels.csv"
    assert run("export", "lungs", "--output", path).stdout == f"34 papers are in {path}.\n"
    path.write_text(path.read_text() + "zz,title,,,,,,,1,\n")
    done = run("label", "lungs", "--path", path).stdout
    assert done == (
        "Papers labelled: 2; records that are no candidates of the review: 1 (line 36); "
        "records without a decision: 32.\n"
    )
    run("label", "lungs", "--include", "v1", "--include", "v2")
    lines = run("simulate", "lungs", "--draws", "2").stdout.splitlines()
    assert len(lines) == 2
    assert "papers read for 95% of 2 relevant ones" in lines[0]
    assert run("list").stdout == "lungs: 4 labels, index papers\n"
    assert run("delete", "lungs", "--yes").stdout == "The review lungs is deleted.\n"
    assert run("list").stdout.startswith("No reviews yet")


def test_a_paper_is_listed_whole(run, monkeypatch):
    run("create", "lungs", "--criteria", "lungs and a Vaccine")
    run("label", "lungs", "--include", "v0", "--exclude", "p00003")
    shown = run("next", "lungs", "--size", "1").stdout.splitlines()
    assert len(shown) == 2
    assert shown[0].startswith("  1. virus lung vaccine ")
    assert shown[1].startswith("     2020 · id v")
    shown = run("next", "lungs", "--size", "33").stdout
    assert "\n     " + papers(30)[1].abstract + "\n" in shown
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setitem(PLAIN, "NO_COLOR", "")
    shown = run("next", "lungs", "--size", "1").stdout
    assert re.findall("\x1b\\[33m\x1b\\[1m(.*?)\x1b", shown) == ["lung", "vaccine"]


def test_criteria_rank_until_a_paper_is_included(home, screening):
    found = home[1]["papers"].search("lung vaccine", mode="lexical", neighbours=0, size=8)
    by_words = [hit.id for hit in found]
    screening.create("lungs", criteria="lung  vaccine")
    assert ids(screening.next("lungs", size=8)) == by_words
    screening.label("lungs", exclude=by_words[:1])
    assert ids(screening.next("lungs", size=7)) == by_words[1:]
    assert len(screening.next("lungs", size=99)) == 33
    screening.create("some", criteria="lung vaccine", filter=f"id!={by_words[0]}")
    assert ids(screening.next("some", size=7)) == by_words[1:]


def test_a_reading_stores_each_decision(screening):
    screening.create("lungs")
    screening.label("lungs", include=["v0"])
    reading = screening.reading("lungs")
    assert reading.language == "english"
    first = reading.next()
    assert reading.next() == first
    reading.decide(first.paper.id, included=True)
    assert screening.get("lungs").labels == {"v0": True, first.paper.id: True}
    second = reading.next().paper.id
    assert second.startswith("v")
    reading.decide(second, included=None)
    third = reading.next().paper.id
    assert third not in (first.paper.id, second)
    reading.decide(third, included=False)
    assert reading.counts() == (2, 1, 1, 31)
    assert screening.status("lungs").later == 1
    # A paper that was put off counts as offered when it is read.
    assert screening.get("lungs").offered == (first.paper.id, third)
    for expected in (third, second, first.paper.id):
        assert reading.undo()
        assert reading.next().paper.id == expected
    assert reading.next() == first
    assert not reading.undo()
    assert screening.get("lungs").labels == {"v0": True}
    assert reading.counts() == (1, 0, 0, 33)


def test_a_reading_learns_and_shows_again_what_is_taken_back(screening):
    screening.create("lungs")
    screening.label("lungs", include=["v0"], exclude=["p00003"])
    reading = screening.reading("lungs")
    before = reading.next()
    reading.decide("p00005", included=True)
    learned = reading.next()
    assert learned == screening.next("lungs", size=1)[0]
    assert learned != before
    assert reading.undo()
    assert reading.next().paper.id == "p00005"


def test_papers_put_off_come_last_in_turn(screening):
    screening.create("lungs", filter="id in (v0, v1, v2, v3)")
    screening.label("lungs", include=["v0"])
    reading = screening.reading("lungs")
    order = []
    for _ in range(5):
        order.append(reading.next().paper.id)
        reading.decide(order[-1], included=None)
    assert order[3:] == order[:2]
    assert ids(screening.next("lungs")) == [order[2], *order[:2]]
    reading.decide(order[2], included=True)
    screening.label("lungs", exclude=[order[0]])  # by another command meanwhile
    assert reading.next().paper.id == order[1]
    reading.decide(order[1], included=False)
    assert reading.next() is None
    assert screening.get("lungs").later == ()
    with pytest.raises(ses.InputError, match="The paper 'p00001' is no candidate of the review lungs"):
        reading.decide("p00001", included=True)


def test_papers_count_as_read_when_they_are_decided(screening):
    screening.create("lungs")
    screening.label("lungs", include=["v0"])
    batch = ids(screening.next("lungs", size=8))
    reading = screening.reading("lungs")
    for paper in reversed(batch):
        reading.decide(paper, included=paper.startswith("v"))
    assert screening.get("lungs").offered == tuple(reversed(batch))
    assert all(one.offered for one in screening.get("lungs").decisions[1:])


@pytest.mark.slow
def test_keys_decide_in_a_terminal(home, screening):
    screening.create("lungs", criteria="lung vaccine")
    screening.label("lungs", include=["v0"])
    told = typed(home[0], ["screen", "next", "lungs"], "ynxluyuq")
    assert "     1 included, 0 excluded, 33 left" in told
    assert "     2 included, 1 excluded, 31 left" in told
    assert "     2 included, 1 excluded, 31 left (1 put off)" in told
    assert told.count("     The last decision is taken back.") == 2
    assert told[-1] == "Stored: 2 included, 1 excluded, 31 left."
    assert len(screening.get("lungs").labels) == 3
    told = typed(home[0], ["screen", "next", "lungs", "--size", "2"], "uny")
    assert "     There is nothing to take back." in told
    assert told[-1] == "Stored: 3 included, 2 excluded, 29 left."
    screening.create("why", filter="id in (v0, v1, v2)")
    screening.label("why", include=["v0"])
    typed(home[0], ["screen", "next", "why"], "rrq", ["no trial", ""])  # the last reason is offered again
    assert screening.status("why").reasons == {"no trial": 2}
    screening.create("few", filter="id in (v0, v1, v2)")
    screening.label("few", include=["v0"])
    assert (
        typed(home[0], ["screen", "next", "few"], "l\x03")[-1] == "Stored: 1 included, 0 excluded, 2 left (1 put off)."
    )
    assert typed(home[0], ["screen", "next", "few"], "nN")[-1] == (
        "All papers are labelled. Stored: 1 included, 2 excluded, 0 left."
    )


def typed(folder, arguments, keys, reasons=()):
    """Run a command in a terminal of its own, press keys there, and return the lines it shows, without styles.

    `reasons` are typed where it asks for one.
    """
    terminal, end = pty.openpty()
    environment = {**os.environ, **of(folder), "TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "80"}
    command = [sys.executable, "-m", "ses", *arguments]
    told = end if reasons else subprocess.DEVNULL  # Python asks for a line there
    with subprocess.Popen(command, stdin=end, stdout=end, stderr=told, env=environment) as process:
        os.close(end)
        shown = b""
        pressed = answered = 0
        while select.select([terminal], [], [], 60)[0]:
            try:
                shown += os.read(terminal, 65_536)
            except OSError:  # the process has left
                break
            while pressed < len(keys) and pressed < shown.count(b"q quit"):
                # What is typed before the terminal is in raw mode is lost.
                while process.poll() is None and termios.tcgetattr(terminal)[3] & termios.ICANON:
                    time.sleep(0.01)
                os.write(terminal, keys[pressed].encode())
                pressed += 1
            while answered < len(reasons) and answered < shown.count(b"Reason"):
                os.write(terminal, f"{reasons[answered]}\n".encode())
                answered += 1
        else:
            process.kill()
    os.close(terminal)
    return shown.decode().replace("\r", "").rstrip("\n").split("\n")


def test_pages_show_what_was_found(run, screening, tmp_path):
    run("create", "lungs")
    run("label", "lungs", "--include", "v0")
    run("status", "lungs", "--html", tmp_path / "begun.html")
    assert "papers included over papers read" not in (tmp_path / "begun.html").read_text()
    reading = screening.reading("lungs")
    for included in (True, False, True, None):
        reading.decide(reading.next().paper.id, included=included)
    told = run("status", "lungs", "--html", tmp_path / "status.html").stdout
    assert told.startswith("34 candidates: 3 included, 1 excluded, 30 unread (1 of them put off)\n")
    page = (tmp_path / "status.html").read_text()
    # One was known beforehand, and two were found among three.
    assert "papers included over papers read. included: 3 at 3." in page
    assert "34 candidates: 3 included" in page
    run("simulate", "lungs", "--draws", "2", "--html", tmp_path / "runs.html")
    page = (tmp_path / "runs.html").read_text()
    assert "recall over papers read. start 1: 1 at 2; start 2: 1 at 2." in page


def test_reasons_are_counted_and_leave_with_the_exclusion(run, screening, tmp_path):
    run("create", "lungs")
    run("label", "lungs", "--include", "v0", "--exclude", "v1", "--exclude", "v2", "--reason", "wrong\npopulation")
    screening.label("lungs", exclude=["v3"], reason="no trial")
    screening.label("lungs", exclude=["p00003"])
    assert (
        "Excluded by reason: wrong population (2), no trial (1); without a reason: 1.\n"
        in run("status", "lungs").stdout
    )
    run("export", "lungs", "--output", tmp_path / "x.csv")
    # Another reason takes the place of the first; without one, it stays; who is included has none.
    screening.label("lungs", exclude=["v1"], reason="no trial")
    screening.label("lungs", exclude=["v3", "p00003"])
    screening.label("lungs", include=["v2"], change=True)
    assert {one.id: one.reason for one in screening.get("lungs").decisions if one.reason} == {
        "v1": "no trial",
        "v3": "no trial",
    }
    run("create", "again")
    run("label", "again", "--path", tmp_path / "x.csv")
    assert screening.status("again").reasons == {"wrong population": 2, "no trial": 1}
    fails(run("label", "lungs", "--include", "p00004", "--reason", "no"), 2, "A reason is one for exclusion")


def test_reasons_that_differ_in_capitals_are_one(run, screening):
    screening.create("lungs")
    for paper, reason in (("v0", "No trial"), ("v1", "no trial"), ("v2", "no trial"), ("v3", "animals")):
        screening.label("lungs", exclude=[paper], reason=reason)
    assert screening.status("lungs").reasons == {"no trial": 3, "animals": 1}
    assert "Excluded by reason: no trial (3), animals (1).\n" in run("status", "lungs").stdout


def test_who_decided_is_kept_and_told(run, screening, tmp_path):
    began = datetime.now(UTC).replace(microsecond=0)
    run("create", "lungs", "--screener", "Ada\nByron")
    assert screening.get("lungs").screener == "Ada Byron"
    run("label", "lungs", "--include", "v0", "--exclude", "v1")
    run("label", "lungs", "--exclude", "v2", "--by", "Bo")
    screening.reading("lungs", by="Cy\n").decide("v3", included=True)
    screening.reading("lungs").decide("p00001", included=False)
    screening.label("lungs", include=["v0"], by="Bo")  # the same decision stays that of Ada
    screening.label("lungs", include=["v1"], by="Bo", change=True)
    made = screening.get("lungs").decisions
    names = {"v0": "Ada Byron", "v1": "Bo", "v2": "Bo", "v3": "Cy", "p00001": "Ada Byron"}
    assert {one.id: one.by for one in made} == names
    assert all(began <= datetime.fromisoformat(one.at) <= datetime.now(UTC) for one in made)
    assert "\nDecisions by: Ada Byron (2), Bo (2), Cy (1).\n" in run("status", "lungs").stdout
    for suffix in ("csv", "ris"):
        run("export", "lungs", "--output", tmp_path / f"x.{suffix}")
        screening.create(suffix)
        run("label", suffix, "--path", tmp_path / f"x.{suffix}", "--by", "Dee")
        assert {one.id: one.by for one in screening.get(suffix).decisions} == names
    (tmp_path / "bare.csv").write_text("id,title,included\nv0,x,1\n")
    screening.create("bare")
    run("label", "bare", "--path", tmp_path / "bare.csv", "--by", "Dee")
    screening.label("bare", exclude=["v1"])
    assert [one.by for one in screening.get("bare").decisions] == ["Dee", ""]
    assert "\nDecisions by: Dee (1); without a name: 1.\n" in run("status", "bare").stdout
    told = run("compare", "bare", "lungs").stdout.splitlines()
    assert told[1] == "v1: included in lungs by Bo, excluded in bare  virus lung vaccine gene"
    assert "v1: included in lungs by Bo, excluded in bare" in run("compare", "lungs", "bare").stdout
    (one,) = screening.compare("bare", "lungs").conflicts
    assert (one.by, one.other_by) == ("", "Bo")


def test_mistakes_are_told_in_a_sentence(run, tmp_path):
    run("create", "one")
    fails(run("next", "one"), 2, "No paper is included yet, so there is nothing to learn from; label at least one")
    fails(run("simulate", "one"), 2, "at least two included papers and one excluded")
    fails(run("label", "one"), 2, "No label is given; give --include, --exclude or --path")
    fails(run("label", "one", "--include", "zz"), 2, "The index papers holds no paper 'zz'")
    fails(run("label", "one", "--include", "v0", "--exclude", "v0"), 2, "both included and excluded; give it once")
    run("label", "one", "--include", "v0")
    fails(run("label", "one", "--exclude", "v0"), 2, "'v0' is included already; say --change to replace its label")
    fails(run("next", "one", "--size", "0"), 2, "give a --size of 1 or more")
    fails(run("status", "one", "--target", "2"), 2, "give a --target above 0")
    fails(run("label", "one", "--path", "x.doc"), 2, "give it a name that ends in .csv, .ris, .asreview")
    fails(run("label", "one", "--path", tmp_path / "none.csv"), 2, "none.csv")
    fails(run("export", "one", "--output", tmp_path / "no" / "x.csv"), 3, "can't be written")
    fails(run("create", "one"), 2, "There is a review one already")
    fails(run("status", "two"), 2, "There is no review 'two'; choose one of one")


# Kappa by scikit-learn's cohen_kappa_score.
@pytest.mark.parametrize(("start", "kappa"), [(0, -1 / 29), (1, -4 / 31), (2, 6 / 31)])
def test_two_screeners_are_compared_by_kappa_and_conflicts(screening, start, kappa):
    ids_ = [paper.id for paper in WANTED] + [f"p{n:05}" for n in range(1, 9)]
    labels = {
        "one": {id_: number % 3 != 0 for number, id_ in enumerate(ids_)},
        "two": {id_: (number + start) % 4 == 0 for number, id_ in enumerate(ids_[2:])},
    }
    for name, given in labels.items():
        screening.create(name)
        include, exclude = ([id_ for id_, label in given.items() if label == side] for side in (True, False))
        screening.label(name, include=include, exclude=exclude)
    screening.label("two", include=["p00020", "p00021"])  # labels of one screener alone do not count
    found = screening.compare("one", "two")
    assert screening.compare("two", "one").kappa == pytest.approx(kappa, abs=1e-12)
    pairs = {id_: (labels["one"][id_], labels["two"][id_]) for id_ in ids_[2:]}
    assert found.kappa == pytest.approx(kappa, abs=1e-12)
    assert {one.id: one.included for one in found.conflicts} == {i: a for i, (a, b) in pairs.items() if a != b}
    counted = [sum(pair == (side, side) for pair in pairs.values()) for side in (True, False)]
    assert (found.both, [found.included, found.excluded]) == (len(pairs), counted)


def test_the_command_lists_conflicts(run, screening):
    for name, include, exclude in (("one", ["v0", "v1"], ["p00003"]), ("two", ["v0"], ["v1"])):
        screening.create(name)
        screening.label(name, include=include, exclude=exclude)
    assert run("compare", "one", "two").stdout.splitlines() == [
        "Papers labelled in both: 2; included by both: 1, excluded by both: 0, in conflict: 1. Cohen's kappa: 0.000.",
        "v1: included in one, excluded in two  virus lung vaccine gene",
    ]
    screening.create("three")
    screening.label("three", include=["v0", "p00004"])
    assert run("compare", "three", "two").stdout == (
        "Papers labelled in both: 1; included by both: 1, excluded by both: 0, in conflict: 0. "
        "Cohen's kappa: undefined, since all labels are the same.\n"
    )
    screening.create("four")
    fails(run("compare", "one", "four"), 2, "No paper has a label in both reviews, one and four")
    screening.kept.create("five", replace(screening["two"], index="another"))
    fails(run("compare", "one", "five"), 2, "The reviews one and five are over different indexes")
