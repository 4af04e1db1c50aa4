"""A library that harvests a real server: what comes, what changes, and what the user can have wrong."""

import pytest

import ses
from corpora.errors import InputError
from tests.corpora.repository import Data, Repository


@pytest.mark.slow
def test_a_harvest_is_indexed_and_followed(tmp_path):
    data = Data()
    for number in range(12):
        data.put(f"oai:x:{number}", number, title=f"Title {number}")
    with Repository(data) as server, ses.open(tmp_path / "e", data_dir=tmp_path) as library:
        report = library.index("h", server.url, corpus="oai")
        assert (report.new, report.harvest["requests"], report.harvest["records"]) == (12, 2, 12)
        assert report.origin == f"oai:{server.url.removeprefix('http://')}"
        server.clock = server.clock.replace(day=4)
        data.put("oai:x:1", 90_000, title="Another title")
        data.delete("oai:x:2", 90_001)
        data.items.pop("oai:x:3")
        report = library.index("h", server.url, corpus="oai")
        assert (report.updated, report.deleted_by_corpus, report.absent, report.papers) == (1, 1, 0, 11)
        report = library.index("h", server.url, corpus="oai", harvest=ses.Harvest(again=True), prune=True)
        assert (report.deleted, report.papers) == (1, 10)
        with pytest.raises(InputError, match="The corpus csv is not harvested"):
            library.index("h", tmp_path / "a.csv", corpus="csv", harvest=ses.Harvest(set="a"))


@pytest.mark.parametrize(
    ("corpus", "harvest", "said"),
    [
        ("csv", ses.Harvest(again=True), "The corpus csv is not harvested; leave again out"),
        ("cord19", ses.Harvest(until="2024-01-01"), "The corpus cord19 is not harvested; leave until out"),
        (
            "crossref",
            ses.Harvest(set="a", from_date="2024-01-01", again=True),
            "The corpus crossref is not harvested by sets, dates and forms; leave set, from_date out",
        ),
        ("zotero", ses.Harvest(metadata_prefix="a"), "zotero is not harvested by .* leave metadata_prefix out"),
        ("zotero", ses.Harvest(again=True), "a.json is read as it is, without a server; leave again out"),
        ("crossref", ses.Harvest(again=True), "a.json is read as it is, without a server; leave again out"),
        ("oai", ses.Harvest(set="a", again=True), "a.json is read as it is, .* leave set, again out"),
    ],
)
def test_choices_that_do_not_apply_are_refused_in_one_sentence(tmp_path, corpus, harvest, said):
    path = tmp_path / "a.json"
    path.write_text('{"DOI": "10.5555/a"}')
    with ses.open(tmp_path / "e", data_dir=tmp_path) as library, pytest.raises(InputError, match=said):
        library.index("h", None if corpus == "cord19" else path, corpus=corpus, harvest=harvest)


@pytest.mark.parametrize("corpus", ["csv", "marc", "crossref", "pubmed"])
def test_an_address_is_refused_where_files_are_read(tmp_path, corpus):
    said = f"The corpus {corpus} is read from files, not from https://example.invalid/a; download it"
    with ses.open(tmp_path / "e", data_dir=tmp_path) as library, pytest.raises(InputError, match=said):
        library.index("h", "https://example.invalid/a", corpus=corpus)
