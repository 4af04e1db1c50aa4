"""An index of papers with venues, years and types, and what it finds."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.custom import CustomField
from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, custom_fields, paper_vector
from search_plugin.engines.registry import connect
from search_plugin.request import make_request
from search_plugin.search import search

SCHEMA = IndexSchema("tiny", "f", (paper_vector("prx", 2, "cosine"),)).with_fields(
    custom_fields([CustomField("issn", "keyword")])
)
ISSN, ORCID = "1234-5679", "0000-0001-2345-6789"

JMV, NEJM = "Journal of medical virology", "The New England journal of medicine"


def _papers():
    yield Paper("jmv-2020", "Masks and virus", year=2020, venue=JMV, authors=("Smith, John",), extra={"issn": ISSN})
    yield Paper("jmv-2021", "Masks again", year=2021, venue=JMV)
    yield Paper("jmv-cats", "Cats of the sea", year=2020, venue=JMV)
    yield Paper("nejm", "Hypertension in adults", year=2019, venue=NEJM, authors=("Smith, Jane",))
    yield Paper("lancet", "Masks in trams", year=2020, venue="Lancet (London, England)")
    yield Paper("nature", "Fish of lakes", year=2020, venue="Nature", identifiers=(f"orcid:{ORCID}",))
    yield Paper("lung", "Tobacco", year=2018, venue="Lung cancer (Amsterdam, Netherlands)")
    yield Paper("pnas", "Folding", year=2018, venue="Proceedings of the National Academy of Sciences")
    yield Paper("smith-diabetes", "Diabetes in twins", year=2019, authors=("Smith, J.",))
    yield Paper("review", "Routes of transmission, told again", year=2021, types=("Review",))
    yield Paper("review-2020", "Transmission routes in trams", year=2020, types=("Review", "Journal Article"))
    yield Paper("routes", "Routes of transmission", "Routes and transmission.", year=2019)
    yield Paper("meta", "Hydroxychloroquine in twelve trials", types=("Meta-Analysis",), year=2021)
    yield Paper("titled", "Hydroxychloroquine: a meta-analysis", year=2021)
    yield Paper("hcq", "Hydroxychloroquine and more hydroxychloroquine", year=2021)
    yield Paper("both", "Aspirin beside placebo", year=2017)
    for at in range(8):
        yield Paper(f"filler-{at}", "Coronavirus disease 2019 and masks", "Peer review of nature.", year=2016)
        yield Paper(f"aspirin-{at}", "Aspirin, aspirin and lung cancer", year=2015)


@pytest.fixture(scope="package")
def index(tmp_path_factory):
    opened = connect(f"embedded:{tmp_path_factory.mktemp('indexes')}").build("papers", SCHEMA, "s")
    vector = {"prx": np.array([1, 0], np.float32)}
    assert opened.upsert([Document(paper, paper.id, vector) for paper in _papers()]) == []
    opened.finish()
    return opened


@pytest.fixture
def asked(index):
    """Searches for a query by its words; options are those of `make_request`."""

    def ask(query, **options):
        return search(index, make_request(query, fields=SCHEMA.fields, mode="lexical", size=50, **options))

    return ask
