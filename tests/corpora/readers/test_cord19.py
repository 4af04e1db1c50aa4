import csv
import gzip
import io
import lzma

import pytest

from corpora.custom import CustomField
from corpora.errors import InputError
from corpora.paper import Accepted, Paper, Rejected
from corpora.readers import cord19

HEADER = [
    *("cord_uid", "sha", "source_x", "title", "doi", "pmcid", "pubmed_id", "license", "abstract", "publish_time"),
    *("authors", "journal", "mag_id", "who_covidence_id", "arxiv_id", "pdf_json_files", "pmc_json_files", "url"),
    "s2_id",
]


def table(*rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, HEADER, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def read(tmp_path, data, name="metadata.csv"):
    path = tmp_path / name
    path.write_bytes(data)
    return list(cord19.read(path, {}))


def test_a_row_with_everything(tmp_path):
    row = {
        "cord_uid": "ug7v899j",
        "title": "Clinical  features",
        "doi": "10.1186/1471-2334-1-6",
        "pmcid": "PMC35282",
        "pubmed_id": "11472636; 32333",
        "abstract": 'OBJECTIVE: "quoted",\nover lines',
        "publish_time": "2001-07-04",
        "authors": "Madani, Tariq A; Al-Ghamdi, Aisha A",
        "journal": "BMC Infect Dis",
        "mag_id": "77",
        "arxiv_id": "2003.01234",
        "who_covidence_id": "#3252",
        "url": "https://a.org/1; https://b.org/2",
        "s2_id": "1; 2",
    }
    assert read(tmp_path, b"\xef\xbb\xbf" + table(row)) == [
        Accepted(
            2,
            Paper(
                id="ug7v899j",
                title="Clinical features",
                abstract='OBJECTIVE: "quoted", over lines',
                authors=("Madani, Tariq A", "Al-Ghamdi, Aisha A"),
                year=2001,
                venue="BMC Infect Dis",
                identifiers=(
                    *("doi:10.1186/1471-2334-1-6", "pmid:11472636", "pmid:32333", "pmc:PMC35282", "arxiv:2003.01234"),
                    *("s2:1", "s2:2", "mag:77", "who:#3252", "cord_uid:ug7v899j"),
                ),
                url="https://a.org/1",
            ),
        )
    ]


def test_other_columns_than_cord19s_are_not_heeded(tmp_path):
    others = {"id": "1", "venue": "V", "year": "1999", "date": "1998", "type": "T", "keywords": "K", "language": "L"}
    row = {"cord_uid": "a", "title": "t", "journal": "J", "publish_time": "2001"}
    out = io.StringIO()
    writer = csv.DictWriter(out, [*others, *HEADER], restval="")
    writer.writeheader()
    writer.writerow(others | row)
    paper = Paper("a", "t", venue="J", year=2001, identifiers=("cord_uid:a",))
    assert read(tmp_path, out.getvalue().encode()) == [Accepted(2, paper)]


def test_quirks(tmp_path):
    rows = [
        {"cord_uid": "a", "title": "t\0itle", "abstract": "one\ntwo\n\nthree", "publish_time": "2020"},
        {"cord_uid": "a", "title": "again", "publish_time": "0000-00-00"},
        {"cord_uid": "b", "abstract": "only this"},
        {"cord_uid": "c"},
        {"title": "nameless"},
        {"cord_uid": "d", "title": "long", "abstract": "x" * 200_000},
    ]
    first, second, *rejected, long = read(tmp_path, table(*rows))
    assert (first.line, first.paper.title, first.paper.year) == (2, "title", 2020)
    assert (second.line, second.paper.id, second.paper.year, second.paper.abstract) == (6, "a", None, "")
    assert rejected == [
        Rejected(7, "The record has no title.", "b"),
        Rejected(8, "The record has neither title nor abstract.", "c"),
        Rejected(9, "The record has no id."),
    ]
    assert len(long.paper.abstract) == 200_000


def test_markup_in_titles_abstracts_and_names_is_read(tmp_path):
    row = {
        "cord_uid": "a",
        "title": "The &lt;i&gt;ORF8&lt;/i&gt; gene &amp; H<sub>2</sub>O",
        "abstract": "<p>Risk rose (p &lt; 0.05) where a<b.</p>",
        "authors": "M&uuml;ller, A; Toth, Eric A.",
        "journal": "J Clin &amp; Exp",
    }
    (record,) = read(tmp_path, table(row))
    paper = record.paper
    assert (paper.title, paper.abstract) == ("The ORF8 gene & H2O", "Risk rose (p < 0.05) where a<b.")
    assert (paper.authors, paper.venue) == (("Müller, A", "Toth, Eric A."), "J Clin & Exp")


def test_custom_fields_for_source_licence_and_date(tmp_path):
    rows = [
        {"cord_uid": "a", "title": "t", "source_x": "Elsevier; PMC", "license": "cc-by", "publish_time": "2020-03-16"},
        {"cord_uid": "b", "title": "t", "publish_time": "2020"},
    ]
    path = tmp_path / "metadata.csv"
    path.write_bytes(table(*rows))
    custom = [CustomField("source", "keywords"), CustomField("licence", "keyword"), CustomField("published", "date")]
    full, bare = (record.paper.extra for record in cord19.read(path, {}, custom))
    assert full == {"source": ("Elsevier", "PMC"), "licence": "cc-by", "published": "2020-03-16"}
    assert bare == {"published": "2020"}


def test_damaged_rows_are_rejected_alone(tmp_path):
    good = table({"cord_uid": "a", "title": "t"})
    latin = table({"cord_uid": "b", "title": "caf\xe9"}).splitlines()[1].decode().encode("latin-1")
    cut = table({"cord_uid": "c", "title": "t", "abstract": "never ends"}).splitlines()[1][:20]
    records = read(tmp_path, good + latin + b"\nx,y\n" + good.splitlines()[1] + b"\n" + cut)
    assert [(type(record), record.line) for record in records] == [
        *((Accepted, 2), (Rejected, 3), (Rejected, 4), (Accepted, 5), (Rejected, 6))
    ]
    assert "UTF-8" in records[1].reason
    assert records[2].reason == "The row has 2 columns where the header has 19."


@pytest.mark.slow
def test_an_open_quote_does_not_swallow_the_file_in_silence(tmp_path):
    good = table({"cord_uid": "a", "title": "t"}).splitlines()[1]
    filler = (b"z" * 999 + b"\n") * ((16 << 20) // 1000 + 2)
    first, broken, *_, last = read(tmp_path, table() + good + b'\nb,"never closed\n' + filler + b'"\n' + good)
    assert isinstance(first, Accepted)
    assert broken.line == 3
    assert "takes up lines 3 to" in broken.reason
    assert isinstance(last, Rejected | Accepted)


@pytest.mark.parametrize(("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_folder_with_the_table_in_any_packing(tmp_path, suffix, pack):
    (tmp_path / f"metadata.csv{suffix}").write_bytes(pack(table({"cord_uid": "a", "title": "t"})))
    assert [record.paper.id for record in cord19.read(tmp_path, {})] == ["a"]


def test_another_table_is_refused(tmp_path):
    with pytest.raises(InputError, match="looks like a table; use corpus=csv"):
        read(tmp_path, b"id,title\n1,a\n")


@pytest.mark.realdata
def test_the_real_sample(data_dir):
    path = data_dir / "corpora" / "cord19-sample"
    with (path / "metadata.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    papers = [record.paper for record in cord19.read(path, {})]
    assert [(p.id, p.year, p.venue) for p in papers] == [
        (row["cord_uid"], int(row["publish_time"][:4]), row["journal"]) for row in rows
    ]
    assert all(f"pmid:{row['pubmed_id']}" in paper.identifiers for row, paper in zip(rows, papers, strict=True))
