"""`ses tags`, `ses forecasts` and `ses index --tags`, as a user types them."""

import csv
import io
import json

import numpy as np
import pytest

import ses as api
from encoders.models.formats import Format
from search_plugin.engines.registry import connect
from tests.commands import fails, ses
from tests.products import planted
from tests.tiny import make_model, papers


@pytest.fixture(scope="module")
def planted_folder(tmp_path_factory):
    """A data folder with an index of papers with topics and citations."""
    folder = tmp_path_factory.mktemp("planted")
    planted.make_library(connect(f"embedded:{folder / 'data' / 'indexes'}"), folder, planted.vectors(400))
    return folder


@pytest.mark.slow
def test_a_tagger_is_trained_listed_applied_and_reported(planted_folder, tmp_path):
    thesaurus = tmp_path / "own.csv"
    thesaurus.write_text("label,broader\ncats,animals\n")
    page = tmp_path / "report.html"
    done = ses(planted_folder, "tags", "train", "subject", "--from", "topics", "--hierarchy", thesaurus)
    assert done.returncode == 0, done.stderr
    assert (
        "Tagger subject: 3 labels from the field topics of the index papers, on clf vectors of tiny (f)" in done.stdout
    )
    assert "subject: 3 labels, clf vectors of tiny (f), macro F1" in ses(planted_folder, "tags", "list").stdout
    applied = json.loads(ses(planted_folder, "tags", "apply", "subject", "--json").stdout)
    assert applied["papers"] == 400
    assert set(applied["counts"]) == {"animals", "cats", "stones"}
    shown = ses(
        planted_folder, "search", "virus", "--mode", "lexical", "--facet", "subject", "--filter", "subject=cats"
    )
    assert f"cats ({applied['counts']['cats']})" in shown.stdout
    report = ses(planted_folder, "tags", "report", "subject", "--html", page)
    assert "Macro F1" in report.stdout
    assert page.read_text().count("<svg") == 2
    other = ses(planted_folder, "tags", "train", "other", "--from", "topics", "--format", "rgn")
    assert "on rgn vectors of tiny (f)" in other.stdout
    over_all = json.loads(ses(planted_folder, "tags", "report", "subject", "--from", "topics", "--json").stdout)
    assert over_all["measures"]["how"].endswith("papers with labels from the field topics of the index papers")
    assert over_all["measures"]["macro_f1"] > 0.7


@pytest.mark.slow
def test_suggestions_are_a_table_that_training_reads_back(planted_folder, tmp_path):
    ses(planted_folder, "tags", "train", "doubtful", "--from", "topics")
    done = ses(planted_folder, "tags", "suggest", "doubtful", "--count", "40", "--from", "topics")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert len(rows) == 40
    labelled = {f"p{row:04}" for row, labels in enumerate(planted.labels_of(planted.vectors(400))) if labels}
    assert not {row["id"] for row in rows} & labelled
    path = tmp_path / "judged.csv"
    with path.open("w") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for number, row in enumerate(rows):
            writer.writerow({**row, "label": "cats", "value": ("yes", "no", "")[number % 3]})
    trained = ses(planted_folder, "tags", "train", "again", "--labels", path)
    assert "1 labels from a person, in judged.csv" in trained.stdout, trained.stderr
    recorded = ses(planted_folder, "tags", "record", "again", "--labels", path)
    assert "written to the field again_by_person of the index papers" in recorded.stdout


def test_forecasts_are_trained_applied_and_reported_with_a_caution(planted_folder):
    trained = ses(planted_folder, "forecasts", "train", "impact", "--citations", "cited")
    assert trained.returncode == 0, trained.stderr
    assert "Intervals of 90% hold" in trained.stdout
    page = planted_folder / "impact.html"
    for said in (trained, ses(planted_folder, "forecasts", "report", "impact", "--html", page)):
        assert "Don't judge people or decide on single papers by it." in said.stdout
    assert "share over year. intervals that hold: " in page.read_text()
    assert "impact: rgn vectors of tiny (f)" in ses(planted_folder, "forecasts", "list").stdout
    assert (
        "400 papers have a forecast in the field impact" in ses(planted_folder, "forecasts", "apply", "impact").stdout
    )
    shown = ses(planted_folder, "search", "virus", "--mode", "lexical", "--size", "1").stdout
    found = json.loads(ses(planted_folder, "search", "virus", "--mode", "lexical", "--size", "1", "--json").stdout)
    value, low, high = (found["hits"][0]["paper"]["extra"][name] for name in ("impact", "impact_low", "impact_high"))
    assert (
        f"impact: forecast to be cited more than {value:.0f}% of papers of its field and year ({low:.0f} to {high:.0f})"
    ) in shown
    assert "impact_low" not in shown
    shown = ses(planted_folder, "search", "virus", "--mode", "lexical", "--boost", "impact")
    assert "up to 10% of their rank further up" in shown.stdout
    assert "further up" not in ses(planted_folder, "search", "virus", "--mode", "lexical").stdout


def test_what_cannot_be_done_is_one_sentence(planted_folder, tmp_path):
    fails(ses(planted_folder, "tags", "train", "x"), 2, "with one of --from FIELD and --labels FILE")
    fails(ses(planted_folder, "tags", "train", "x", "--names"), 2, "give --names and --hierarchy alone")
    fails(
        ses(planted_folder, "tags", "train", "x", "--names", "--hierarchy", __file__, "--format", "prx"),
        2,
        "give --names and --hierarchy alone",
    )
    fails(ses(planted_folder, "tags", "train", "x", "--from", "topics", "--format", "x"), 2, "The formats 'x' can't")
    fails(ses(planted_folder, "tags", "apply", "none"), 2, "There is no tagger 'none'")
    fails(ses(planted_folder, "tags", "train", "X!", "--from", "topics"), 2, "can't be named 'X!'")
    fails(ses(planted_folder, "tags", "train", "x", "--from", "cited"), 2, "is of the kind number")
    fails(ses(planted_folder, "tags", "train", "x", "--from", "fields"), 2, "No paper of the index papers has a value")
    fails(ses(planted_folder, "forecasts", "train", "x", "--citations", "topics"), 2, "is of the kind keywords")
    fails(ses(planted_folder, "forecasts", "apply", "none"), 2, "There is no forecaster 'none'")
    fails(ses(planted_folder, "search", "virus", "--boost", "cited"), 2, "only by forecasts")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A library with a model, some papers of which are about viruses."""
    folder = tmp_path_factory.mktemp("modelled")
    model = make_model(folder / "model", codes=True)
    opened = api.open(f"embedded:{folder / 'data' / 'indexes'}", model=str(model), **_folders(folder))
    opened.index("papers", papers(250), formats=["prx,clf"])
    return opened


def texts(index, ids):
    papers = index.papers([*index.vectors(ids, "clf")])
    return [f"{papers[id_].title} {papers[id_].abstract}" for id_ in index.vectors(ids, "clf")]


def tags_of(tagger, index, ids):
    return tagger.tags(np.stack([*index.vectors(ids, "clf").values()]), texts(index, ids))


def _folders(folder):
    return {"data_dir": folder / "data", "cache_dir": folder / "cache"}


@pytest.mark.slow
def test_papers_are_tagged_when_they_are_indexed(library, tmp_path):
    given = {paper.id: {"viral": "virus" in f"{paper.title} {paper.abstract}"} for paper in papers(250)}
    library.tags.train("kind", "papers", given)
    library.index("fresh", papers(60, seed=3), tags="kind")
    index = library["fresh"].index
    assert {vector.format for vector in index.schema.vectors} == {"prx", "clf"}
    ids = list(index.ids())
    said = tags_of(library.tags["kind"], index, ids)
    assert [index.papers(ids)[id_].extra.get("kind", ()) for id_ in index.vectors(ids, "clf")] == said
    assert any(said)
    own = library.tags["kind"].probabilities(np.stack([*index.vectors(ids[:2], "clf").values()]), texts(index, ids[:2]))
    likely = library.tags.probabilities("kind", "fresh", [*ids[:2], "gone"])
    assert [[one["viral"]] for one in (likely[id_] for id_ in index.vectors(ids[:2], "clf"))] == own.tolist()
    assert len(likely) == 2
    why = library.tags.explain("kind", "fresh", [*ids, "gone"])
    assert {id_: tuple(one.label for one in tags) for id_, tags in why.items()} == dict(
        zip(index.vectors(ids, "clf"), said, strict=True)
    )
    named = [one.words for tags in why.values() for one in tags]
    assert sum("virus" in words for words in named) > len(named) / 2
    assert library.tags.probabilities("kind", "fresh", []) == {}
    # A changed paper gets the tags of its new text.
    changed = [*papers(60, seed=4)[:30], *papers(60, seed=3)[30:]]
    library.index("fresh", changed, tags="kind")
    index = library["fresh"].index
    said = tags_of(library.tags["kind"], index, ids)
    assert [index.papers(ids)[id_].extra.get("kind", ()) for id_ in index.vectors(ids, "clf")] == said


def test_a_tagger_that_does_not_fit_is_refused_before_any_work(library, tmp_path):
    given = {paper.id: {"long": len(paper.abstract) > 150} for paper in papers(250)}
    library.tags.train("long", "papers", given)
    other = api.open(library._engine.url, model=str(make_model(tmp_path / "other", seed=5)), **_folders(tmp_path))
    library.tags.folder.rename(tmp_path / "moved")
    (tmp_path / "data").mkdir()
    (tmp_path / "moved").rename(tmp_path / "data" / "taggers")
    try:
        with pytest.raises(api.InputError, match=r"was trained on vectors of the model .* not of .*other"):
            other.index("new", papers(5), tags="long")
    finally:
        (tmp_path / "data" / "taggers").rename(library.tags.folder)
    assert "new" not in library
    library.index("without", papers(5))
    with pytest.raises(api.InputError, match="reads clf vectors, and the index without holds none"):
        library.index("without", papers(6), tags="long")
    assert len(library["without"]) == 5


def test_nobody_else_writes_an_index_that_is_tagged(library):
    library.tags.train("locked", "papers", {paper.id: {"long": len(paper.abstract) > 150} for paper in papers(250)})
    with library._engine.lock("papers"), pytest.raises(api.ConflictError):
        library.tags.apply("locked", "papers")


def test_names_of_labels_alone_make_a_tagger(library, tmp_path):
    thesaurus = tmp_path / "own.csv"
    thesaurus.write_text(
        "label,broader,definition\nvirus infection,disease,a virus in the lung\nocean water,,\ndisease,,\n"
    )
    tagger = library.tags.from_names("named", "papers", thesaurus, near=0.5, most=1)
    assert tagger.measures is None
    assert tagger.source.format == "prx"
    with pytest.raises(api.InputError, match="The scores of the tagger named are no probabilities"):
        library.tags.probabilities("named", "papers", ["p00001"])
    done = library.tags.apply("named", "papers")
    assert 0 < done.tagged < 250
    assert done.counts["disease"] >= done.counts["virus infection"] > 0
    index = library["papers"].index
    vectors = np.stack([*index.vectors(list(index.ids()), "prx").values()])
    encoder = library._models.of_leg(index)
    label = encoder.encode(["virus infection. a virus in the lung"], Format.QRY)[0]
    near = vectors @ label
    deviations = (near - near.mean()) / near.std()
    place = tagger.labels.index("virus infection")
    np.testing.assert_allclose(tagger.head.predict(vectors)[:, place], 1 / (1 + np.exp(0.5 - deviations)), atol=1e-4)
