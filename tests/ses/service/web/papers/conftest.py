"""A service over papers that cite each other, have tags and forecasts, and hold what attackers write."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import ses
from corpora.paper import Paper
from search_plugin.contract.schema import Field
from tests.tiny import papers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.testclient import TestClient

    from ses.library import Library

HARM = """"><script>window.taken=1</script><img src=x onerror=window.taken=1>'</title><!--<script>{{7*7}}</script>"""
"""What runs in a page that does not escape it; `window.taken` shows that it ran."""

CITED = Paper(
    "cited",
    "A virus of the lung",
    abstract="The virus, the lung, and a mask.",
    authors=("Byron, Ada", "Ludwig van der Berg", "World Health Organization"),
    year=2021,
    venue="Nature",
    types=("Journal Article",),
    language="en",
    fields=("Medicine", "Lung & heart"),
    identifiers=("doi:10.1000/a(1)b", "pmid:123", "arxiv:2101.00001", "corpus:9"),
    url="https://papers.example/a.pdf",
    extra={"shelf": "top", "orcid": ("https://orcid.org/0000-0002-1825-0097", "nobody")},
)
CITING = Paper(
    "citing/1", "Masks", year=2022, references=("doi:10.1000/a(1)b", "cited", "doi:10.1000/unknown", "p00001")
)
OTHER = Paper("citing/2", "Lungs", year=2023, references=("cited",), retracted=True)
TWIN_A, TWIN_B = (Paper(f"twin-{one}", f"Twin {one}", identifiers=("doi:10.1000/twin",)) for one in "ab")
ENDING = Paper("data.json", "An id with an ending")
HOSTILE = Paper(
    f"x/../{HARM}",
    f"virus {HARM}",
    abstract=HARM,
    authors=(HARM, "javascript:window.taken=1"),
    year=2020,
    venue=HARM,
    types=(HARM,),
    language=HARM,
    fields=(HARM, "a\r\nSet-Cookie: taken=1"),
    identifiers=("doi:10.1000/" + HARM.replace(" ", ""), f"pmid:{HARM}", "other:javascript:window.taken=1"),
    references=(HARM, "javascript:window.taken=1", "cited"),
    url="javascript:window.taken=1",
    extra={"shelf": HARM, "orcid": (HARM,)},
)
SAMPLE = (CITED, CITING, OTHER, TWIN_A, TWIN_B, ENDING, HOSTILE)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, small_model: str) -> Library:
    """A library with the index `papers`: 60 papers of random words, and those of `SAMPLE`."""
    folder = tmp_path_factory.mktemp("library")
    opened = ses.open(
        folder / "indexes", model=small_model, data_dir=folder / "data", cache_dir=folder / "cache", index="papers"
    )
    opened.index("papers", [*papers(60), *SAMPLE], fields={"shelf": "keyword", "orcid": "keywords"})
    with opened["papers"].writing() as index:
        numbers = [Field(name, "number", facet=False, origin="forecast") for name in ("hot", "hot_low", "hot_high")]
        index.add_fields([Field("topic", "keywords", origin="tag"), *numbers])
        forecast = {"hot": 71.5, "hot_low": 40.0, "hot_high": 90.0}
        index.update({"cited": {"topic": ("lungs", "viruses"), **forecast}, HOSTILE.id: {"topic": (HARM,)}})
        index.finish()
    return opened


@pytest.fixture(scope="module")
def client(library: Library) -> Iterator[TestClient]:
    """A client of the service in this process."""
    from starlette.testclient import TestClient

    from ses.service.app import make_app
    from ses.service.service import Service
    from ses.service.settings import ServiceSettings

    settings = ServiceSettings(public_url="https://library.example/ses/")
    app = make_app(Service(ses.Library(library._settings), settings))
    with TestClient(app, raise_server_exceptions=False, follow_redirects=False) as opened:
        yield opened
