"""Known papers, values in any case and names of authors: every engine answers alike."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from corpora.errors import InputError
from search_plugin.contract import engine as contract_engine
from search_plugin.contract.engine import Document
from search_plugin.contract.plan import Plan, VectorClause
from search_plugin.filters.matching import ANYTHING, accepts, patterns
from search_plugin.filters.parse import parse_filter
from search_plugin.filters.resolve import resolve
from search_plugin.request import make_request
from search_plugin.search import search, similar
from tests.engines.conftest import DIMENSION, NEWEST, SCHEMA, by_http_too, forget
from tests.search_plugin.filters.filtered import PAPERS, expected
from tests.search_plugin.filters.test_filters import FIELDS, any_filters, loose
from tests.search_plugin.understanding.test_meaning import KNOWN, TITLE
from tests.tiny import papers

ADDED = [field for field in FIELDS if field.origin != "paper"]


class Encoder:
    """Gives every query the same vector."""

    card = type("Card", (), {"name": "tiny", "fingerprint": SCHEMA.fingerprint, "papers_by": ""})

    @staticmethod
    def encode(texts, _format):
        return np.ones((len(texts), DIMENSION), np.float32)


def fill(engine, name, written):
    forget(engine, name)
    index = engine.build(name, SCHEMA.with_fields(ADDED), "source")
    draw = np.random.default_rng(1)

    def vectors():
        return {"prx": draw.standard_normal(DIMENSION).astype(np.float32), "clf": np.ones(8, np.float32)}

    assert index.upsert([Document(paper, "h", vectors()) for paper in written]) == []
    index.finish()
    engine.publish(index)
    return engine.open(name)


def values_of(field):
    held = (paper.value(field) for paper in PAPERS)
    return {one for value in held if value for one in (value if isinstance(value, tuple) else (value,)) if one}


@pytest.mark.parametrize("engine", NEWEST, indirect=True)
def test_values_are_listed_by_expressions(engine):
    index = fill(engine, "odd", PAPERS)

    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(like=loose)
    def lists(like):
        expressions = patterns(like)
        listed = index.matching_values({like.field: expressions, "language": [ANYTHING]})
        assert set(listed["language"]) == values_of("language")
        plain = {v for v in values_of(like.field) if any(re.fullmatch(e, v, re.DOTALL) for e in expressions)}
        assert set(listed[like.field]) == plain
        assert {value for value in plain if accepts(like, value)} == {
            value for value in values_of(like.field) if accepts(like, value)
        }

    lists()


@pytest.mark.slow
@pytest.mark.parametrize("engine", NEWEST, indirect=True)
def test_filters_in_any_case_mean_the_same_in_every_leg(engine):
    index = fill(engine, "odd", PAPERS)
    vector = np.ones(DIMENSION, np.float32)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(where=any_filters)
    def finds(where):
        resolved = resolve(where, index).filter
        passing = expected(where)
        legs = index.search(Plan("t", (VectorClause("prx", vector),), resolved, len(PAPERS), exact=True))
        assert {hit.id for hit in legs["prx"]} == passing
        assert set(index.ids(resolved)) == passing

    finds()


def test_too_many_values_are_refused(engine, monkeypatch):
    index = fill(engine, "odd", PAPERS)
    values = index.matching_values({"venue": [ANYTHING]})
    few = len(values["venue"]) - 1

    def allow(most):
        for module in ("search_plugin.engines.embedded.legs", "search_plugin.engines.cluster.facets"):
            monkeypatch.setattr(f"{module}.MOST_VALUES", most)
        monkeypatch.setattr(contract_engine, "MOST_VALUES", most)

    allow(few + 1)
    assert {**index.matching_values({"venue": [ANYTHING]})} == {**values}
    allow(few)
    with pytest.raises(InputError, match=f"More than {few} values of venue begin alike; give more of the one you mean"):
        index.matching_values({"venue": [ANYTHING]})
    assert index.matching_values({"venue": ["[nN][oO][nN][eE]"]}) == {"venue": []}


@by_http_too
def test_known_papers_come_first(engine):
    index = fill(engine, "known", [*papers(40), *KNOWN])
    assert set(index.find_papers(["a1", "none"], ["doi:10.1000/shared", "doi:none"])) == {"a1", "4983", "4984"}
    assert index.find_papers(["a1"], []) == index.papers(["a1"])

    def asked(query, **options):
        return search(index, make_request(query, fields=index.schema.fields, **options), Encoder())

    for query, id_ in [("10.1000/ONE", "a1"), ("PMID: 11111", "a1"), ("PMC111", "a1"), ("arXiv:2004.10706", "A1")]:
        page = asked(query)
        assert [hit.id for hit in page] == [id_], query
        assert page.notes[0].startswith("Found by its ")
    assert asked("doi:10.1000/none").notes == ("No paper has the DOI 10.1000/none.",)
    assert not asked("doi:10.1000/none").hits
    assert asked("brain 10.1000/two").hits[0].id == "A1"
    assert asked("10.1000/shared", facets="journal").facets.counts == {"journal": (("Cell", 2),)}
    for typed in (TITLE, TITLE.upper()):
        assert asked(typed).hits[0].id == "title"
    assert [hit.id for hit in similar(index, "doi:10.1000/two")] == [hit.id for hit in similar(index, "A1")]


@by_http_too
def test_filters_by_name_and_case(engine):
    index = fill(engine, "known", [*papers(80), *KNOWN])

    def ids(text):
        request = make_request("virus lung cell", fields=index.schema.fields, filter=text, size=90)
        page = search(index, request, Encoder())
        return {hit.id for hit in page}

    franklin = ids('author == "Rosalind Franklin"')
    assert franklin
    assert franklin == ids("author=franklin") == ids("author='Franklin, R.'") == ids("author=rosalind franklin")
    assert ids("author=Franklin B") == set()
    assert ids('journal == "The Lancet"') == ids("journal=the lancet") == ids("journal=THE*") != set()
    assert ids("doi=10.1000/ONE or pmid=22222") == {"a1", "4984"}
    page = search(index, make_request("virus", fields=index.schema.fields, filter="author=Frankln"), Encoder())
    assert page.notes == ('No paper of the index known has authors = Frankln; the nearest is "Rosalind Franklin".',)


@by_http_too
def test_an_author_who_is_asked_for_comes_first(engine):
    index = fill(engine, "known", papers(80))
    request = make_request("Rosalind Franklin", fields=index.schema.fields, size=90)
    page = search(index, request, Encoder())
    assert {hit.id for hit in page} == set(index.ids(resolve(parse_filter("author=franklin"), index).filter))
    assert page.notes == ("Papers by Rosalind Franklin, the latest first.",)
    page = search(index, make_request("Meitner L brain", fields=index.schema.fields, size=90), Encoder())
    by_her = ["Lise Meitner" in hit.paper.authors for hit in page]
    assert by_her == sorted(by_her, reverse=True)
    assert any(by_her)
    assert page.notes == ("Papers by Lise Meitner come first.",)
