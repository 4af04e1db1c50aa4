"""Screening for systematic reviews: the measures by hand, the two likenesses, files as they come, real reviews."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError
from eval.embedder import Text, Vectors
from eval.screening import (
    LIKENESSES,
    Review,
    Reviews,
    average_precision,
    by_likeness,
    evaluate_screening,
    read_reviews,
    recall_after,
    screen,
    work_saved,
)
from ses.terminal.commands.eval import eval_

RELEVANT = st.lists(st.booleans(), min_size=1, max_size=60).filter(any)


def at(size: int, *ranks: int) -> np.ndarray:
    return np.isin(np.arange(1, size + 1), ranks)


@given(RELEVANT)
def test_average_precision_is_trec_evals(relevant):
    import pytrec_eval

    qrels = {"q": {f"d{n}": int(one) for n, one in enumerate(relevant)}}
    run = {"q": {f"d{n}": float(-n) for n in range(len(relevant))}}
    expected = pytrec_eval.RelevanceEvaluator(qrels, {"map"}).evaluate(run)["q"]["map"]
    assert average_precision(np.array(relevant)) == pytest.approx(expected)


def test_work_saved_by_hand():
    # 100 papers, 20 relevant: 95 % are 19, the 19th at rank 40; 60 aren't read, and 5 % would be saved by chance.
    ranks = [*range(1, 19), 40, 90]
    assert work_saved(at(100, *ranks)) == pytest.approx(60 / 100 - 0.05)
    # One of one: all are needed, and it comes last.
    assert work_saved(at(10, 10)) == pytest.approx(-0.05)
    assert work_saved(at(10, 1)) == pytest.approx(9 / 10 - 0.05)
    assert work_saved(at(10, 2, 5), recall=0.5) == pytest.approx(8 / 10 - 0.5)


@given(RELEVANT, st.sampled_from([0.5, 0.8, 0.95, 1.0]))
def test_work_saved_is_cohens_formula_at_the_first_rank_of_enough_recall(relevant, recall):
    total = sum(relevant)
    read = next(n for n in range(1, len(relevant) + 1) if 1000 * sum(relevant[:n]) >= round(1000 * recall) * total)
    unread = relevant[read:]
    true_negatives, false_negatives = unread.count(False), unread.count(True)
    expected = (true_negatives + false_negatives) / len(relevant) - (1 - recall)
    assert work_saved(np.array(relevant), recall) == pytest.approx(expected)


def test_recall_after_a_share_of_the_papers_by_hand():
    relevant = at(15, 1, 3, 4, 15)
    assert [recall_after(relevant, percent) for percent in (10, 20, 50)] == [1 / 4, 2 / 4, 3 / 4]
    assert recall_after(at(9, 1), 10) == 0  # a tenth of nine is no whole paper


def review(name: str, *included: bool) -> Review:
    papers = tuple(Text(f"{name}:{n}", "t") for n in range(len(included)))
    return Review(name, papers, included)


def test_mean_and_nearest_seed_rank_otherwise():
    one = review("r", True, True, False, False, False)
    rows = np.array([[2, 0], [0, 3], [1, 1], [1, 0.1]], np.float32)
    vectors = Vectors({f"r:{n}": n for n in range(4)}, rows)
    mean, nearest = (by_likeness(vectors, kind)(one, [0, 1], [2, 3, 4]) for kind in ("mean", "max"))
    length = np.hypot(1, 0.1)
    # The seeds count alike whatever their lengths; the paper without a vector is last.
    assert mean.tolist() == pytest.approx([0.5**0.5, (1 + 0.1) / 2 / length, -np.inf])
    assert nearest.tolist() == pytest.approx([0.5**0.5, 1 / length, -np.inf])


def test_each_draw_ranks_all_but_its_seeds_and_reviews_count_alike():
    asked = []

    def ranker(one, seeds, rest):
        asked.append((one.name, tuple(seeds), tuple(rest)))
        return np.array([1.0 if one.included[row] == (one.name == "good") else 0.0 for row in rest])

    good, bad, few = review("good", True, True, False), review("bad", True, True, False), review("few", True, False)
    outcome = screen(Reviews((good, bad, few), {"rows_left_out": 4}), ranker, draws=6)
    assert outcome.per_unit["AP"] == {"good": 1.0, "bad": 0.5}
    assert outcome.cells["AP"].mean == 0.75
    assert len(asked) == 12
    assert {seeds for _, seeds, _ in asked} == {(0,), (1,)}
    assert all(sorted((*seeds, *rest)) == [0, 1, 2] for _, seeds, rest in asked)
    assert (outcome.counts["reviews_with_too_few_included"], outcome.counts["rows_left_out"]) == (1, 4)


def test_all_measures_and_counts_of_a_screening_by_hand():
    whole = review("all", True, True), review("none", False, False), review("few", True, False)
    one = review("r", True, True, *[False] * 9, True)
    asked = []

    def by_row(given, seeds, rest):
        asked.append(len(seeds))
        return -np.array(rest)

    outcome = screen(Reviews((*whole, one), {"rows_left_out": 4}), by_row)
    assert asked == [1] * 10
    assert outcome.counts == {
        "reviews": 1,
        "papers": 12,
        "included": 3,
        "seeds": 1,
        "draws": 10,
        "reviews_with_too_few_included": 3,
        "rows_left_out": 4,
    }
    # Of rows 0, 1 and 11 one is the seed; of the eleven others the first or the first two, and the last, are included.
    ends, starts = {"AP": (1 + 2 / 11) / 2, "Recall@10%": 0.5}, {"AP": 1.0, "Recall@10%": 0.5}
    both = np.random.default_rng([0, *b"r"])
    values = []
    for _ in range(10):
        seed = both.choice([0, 1, 11], 1, replace=False)[0]
        both.random(11)
        values.append((starts if seed == 11 else ends)["AP"])
    assert outcome.per_unit["AP"] == {"r": pytest.approx(np.mean(values))}
    assert outcome.per_unit["Recall@10%"] == {"r": 0.5}
    assert list(outcome.cells) == ["AP", "WSS@95", "Recall@10%", "Recall@20%", "Recall@50%"]
    for seeds, draws in ((0, 1), (1, 0)):
        with pytest.raises(InputError, match=f"1 or more, not {seeds} and {draws}"):
            screen(Reviews((one,)), by_row, seeds=seeds, draws=draws)
    assert screen(Reviews((one,)), by_row, seeds=2, draws=1).counts["seeds"] == 2


def test_a_ranker_worse_than_chance_has_intervals_too():
    worst = [review(name, *[False] * 18, True, True) for name in ("a", "b", "c")]
    # All others come before the included one: nothing is saved, which is worth -0.05.
    found = screen(Reviews(tuple(worst)), lambda one, seeds, rest: -np.array(one.included, float)[list(rest)])
    cell = found.cells["WSS@95"]
    assert cell.mean == pytest.approx(-0.05)
    # With three reviews, the weight of a fourth is beta(1, 3), whose quantile at .975 is .708; it may save .95.
    assert (cell.low, cell.high) == pytest.approx((-0.05, -0.05 + 0.708), abs=0.01)


def test_draws_are_a_reviews_own_and_ties_are_drawn():
    reviews = review("a", *[True] * 10, *[False] * 90), review("b", *[True] * 10, *[False] * 90)

    def equal(one, seeds, rest):
        return np.zeros(len(rest))

    both, alone = screen(Reviews(reviews), equal, draws=40), screen(Reviews(reviews[1:]), equal, draws=40)
    assert both.per_unit["AP"]["b"] == alone.per_unit["AP"]["b"] != both.per_unit["AP"]["a"]
    assert both.cells["Recall@50%"].mean == pytest.approx(0.5, abs=0.06)  # the file has the included first
    assert screen(Reviews(reviews), equal, draws=40, random_seed=1).per_unit != both.per_unit


def test_too_many_seeds_are_refused():
    with pytest.raises(InputError, match="use fewer seeds"):
        screen(Reviews((review("r", True, True, False),)), lambda *_: np.zeros(1), seeds=2)


@pytest.fixture
def files(tmp_path):
    folder = tmp_path / "csv"
    folder.mkdir()
    (folder / "A.csv").write_text(
        "\ufefftitle,abstract,label_abstract_screening,label_included\n"
        '"Cats, and dogs",On cats,1,1\nCows,,1,0\n,,1,1\nHens,On hens,1,1\nPigs,On pigs,0,?\n',
        encoding="utf-8",
    )
    (folder / "B.csv").write_text("title,abstract,labels\nX,x,1\nY,y,1\nZ,z,0\n")
    (folder / "C.csv").write_text("title,abstract\nX,x\n")
    return folder


def test_files_are_read_as_they_come(files):
    read = read_reviews(files)
    first, second = read.reviews
    assert first.papers == (
        Text("A:1", "Cats, and dogs", "On cats"),
        Text("A:2", "Cows", ""),
        Text("A:4", "Hens", "On hens"),
    )
    assert (first.included, second.included) == ((True, False, True), (True, True, False))
    assert read.counts == {"files_without_decisions": 1, "rows_left_out": 2}
    assert read_reviews(files / "B.csv").reviews == (second,)


@pytest.mark.parametrize(
    ("columns", "chosen"),
    [("label,included,labels,label_included", 3), ("label,included,labels", 2), ("label,included", 1), ("label", 0)],
)
def test_the_decision_is_in_the_best_of_the_columns(tmp_path, columns, chosen):
    rows = [",".join(["x", *("1.0" if place == chosen else "0" for place in range(columns.count(",") + 1))])]
    rows += [",".join(["y", *("0.0" if place == chosen else "1" for place in range(columns.count(",") + 1))])]
    (tmp_path / "Mine.CSV").write_text("\n".join([f"title,{columns}", *rows]))
    (only,) = read_reviews(tmp_path / "Mine.CSV").reviews
    assert only == Review("Mine", (Text("Mine:1", "x", ""), Text("Mine:2", "y", "")), (True, False))


def test_a_review_lies_once_in_a_folder_and_needs_titles(files):
    (files / "more").mkdir()
    (files / "more" / "D.csv").write_text("abstract,label_included\nx,1\n")
    assert read_reviews(files).counts == {"files_without_decisions": 2, "rows_left_out": 2}
    (files / "more" / "B.csv").write_text("title,label\nx,1\n")
    with pytest.raises(InputError, match="two files of the same name"):
        read_reviews(files)


@pytest.mark.parametrize("content", [b"title,labels\n\xff,1\n", b"title\nx\n", b""])
def test_files_that_are_no_reviews_are_refused(tmp_path, content):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"can't be read as CSV|holds no review|is empty"):
        read_reviews(tmp_path)


def test_the_command_prints_both_likenesses(files, tmp_path):
    rows = {"A:1": [1, 0], "A:2": [0, 1], "A:4": [1, 0.1], "B:1": [1, 0], "B:2": [0, 1]}
    file = tmp_path / "v.jsonl"
    file.write_text("".join(json.dumps({"doc_id": name, "embedding": row}) + "\n" for name, row in rows.items()))
    run = CliRunner().invoke(
        eval_, ["screening", "--data", str(files), "--embeddings", str(file), "--draws", "2", "--json"]
    )
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["data"] == str(files)
    told = json.loads(run.stdout)["rows"]
    assert [row["likeness"] for row in told] == ["mean", "max"]
    assert told[0]["measures"]["AP"]["mean"] == 1  # Z has no vector, so it is last
    assert told[0]["counts"]["papers_without_vector"] == 1


def test_real_reviews(data_dir):
    read = read_reviews(data_dir / "eval" / "systematic-reviews.tar.xz")
    assert len(read.reviews) == 19
    assert read.counts == {"files_without_decisions": 2, "rows_left_out": 5}
    by_name = {one.name: sum(one.included) for one in read.reviews}
    assert (by_name["SkeletalMuscleRelaxants"], by_name["Hamilton_2022"], by_name["Bannach-Brown_2019"]) == (9, 90, 280)

    def embed(texts, task_format):
        words = sorted({word for text in texts for word in text.title.lower().split()})[::40]
        column = {word: n for n, word in enumerate(words)}
        matrix = np.zeros((len(texts), len(words)), np.float32)
        for row, text in enumerate(texts):
            for word in text.title.lower().split():
                matrix[row, column.get(word, 0)] += word in column
        return Vectors({text.id: row for row, text in enumerate(texts)}, matrix)

    few = Reviews(tuple(one for one in read.reviews if len(one.papers) < 400))
    outcomes = evaluate_screening(few, embed, draws=3)
    assert len(outcomes) == len(LIKENESSES)
    assert all(0.05 < outcome.cells["AP"].mean < 0.95 for outcome in outcomes.values())


def test_compressed_files_are_read(files):
    read = read_reviews(files)
    (files / "A.csv.gz").write_bytes(gzip.compress((files / "A.csv").read_bytes()))
    (files / "A.csv").unlink()
    assert read_reviews(files) == read
    assert read_reviews(files / "A.csv.gz").reviews == read.reviews[:1]


def test_what_cannot_be_measured_is_told_before_anything_is_embedded():
    review = Review("r", (Text("r:1", "x"), Text("r:2", "y")), (True, False))
    with pytest.raises(InputError, match="use fewer seeds"):
        evaluate_screening(Reviews((review,)), lambda *_: pytest.fail("embedded"))
