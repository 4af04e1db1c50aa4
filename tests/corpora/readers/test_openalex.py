"""Records are written by hand after docs.openalex.org/api-entities/works/work-object."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.custom import CustomField
from corpora.errors import InputError
from corpora.paper import Accepted, Paper, Rejected
from corpora.publication import Publication
from corpora.readers import openalex

WORK = {
    "id": "https://openalex.org/W2741809807",
    "doi": "https://doi.org/10.7717/PEERJ.4375",
    "title": "The <i>state</i> of OA: R&amp;D",
    "display_name": "not used",
    "publication_year": 2018,
    "publication_date": "2018-02-13",
    "ids": {
        "openalex": "https://openalex.org/W2741809807",
        "doi": "https://doi.org/10.7717/peerj.4375",
        "mag": "2741809807",
        "pmid": "https://pubmed.ncbi.nlm.nih.gov/29456894",
        "pmcid": "https://www.ncbi.nlm.nih.gov/pmc/articles/5815332",
    },
    "language": "en",
    "primary_location": {
        "landing_page_url": "https://doi.org/10.7717/peerj.4375",
        "source": {
            "display_name": "Peer<i>J</i>",
            "host_organization_name": "PeerJ, Inc.",
            "issn_l": "2167-8359",
            "issn": ["1234-5679", "2167-8359"],
        },
    },
    "biblio": {"volume": "6", "issue": "2", "first_page": "e1", "last_page": "e9"},
    "type": "article",
    "open_access": {"is_oa": True, "oa_status": "gold"},
    "authorships": [
        {
            "author": {"id": "https://openalex.org/A1", "display_name": "Ana Sample"},
            "institutions": [{"display_name": "A University"}],
            "countries": ["CA"],
        },
        {"author": {}, "raw_author_name": "B. Example", "institutions": [{"display_name": "B Institute"}]},
    ],
    "cited_by_count": 382,
    "is_retracted": False,
    "topics": [{"display_name": "Scholarly Communication", "score": 0.99}],
    "concepts": [{"display_name": "Open access", "score": 0.7}, {"display_name": "Science", "score": 0}],
    "keywords": [{"display_name": "Citation", "score": 0.5}],
    "referenced_works": ["https://openalex.org/W1", "https://openalex.org/W2"],
    "abstract_inverted_index": {"Despite": [0], "growing": [1], "interest": [2, 4], "and": [3], "&lt;b&gt;": [5]},
}


def read(path, works, custom=()):
    lines = "".join(work if isinstance(work, str) else json.dumps(work) + "\n" for work in works)
    path.write_bytes(gzip.compress(lines.encode()) if path.suffix == ".gz" else lines.encode())
    return list(openalex.read(path, {}, custom))


@pytest.mark.parametrize("name", ["works.jsonl", "part_000.gz"])
def test_a_work_with_everything(tmp_path, name):
    assert read(tmp_path / name, [WORK]) == [
        Accepted(
            1,
            Paper(
                id="W2741809807",
                title="The state of OA: R&D",
                abstract="Despite growing interest and interest <b>",
                authors=("Ana Sample", "B. Example"),
                year=2018,
                venue="PeerJ",
                types=("article",),
                language="en",
                fields=("Scholarly Communication", "Open access", "Citation"),
                identifiers=(
                    *("doi:10.7717/peerj.4375", "pmid:29456894", "pmc:PMC5815332", "mag:2741809807"),
                    "openalex:W2741809807",
                ),
                references=("W1", "W2"),
                url="https://doi.org/10.7717/peerj.4375",
                publication=Publication("6", "2", "e1-e9", "PeerJ, Inc.", ("2167-8359", "1234-5679")),
            ),
        )
    ]


def test_custom_fields(tmp_path):
    kinds = {
        "cited_by_count": "number",
        "publication_date": "date",
        "oa_status": "keyword",
        "institutions": "keywords",
        "countries": "keywords",
        "publisher": "keyword",
    }
    (record,) = read(tmp_path / "works", [WORK], [CustomField(name, kind) for name, kind in kinds.items()])
    assert record.paper.extra == {
        "cited_by_count": 382,
        "publication_date": "2018-02-13",
        "oa_status": "gold",
        "institutions": ("A University", "B Institute"),
        "countries": ("CA",),
        "publisher": "PeerJ, Inc.",
    }


def test_an_older_work_with_little(tmp_path):
    work = {
        "id": "https://openalex.org/W5",
        "display_name": "A title",
        "abstract_inverted_index": None,
        "host_venue": {"display_name": "J"},
        "is_retracted": True,
        "primary_location": None,
        "topics": None,
    }
    expected = Paper("W5", "A title", venue="J", retracted=True, identifiers=("openalex:W5",), url=work["id"])
    assert read(tmp_path / "works", [work]) == [Accepted(1, expected)]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"title": None}, {"title": "not used"}),
        ({"abstract": "Given."}, {"abstract": "Given."}),
        ({"publication_year": 2017}, {"year": 2017}),
        ({"publication_year": None}, {"year": 2018}),
        (
            {"primary_location": {}, "host_venue": {"display_name": "J"}},
            {"venue": "J", "url": "https://doi.org/10.7717/PEERJ.4375"},
        ),
        ({"primary_location": {}, "doi": None}, {"url": "https://openalex.org/W2741809807"}),
        ({"primary_location": {"display_name": "K"}, "host_venue": {"display_name": "J"}}, {"venue": "K"}),
        ({"ids": {}, "pmid": "7"}, {"identifiers": ("doi:10.7717/peerj.4375", "pmid:7", "openalex:W2741809807")}),
        (
            {"referenced_works": ["http://openalex.org/W1", "W2", "https://x.example/W3"]},
            {"references": ("W1", "W2", "https://x.example/W3")},
        ),
        (
            {
                "authorships": [
                    {"raw_author_name": "R"},
                    "odd",
                    {"author": {"display_name": "A"}, "raw_author_name": "B"},
                ]
            },
            {"authors": ("R", "A")},
        ),
        ({"is_retracted": "yes"}, {"retracted": True}),
        (
            {"abstract_inverted_index": {"a": list(range(openalex.LONGEST_ABSTRACT))}},
            {"abstract": " ".join("a" * openalex.LONGEST_ABSTRACT)},
        ),
    ],
)
def test_what_stands_in_for_what_a_work_lacks(tmp_path, changes, expected):
    (record,) = read(tmp_path / "works", [WORK | changes])
    assert {name: getattr(record.paper, name) for name in expected} == expected


def test_the_parts_of_the_snapshot_are_read_by_date(tmp_path):
    for date, title in [("2024-02-01", "new"), ("2023-12-31", "old")]:
        folder = tmp_path / "works" / f"updated_date={date}"
        folder.mkdir(parents=True)
        lines = json.dumps({"id": "https://openalex.org/W1", "title": title}) + "\nno JSON\n"
        (folder / "part_000.gz").write_bytes(gzip.compress(lines.encode()))
    (tmp_path / "works" / "manifest").write_text("{}")
    first, broken, second, _ = openalex.read(tmp_path, {})
    assert [first.paper.title, second.paper.title] == ["old", "new"]
    assert broken.reason.startswith("works/updated_date=2023-12-31/part_000.gz: The line isn't JSON")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no \.gz or \.jsonl file"):
        list(openalex.read(tmp_path / "empty", {}))


@pytest.mark.parametrize(
    ("index", "says"),
    [
        ("text", "it is no index of words"),
        ({"a": 1}, "a word has no list of positions"),
        ({"a": ["1"]}, "a word has no list of positions"),
        ({"a": list(range(openalex.LONGEST_ABSTRACT + 1))}, "it has more than 200,000 words"),
    ],
)
def test_a_damaged_abstract_rejects_its_work_alone(tmp_path, index, says):
    bad, good = read(tmp_path / "works", [WORK | {"abstract_inverted_index": index}, WORK])
    assert bad == Rejected(1, f"The abstract can't be put together: {says}.", "W2741809807")
    assert isinstance(good, Accepted)


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), max_size=30))
def test_an_abstract_comes_back_from_its_index(words):
    index = {word: [place for place, other in enumerate(words) if other == word] for word in words}
    assert openalex.abstract_of(index) == " ".join(words)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*WORK, "author", "source"]), inner, max_size=4)
        ),
        max_leaves=12,
    )
)
def test_works_of_any_shape_are_read_or_rejected(tmp_path_factory, value):
    records = read(
        tmp_path_factory.mktemp("odd") / "works",
        [{**WORK, **value} if isinstance(value, dict) else WORK | dict.fromkeys(WORK, value), WORK],
    )
    assert len(records) == 2
    assert isinstance(records[1], Accepted)


def test_lists_too_deep_are_rejected(tmp_path):
    deep = '{"id": "W1", "title": "t", "x": ' + "[" * 100_000 + "]" * 100_000 + "}\n"
    bad, good = read(tmp_path / "works", [deep, WORK])
    assert "too deep" in bad.reason
    assert isinstance(good, Accepted)
