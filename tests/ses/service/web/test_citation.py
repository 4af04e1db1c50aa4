"""What the page of a paper cites, and links to."""

import pytest

from corpora.paper import Paper
from ses.service.web.citation import reference_link

pytestmark = pytest.mark.serve


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("doi:10.1/b", ("doi", "10.1/b", "https://doi.org/10.1/b")),
        ("31589278", ("pmid", "31589278", "https://pubmed.ncbi.nlm.nih.gov/31589278")),
        ("other:x", ("other", "x", "")),
    ],
)
def test_a_reference_has_the_kind_and_link_of_its_identifier(identifier, expected):
    paper = Paper("7202802", "A", identifiers=("doi:10.1/a", "pmid:7202802"), url="https://example.org/a")
    kind, value, link = reference_link(paper, identifier)
    assert (kind, value, link.rstrip("/")) == expected


def test_a_reference_by_an_id_of_no_kind_has_no_link():
    assert reference_link(Paper("a", "A", identifiers=("doi:10.1/a",)), "b") == ("", "b", "")
