"""Formats with models of their own, beside the vectors of an index's model, on every engine."""

import numpy as np
import pytest

import ses
from corpora.errors import InputError
from encoders.models.formats import Format
from encoders.registry import find_model
from search_plugin.contract.schema import IndexSchema, OwnField, from_stored, own_field, paper_vector, to_stored
from tests.commands import fails
from tests.commands import ses as command
from tests.engines.conftest import emptied, library_of
from tests.tiny import make_model, papers, write_jsonl


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    make_model(folder / "model", codes=True)
    make_model(folder / "own", seed=1, codes=True, width=32)
    return folder


def held(library, task_format):
    index = library["papers"].index
    return index.vectors(sorted(index.ids()), task_format)


def same(one, other):
    return one.keys() == other.keys() and all(np.allclose(one[id_], other[id_], atol=1e-6) for id_ in one)


@pytest.mark.slow
def test_a_format_is_added_kept_and_taken_away(engine, models, tmp_path):
    library, some = library_of(engine, models, tmp_path), papers(60)
    library.index("papers", some[:50])
    before = held(library, "prx")
    own = str(models / "own")
    library.rebuild("papers", own={"clf": own})
    schema = library["papers"].index.schema
    assert [(field.format, field.model, field.dimension) for field in schema.own] == [("clf", own, 32)]
    assert same(held(library, "prx"), before)
    texts = {paper.id: find_model(own).card.text(paper.title, paper.abstract) for paper in some}
    made = ses.load_model(own, precision="fp32", cache_dir=models / "cache").encode(list(texts.values()), "clf")
    wanted = dict(zip(texts, made, strict=True))
    assert same(held(library, "clf"), {paper.id: wanted[paper.id] for paper in some[:50]})
    assert library.index("papers", some).new == 10  # by both models
    assert same(held(library, "clf"), wanted)
    assert library.describe("papers").vectors == {"prx": 60, "clf": 60}
    assert library["papers"].search("virus lung", size=3).found.keys() == {"lexical", "prx"}
    library.index("papers", some, fresh=True)
    assert library["papers"].index.schema.own == schema.own
    library.rebuild("papers", own={"clf": "none"})
    assert library["papers"].index.schema.own == ()
    assert same(held(library, "prx"), {**held(library, "prx"), **before})


@pytest.mark.slow
def test_a_tagger_reads_them_and_says_by_which_model(tmp_path, models):
    (engine,) = emptied("embedded", tmp_path)
    library = library_of(engine, models, tmp_path)
    library.index("papers", papers(90), formats=["prx", "clf"])
    usual, _ = library.tags.train("usual", "papers", "fields", fewest=5)
    own = find_model(str(models / "own"))
    library.rebuild("papers", own={"clf": own.card.name})
    tagger, notes = library.tags.train("subject", "papers", "fields", fewest=5)
    assert (tagger.source.model, tagger.source.fingerprint) == (own.card.name, own.card.fingerprint)
    assert not notes
    assert library.tags.apply("subject", "papers").papers == 90
    with pytest.raises(
        InputError, match=r"usual was trained on vectors of the model .*/model .* holds those of .*/own"
    ):
        library.tags.apply("usual", "papers")
    library.index("papers", papers(95), tags="subject")
    library.index("other", papers(90), own={"clf": own.card.name}, tags="subject")
    assert [field.format for field in library["other"].index.schema.vectors] == ["prx"]
    with pytest.raises(InputError, match=r"not of .*/model"):
        library.index("third", papers(90), tags="subject")
    assert usual.source.model == str(models / "model")


def test_what_can_not_be_added_is_told_in_a_sentence(tmp_path, models):
    (engine,) = emptied("embedded", tmp_path)
    library, own = library_of(engine, models, tmp_path), str(models / "own")
    library.index("papers", papers(8))
    with pytest.raises(InputError, match=r"models of their own: none; .*index again with fresh"):
        library.index("papers", papers(8), own={"clf": own})
    with pytest.raises(InputError, match="Vectors for prx are those of searches"):
        library.rebuild("papers", own={"prx": own})
    with pytest.raises(InputError, match="There is no model 'nothing'"):
        library.rebuild("papers", own={"clf": "nothing"})
    library.rebuild("papers", own={"clf": own})
    with pytest.raises(InputError, match=rf"models of their own: clf by {own}; .*leave own out"):
        library.index("papers", papers(8), own={"clf": str(models / "model")})
    with pytest.raises(InputError, match="leave own out"):
        library.index("papers", papers(8), own={"clf": "none"})


def test_the_schema_is_stored_with_them_and_as_before_without():
    field = own_field(Format.CLF, 4, "cosine", "mine", "0123")
    assert field == OwnField("vector_clf", "clf", 4, "cosine", model="mine", fingerprint="0123")
    plain = IndexSchema("tiny", "4567", (paper_vector("prx", 8, "l2"),))
    schema = IndexSchema("tiny", "4567", plain.vectors, own=(field,))
    assert from_stored(to_stored(schema)) == schema
    assert "own" not in to_stored(plain)
    assert schema.vector("clf") == field
    assert (schema.maker("clf"), schema.maker("prx")) == (field, schema)
    assert schema.legs == ("prx",)
    with pytest.raises(InputError, match="Two fields of the index are named vector_clf"):
        IndexSchema("tiny", "4567", (*plain.vectors, paper_vector("clf", 8, "l2")), own=(field,))


@pytest.mark.slow
def test_as_a_user_types_it(tmp_path, models):
    path, own = write_jsonl(tmp_path / "some.jsonl", papers(12)), models / "own"
    asked = ("index", "--corpus", "jsonl", "--path", path, "--index", "papers")
    for wrong in ("clf", "clf=", "=x"):
        fails(command(tmp_path, *asked, "--own", wrong), 2, "write it as --own FORMAT=MODEL")
    done = command(tmp_path, *asked, "--own", f"clf={own}", SES_MODEL=str(models / "model"))
    assert done.returncode == 0, done.stderr
    shown = command(tmp_path, "indexes", "show", "papers").stdout
    fingerprint = find_model(str(own)).card.fingerprint
    assert f"  vectors: 12 for clf, 32 numbers each, by {own} ({fingerprint})" in shown
    again = command(tmp_path, "index", "--index", "papers", "--fresh", "--own", "clf=none")
    assert again.returncode == 0, again.stderr
    assert "for clf" not in command(tmp_path, "indexes", "show", "papers").stdout
