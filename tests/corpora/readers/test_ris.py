"""Records are written by hand after the specification of the format (RefMan's, as Wikipedia describes it)."""

import sys

import pytest
import rispy
from hypothesis import given
from hypothesis import strategies as st

from corpora.custom import CustomField
from corpora.errors import InputError, UnavailableError
from corpora.opening import Opening
from corpora.paper import Accepted, Paper, Rejected
from corpora.readers import ris

CUT = "The record is cut off where the file ends: it has no ER."
FULL = """TY  - JOUR
ID  - 12345
T1  - A <i>title</i> of
 two lines
A1  - Sample, Ana
AU  - Example, B.
PY  - 2014/05/01/
N2  - BACKGROUND: a<b. RESULTS: Some.
KW  - Masks
KW  - Schools
JO  - J. Med
T2  - Journal of Medicine
VL  - 9
PB  - A Press
LA  - en
DO  - https://doi.org/10.1000/ABC
UR  - https://example.org/1; https://example.org/2
ER  -
"""


def read(folder, text, custom=(), encoding=""):
    path = folder / "library.ris"
    path.write_bytes(text.encode(encoding or "utf-8"))
    return list(ris.read(path, {}, custom, Opening(encoding)))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_reference_with_everything(tmp_path, end):
    (record,) = read(tmp_path, "\ufeff1.\n" + FULL.replace("\n", end), [CustomField("publisher", "keyword")])
    assert record == Accepted(
        2,
        Paper(
            id="12345",
            title="A title of two lines",
            abstract="BACKGROUND: a<b. RESULTS: Some.",
            authors=("Sample, Ana", "Example, B."),
            year=2014,
            venue="Journal of Medicine",
            types=("Journal",),
            language="en",
            fields=("Masks", "Schools"),
            identifiers=("doi:10.1000/abc",),
            url="https://example.org/1",
            extra={"publisher": "A Press"},
        ),
    )


def test_the_id_is_an_id_a_number_a_doi_or_a_hash(tmp_path):
    with_doi = FULL.replace("ID  - 12345\n", "")
    bare = with_doi.replace("DO  - https://doi.org/10.1000/ABC\n", "")
    texts = [
        FULL,
        with_doi.replace("TY  - JOUR", "TY  - JOUR\nAN  - WOS:1"),
        with_doi,
        bare,
        bare.replace("2014", "2015"),
    ]
    ids = [record.paper.id for record in read(tmp_path, "\n".join(texts))]
    assert ids[:3] == ["12345", "WOS:1", "https://doi.org/10.1000/ABC"]
    assert ids[3].startswith("ris-")
    assert ids[3] != ids[4]
    assert ids[3] == read(tmp_path, f"{FULL}\n{bare}")[1].paper.id


def test_broken_records_cost_themselves(tmp_path):
    text = (
        "AU  - Lost, A.\nKW  - lost\n"
        + FULL
        + "TY  - JOUR\nID  - 2\nTI  - no end\n"
        + FULL
        + "TY  - JOUR\nID  - 9\nTI  - cut"
    )
    records = read(tmp_path, text)
    assert records[0] == Rejected(1, "The tag AU is outside a record, which begins with TY.")
    assert [record.paper.id for record in records[1:4]] == ["12345", "2", "12345"]
    assert records[2].line == 2 + len(FULL.splitlines()) + 1
    assert records[4:] == [Rejected(6 + 2 * len(FULL.splitlines()), CUT)]


def test_a_record_of_20_mb_costs_itself(tmp_path):
    for long in ("AB  - " + "x" * 20_000_000, "\n".join(["AB  - " + "x" * 1000] * 20_000)):
        first, second = read(tmp_path, FULL.replace("VL  - 9", long) + FULL)
        assert first.line == 1
        assert "longer than 16 MiB" in first.reason
        assert isinstance(second, Accepted)


def test_latin1_is_read_by_its_name_and_rejected_without(tmp_path):
    text = FULL.replace("Ana", "Zoë")
    (record,) = read(tmp_path, text, encoding="latin-1")
    assert record.paper.authors[0] == "Sample, Zoë"
    path = tmp_path / "library.ris"
    path.write_bytes((text + FULL).encode("latin-1"))
    bad, good = ris.read(path, {})
    assert "bytes that aren't UTF-8 (if the whole file is in another encoding, name it)" in bad.reason
    assert isinstance(good, Accepted)


def test_another_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="should be RIS, but it looks like a table; use corpus=csv"):
        read(tmp_path, "id,title\n1,a\n")


def test_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rispy", None)
    with pytest.raises(UnavailableError, match=r"pip install '.+\[references\]'"):
        read(tmp_path, FULL)


WORDS = st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8), min_size=1, max_size=4).map(
    " ".join
)


@given(
    st.lists(
        st.tuples(WORDS, WORDS, st.lists(WORDS, min_size=1, max_size=3), st.integers(1500, 2030)),
        min_size=1,
        max_size=4,
    )
)
def test_what_another_library_writes_comes_back(tmp_path_factory, references):
    entries = [
        {
            "type_of_reference": "JOUR",
            "id": str(n),
            "title": title,
            "abstract": abstract,
            "authors": authors,
            "year": year,
        }
        for n, (title, abstract, authors, year) in enumerate(references)
    ]
    records = read(tmp_path_factory.mktemp("ris"), rispy.dumps(entries))
    assert [(r.paper.id, r.paper.title, r.paper.abstract, r.paper.authors, r.paper.year) for r in records] == [
        (str(n), title, abstract, tuple(dict.fromkeys(authors)), year)
        for n, (title, abstract, authors, year) in enumerate(references)
    ]


@given(st.data())
def test_damage_never_stops_the_reading(tmp_path_factory, data):
    text = FULL * 2
    place = data.draw(st.integers(1, len(text) - 2))
    damage = data.draw(st.text(st.sampled_from("TYER- \n\tAU1;ü"), max_size=12))
    records = read(
        tmp_path_factory.mktemp("ris"),
        "TY  - JOUR\nTI  - t\nER  - \n" + text[:place] + damage + text[place + len(damage) :],
    )
    assert isinstance(records[0], Accepted)
    assert all(record.line > 0 for record in records)
