import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given

from corpora.errors import InputError, SesError
from encoders.formats import Format
from encoders.heads import Head
from products.tags.hierarchy import Concept, Hierarchy, make_hierarchy
from products.tags.measures import measured
from products.tags.report import label_rows, report_page, summary_lines
from products.tags.store import DESCRIPTION, read_tagger, write_tagger
from products.tags.suggest import suggested
from products.tags.tagger import Tagger
from products.trained import TrainedVectors, names_in, place_of
from tests.damage import EDITS, edited

SOURCE = TrainedVectors("tiny", "0123", Format.CLF)
KNOWN = make_hierarchy([Concept("b", ("a",), "A letter", ("B",)), Concept("c")])


def make_tagger(**parts):
    draw = np.random.default_rng(0)
    weight = draw.standard_normal((3, 4)).astype(np.float32)
    head = Head("letters", Format.CLF, ("a", "b", "c"), several=True, weight=weight, bias=np.zeros(3, np.float32))
    curve = np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.2, 0.9])
    thresholds = np.array([0.5, 0.3, np.inf])
    return Tagger("letters", SOURCE, head, thresholds, {"c": curve}, KNOWN, made_from="a test", **parts)


VECTORS = np.random.default_rng(1).standard_normal((50, 4)).astype(np.float32)


def with_measures(tagger):
    truth = (np.random.default_rng(2).random((50, 3)) < 0.4).astype(np.int8)
    found = tagger.probabilities(VECTORS)
    measures = measured(
        found,
        tagger.given(found),
        truth,
        tagger.labels,
        thresholds=tagger.thresholds,
        trained=[1, 2, 3],
        how="50 papers",
    )
    return make_tagger(measures=measures), truth


def test_a_stored_tagger_tags_alike(tmp_path):
    tagger, _ = with_measures(make_tagger(most=2))
    write_tagger(tmp_path / "letters", tagger)
    again = read_tagger(tmp_path / "letters")
    assert again.tags(VECTORS) == tagger.tags(VECTORS)
    np.testing.assert_array_equal(again.probabilities(VECTORS), tagger.probabilities(VECTORS))
    for part in ("name", "source", "hierarchy", "most", "method", "made_from", "measures"):
        assert getattr(again, part) == getattr(tagger, part)
    assert sorted(path.suffix for path in (tmp_path / "letters").iterdir()) == [".json", ".json", ".safetensors"]


def test_probabilities_are_the_heads_with_the_curve_and_the_hierarchy():
    tagger = make_tagger()
    plain = 1 / (1 + np.exp(-VECTORS @ tagger.head.weight.T))
    found = tagger.probabilities(VECTORS)
    np.testing.assert_allclose(found[:, 0], np.maximum(plain[:, 0], plain[:, 1]), atol=1e-6)
    np.testing.assert_allclose(found[:, 1], plain[:, 1], atol=1e-6)
    np.testing.assert_allclose(found[:, 2], np.interp(plain[:, 2], [0, 0.5, 1], [0.1, 0.2, 0.9]), atol=1e-6)


def test_a_paper_gets_the_likeliest_labels_alone_where_their_number_is_limited():
    tagger = make_tagger(most=1)
    given = tagger.given(np.array([[0.9, 0.6, 1.0], [0.6, 0.9, 0.1], [0.2, 0.1, 0.0], [0.8, 0.4, 0.2]]))
    # The third is never given, and the second brings the first.
    assert given.tolist() == [[False] * 3, [True, True, False], [False] * 3, [True, False, False]]


def test_measures_are_those_of_their_definitions():
    from sklearn.metrics import f1_score, precision_score, recall_score

    tagger, truth = with_measures(make_tagger())
    given = tagger.given(tagger.probabilities(VECTORS))
    found = tagger.measures
    assert found.macro_f1 == pytest.approx(f1_score(truth, given, average="macro", zero_division=0))
    assert found.micro_f1 == pytest.approx(f1_score(truth, given, average="micro"))
    assert found.untagged == pytest.approx((~given.any(axis=1)).mean())
    for number, one in enumerate(found.labels):
        pair = truth[:, number], given[:, number]
        assert (one.precision, one.recall) == pytest.approx(
            (precision_score(*pair, zero_division=0), recall_score(*pair, zero_division=0))
        )
        assert sum(part.count for part in one.bins) == 50
    assert [one.threshold for one in found.labels] == [0.5, 0.3, None]


def test_unknown_truths_count_neither_way():
    truth = np.array([[1], [-1], [0]], np.int8)
    given = np.array([[True], [True], [False]])
    found = measured(given.astype(float), given, truth, ["a"], thresholds=np.array([0.5]), trained=[1], how="")
    assert (found.labels[0].precision, found.labels[0].recall, found.labels[0].ece) == (1, 1, 0)


def test_the_report_names_every_label_and_draws_it():
    tagger, _ = with_measures(make_tagger())
    told = "\n".join(summary_lines(tagger))
    assert "3 labels from a test, on clf vectors of tiny (0123)" in told
    assert "Never given, since the precision can't be reached: c" in told
    assert [row[0] for row in label_rows(tagger.measures)] == ["label", "a", "b", "c"]
    page = report_page(tagger)
    assert page.count("<svg") == 4
    assert "<script" not in page
    assert "was not measured" in "".join(summary_lines(make_tagger()))


def test_names_of_labels_are_escaped_in_the_page():
    head = Head(
        "x", Format.CLF, ("<b>",), several=True, weight=np.zeros((1, 4), np.float32), bias=np.zeros(1, np.float32)
    )
    tagger = Tagger("x", SOURCE, head, np.array([0.5]), made_from="<i>")
    found = measured(
        np.ones((2, 1)), np.ones((2, 1), bool), np.ones((2, 1), np.int8), ["<b>"], thresholds=tagger.thresholds,
        trained=[1], how="",
    )  # fmt: skip
    page = report_page(Tagger("x", SOURCE, head, np.array([0.5]), made_from="<i>", measures=found))
    assert "<b>" not in page
    assert "<i>" not in page


def test_suggestions_are_papers_in_doubt_that_differ():
    head = Head(
        "x", Format.CLF, ("a",), several=True, weight=np.eye(1, 4, dtype=np.float32), bias=np.zeros(1, np.float32)
    )
    tagger = Tagger("x", SOURCE, head, np.array([0.5]), hierarchy=Hierarchy())
    rows = np.array([[0.01, 1, 0, 0], [0.0, 1, 0, 0], [0.02, 0, 1, 0], [5, 0, 0, 1], [-5, 0, 0, 1]], np.float32)
    found = suggested(tagger, list("pqrst"), rows, 2)
    assert [one.id for one in found] == ["q", "r"]  # not the twin of the first, nor what is certain
    assert found[0].probability == pytest.approx(0.5)
    assert len(suggested(tagger, list("pqrst"), rows, 9)) == 5
    assert suggested(tagger, [], rows[:0], 3) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"thresholds": [0.5]}, "1 thresholds for 3 labels"),
        ({"curves": {"c": [[1, 0], [0, 1]]}}, "does not ascend"),
        ({"hierarchy": [{"label": "a", "broader": ["a"]}]}, "has a cycle"),
        ({"measures": {"papers": 1}}, "can't be read"),
    ],
)
def test_a_tagger_whose_files_do_not_fit_is_refused(tmp_path, change, said):
    write_tagger(tmp_path, make_tagger())
    path = tmp_path / DESCRIPTION
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InputError, match=said):
        read_tagger(tmp_path)


@given(EDITS)
def test_a_damaged_tagger_is_read_or_refused(tmp_path_factory, edits):
    folder = tmp_path_factory.mktemp("damaged")
    write_tagger(folder, make_tagger())
    path = folder / DESCRIPTION
    path.write_bytes(edited(path.read_bytes(), edits))
    with suppress(SesError):
        read_tagger(folder)


def test_a_name_that_is_missing_or_leads_elsewhere_is_refused(tmp_path):
    (tmp_path / "one" / "mine").mkdir(parents=True)
    folders = [tmp_path / "none", tmp_path / "one"]
    assert place_of(folders, "mine", "tagger") == tmp_path / "one" / "mine"
    assert names_in(folders) == ["mine"]
    with pytest.raises(InputError, match=r"no tagger 'yours' \(available: mine\)"):
        place_of(folders, "yours", "tagger")
    with pytest.raises(InputError, match="can't be named"):
        place_of(folders, "../one", "tagger")
