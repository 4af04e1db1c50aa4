import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from corpora.errors import InputError, SesError
from corpora.progress import Silent
from encoders.heads import Head
from encoders.models.formats import Format
from eval.reports import html
from products.tags.apply import apply_tagger, measure_tagger, record_labels, suggested
from products.tags.hierarchy import Concept, Hierarchy, make_hierarchy
from products.tags.labels import LabelledPapers
from products.tags.measures import LabelMeasures, measured
from products.tags.names import tagger_of_names
from products.tags.report import label_rows, summary_lines, tagger_report
from products.tags.tagger import DESCRIPTION, Tagger, read_tagger, write_tagger
from products.trained import TrainedVectors, names_in, place_of
from tests.damage import EDITS, edited
from tests.eval.reports.test_forms import PROVENANCE
from tests.search_plugin.engines.embedded.small import make

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


def test_labels_without_a_test_paper_leave_the_mean_f1_as_it_is():
    truth = np.array([[1, 0], [1, 0]], np.int8)
    given = truth == 1
    found = measured(
        given.astype(float), given, truth, ["a", "b"], thresholds=np.array([0.5, 0.5]), trained=[1, 1], how=""
    )
    assert [one.positives for one in found.labels] == [2, 0]
    assert found.macro_f1 == 1


def page_of(tagger):
    return html.render(tagger_report(tagger, PROVENANCE))


def test_the_report_names_every_label_and_draws_it():
    tagger, _ = with_measures(make_tagger())
    told = "\n".join(summary_lines(tagger))
    assert "3 labels from a test, on clf vectors of tiny (0123)" in told
    assert "Never given, since the precision can't be reached: c" in told
    assert [row[0] for row in label_rows(tagger.measures)] == ["label", "a", "b", "c"]
    page = page_of(tagger)
    assert page.count("<svg") == 2
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
    page = page_of(Tagger("x", SOURCE, head, np.array([0.5]), made_from="<i>", measures=found))
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


def test_a_suggestion_differs_from_all_before_it():
    head = Head(
        "x", Format.CLF, ("a",), several=True, weight=np.eye(1, 4, dtype=np.float32), bias=np.zeros(1, np.float32)
    )
    tagger = Tagger("x", SOURCE, head, np.array([0.5]), hierarchy=Hierarchy())
    # The third is like the first, and differs from the second; the fourth is between all of them.
    rows = np.array([[0.0, 1, 0, 0], [0.01, 0, 1, 0], [0.02, 1, 0, 0], [0.03, 1, 1, 1]], np.float32)
    assert [one.id for one in suggested(tagger, list("pqrs"), rows, 3)] == ["p", "q", "s"]


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


@pytest.mark.parametrize("number", ["1e999", "-Infinity", "9" * 400, "NaN"])
@pytest.mark.parametrize("key", ["most", "thresholds"])
def test_numbers_that_no_program_holds_are_refused(tmp_path, key, number):
    write_tagger(tmp_path, make_tagger())
    path = tmp_path / DESCRIPTION
    told = json.loads(path.read_text())
    given = json.dumps(told | {key: "HERE"}).replace('"HERE"', number if key == "most" else f"[{number}, 0]")
    path.write_text(given)
    with pytest.raises(InputError, match=r"not finite|400 digits"):
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


def test_a_tagger_is_measured_by_the_labels_that_it_shares():
    tagger, _ = with_measures(make_tagger())
    truth = np.random.default_rng(4).integers(-1, 2, (50, 2)).astype(np.int8)
    papers = LabelledPapers(
        tuple(f"p{row}" for row in range(50)), ("other", "c", "b"), np.c_[truth[:, 0], truth], {}, ()
    )
    found = measure_tagger(tagger, papers, VECTORS, "a table").measures
    probabilities = tagger.probabilities(VECTORS)
    given = tagger.given(probabilities)
    assert found == measured(probabilities[:, 1:], given[:, 1:], truth[:, ::-1], ["b", "c"],
                             thresholds=np.array([0.3, np.inf]), trained=[2, 3],
                             how="50 papers with labels from a table")  # fmt: skip
    assert [one.trained for one in measure_tagger(make_tagger(), papers, VECTORS, "").measures.labels] == [0, 0]
    with pytest.raises(InputError, match="The tagger letters has none of the labels from a table"):
        measure_tagger(tagger, LabelledPapers((), ("other",), truth[:, :1], {}, ()), VECTORS, "a table")


def test_names_are_given_to_the_papers_that_are_much_nearer_than_the_mean(tmp_path):
    queries, asked = np.random.default_rng(5).standard_normal((3, 4)).astype(np.float32), []

    class Encoder:
        def encode(self, texts, task_format):
            asked.append((texts, task_format))
            return queries

    made = tagger_of_names("x", SOURCE, KNOWN, Encoder(), VECTORS, near=0.5, made_from="names")
    assert asked == [(["a", "b. A letter", "c"], Format.QRY)]
    closeness = VECTORS @ queries.T
    far = (closeness - closeness.mean(axis=0)) / closeness.std(axis=0)
    found = made.probabilities(VECTORS)[:, 1:]
    np.testing.assert_allclose(found, (1 / (1 + np.exp(0.5 - far)))[:, 1:], atol=1e-5)
    assert made.given(made.probabilities(VECTORS))[:, 1:].tolist() == (far >= 0.5)[:, 1:].tolist()
    assert (made.method, made.most, made.made_from, made.hierarchy) == ("names", 3, "names", KNOWN)
    write_tagger(tmp_path / "x", made)
    assert read_tagger(tmp_path / "x").method == "names"
    made = tagger_of_names("x", SOURCE, KNOWN, Encoder(), VECTORS, most=1)
    assert (made.most, made.given(np.eye(3)).tolist()) == (
        1,
        [[True, False, False], [True, True, False], [False, False, True]],
    )
    assert made.head.bias == pytest.approx(-closeness.mean(axis=0) / closeness.std(axis=0) - 2, abs=1e-5)
    with pytest.raises(InputError, match="3 labels can't be compared with 1 papers; give some of both"):
        tagger_of_names("x", SOURCE, KNOWN, Encoder(), VECTORS[:1])
    with pytest.raises(InputError, match="0 labels can't be compared with 50 papers"):
        tagger_of_names("x", SOURCE, Hierarchy(), Encoder(), VECTORS)
    tagger_of_names("x", SOURCE, KNOWN, Encoder(), VECTORS[:2])


def test_doubt_is_the_distance_from_the_threshold_as_a_share_of_the_largest_possible():
    weight = np.eye(2, 4, dtype=np.float32)
    head = Head("x", Format.CLF, ("a", "b"), several=True, weight=weight, bias=np.zeros(2, np.float32))
    tagger = Tagger("x", SOURCE, head, np.array([0.2, np.inf]))
    wanted = np.array([[0.6, 0.9], [0.1, 0.3], [0.2, 0.05]])  # doubts of 0.5 and 0.2, of 0.875 and 0.6, of 1 and 0.1
    rows = np.c_[np.log(wanted / (1 - wanted)), 100 * np.eye(3)[:, :2]].astype(np.float32)
    found = suggested(tagger, ["p", "q", "r"], rows, 3)
    assert {one.id: (one.label, one.probability) for one in found} == {
        "p": ("a", pytest.approx(0.6)), "q": ("a", pytest.approx(0.1)), "r": ("a", pytest.approx(0.2))
    }  # fmt: skip
    assert [one.id for one in suggested(tagger, ["p", "q", "r"], rows, 1)] == ["r"]


def test_the_report_shows_numbers_where_they_belong():
    tagger, _ = with_measures(make_tagger())
    label = LabelMeasures("x", 1234, 5, 0.25, 0.5, 0.125, 0.75, 0.0625, ())
    rows = label_rows(replace(tagger.measures, labels=(label, replace(label, threshold=None))))
    assert rows[1] == ("x", "1,234", "5", "0.250", "0.500", "0.125", "0.750", "0.062")
    assert rows[2][3] == "never"
    assert rows[0] == ("label", "trained on", "tested on", "threshold", "precision", "recall", "F1", "ECE")
    lines = list(summary_lines(make_tagger(measures=replace(tagger.measures, macro_f1=0.5, micro_f1=0.25, ece=0.125,
                                                             label_ece=0.0625, untagged=0.2))))  # fmt: skip
    assert lines[2] == (
        "Macro F1 0.500, micro F1 0.250; calibration error 0.125 over all, 0.062 as the mean of labels; "
        "20% of the papers get no tag"
    )


def test_applied_tags_are_counted_and_written_once(tmp_path):
    _, index = make(tmp_path, 12)
    head = Head("letters", Format.CLF, ("b", "a", "c"), several=True, weight=np.eye(3, dtype=np.float32),
                bias=np.zeros(3, np.float32))  # fmt: skip
    tagger = Tagger("letters", SOURCE, head, np.array([0.5, 0.5, np.inf]))
    vectors = index.vectors([f"p{number}" for number in range(12)], "clf")
    wanted = {id_: {name for name, value in zip("ba", row, strict=False) if value >= 0} for id_, row in vectors.items()}
    report = apply_tagger(index, tagger, None, Silent())
    held = {id_: set(row.get("letters", ())) for id_, row in index.values(list(vectors), ["letters"]).items()}
    assert {id_: held.get(id_, set()) for id_ in vectors} == wanted
    tagged = sum(map(bool, wanted.values()))
    counts = {name: sum(name in row for row in wanted.values()) for name in "ab"}
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    assert (report.papers, report.tagged, report.written, dict(report.counts)) == (12, tagged, tagged, counts)
    assert (list(report.counts), report.to_dict()["index"], report.seconds > 0) == (ranked, "papers", True)
    field = index.schema.field("letters")
    assert (field.kind, field.origin) == ("keywords", "tag")
    assert apply_tagger(index, tagger, None, Silent()).written == 0
    assert record_labels(index, "letters", {"p1": {"x": True, "y": False}, "gone": {"x": True}}) == ["gone"]
    assert dict(index.values(["p1"], ["letters_by_person"])["p1"]) == {"letters_by_person": ("x",)}
