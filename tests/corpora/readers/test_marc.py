"""Records are made by pymarc, and read back in its three forms."""

import gzip
import io
import lzma
import random

import pymarc
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from corpora.custom import CustomField
from corpora.errors import InputError
from corpora.opening import Opening
from corpora.paper import Accepted, Deleted, Rejected
from corpora.publication import Publication
from corpora.readers import marc

F, S = pymarc.Field, pymarc.Subfield
TEXT = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=20)


def field(tag, *pairs, indicators="  "):
    return F(tag, indicators=pymarc.Indicators(*indicators), subfields=[S(pair[0], pair[1:]) for pair in pairs])


def book(**changes):
    record = pymarc.Record(force_utf8=True)
    record.leader = pymarc.Leader("00000nam a2200000 a 4500")
    control = {"001": "ocm1", "008": "990101s1998    xx            000 0 ger  "} | changes
    record.add_field(*(F(tag, data=data) for tag, data in control.items()))
    record.add_field(
        field("020", "a3-540-12345-X (pbk.)"),
        field("022", "a1234-567x"),
        field("024", "a10.1000/AB", "2doi", indicators="7 "),
        field("100", "aGrün, Ana,", "d1960-", "eauthor."),
        field("245", "aBees :", "ba history /", "cby A. Grün."),
        field("264", "c©2001", indicators=" 4"),
        field("264", "bA Press,", "c2000.", indicators=" 1"),
        field("520", "aThey hum."),
        field("650", "aBees", "xBehavior", "zGermany."),
        field("700", "aExample, Bo."),
        field("700", "aOther, Cy.", "tAnother work"),
        field("852", "hR 12"),
        field("856", "uhttps://example.org/1"),
    )
    return record


def written(form, *records):
    if form == "iso":
        return b"".join(record.as_marc() for record in records)
    if form == "xml":
        body = b"".join(pymarc.record_to_xml(record) for record in records)
        return b'<collection xmlns="%s">%s</collection>' % (marc.NAMESPACE.encode(), body)
    return "\n".join(record.as_json() for record in records).encode()


def read(folder, content, custom=(), name="a.mrc"):
    (folder / name).write_bytes(content)
    return list(marc.read(folder / name, {}, custom))


@pytest.mark.parametrize("form", ["iso", "xml", "json"])
def test_a_book_with_everything(tmp_path, form):
    shelf = [CustomField("shelf", "keyword", "852h"), CustomField("publisher", "text")]
    (record,) = read(tmp_path, written(form, book()), shelf)
    paper = record.paper
    assert (paper.id, paper.title, paper.abstract, paper.year) == ("ocm1", "Bees: a history", "They hum.", 2000)
    assert paper.authors == ("Grün, Ana", "Example, Bo.")
    assert (paper.types, paper.language, paper.fields) == (("book",), "ger", ("Bees -- Behavior -- Germany",))
    assert set(paper.identifiers) == {"doi:10.1000/ab", "isbn:354012345X", "issn:1234-567X"}
    assert paper.url == "https://example.org/1"
    assert paper.extra == {"shelf": "R 12", "publisher": "A Press,"}


def made(*fields, fixed="990101s1998    xx            000 0 ger  ", kind="am"):
    """The paper of a record with a control number, a title and some fields."""
    record = pymarc.Record(force_utf8=True)
    record.leader = pymarc.Leader(f"00000n{kind} a2200000 a 4500")
    record.add_field(F("001", data=" x1 "), F("008", data=fixed), field("245", "aBees"), *fields)
    return marc.record_of(1, record, ()).paper


HOST = field("773", "tBee news /", "dBonn : A Press,", "gVol. 12, no. 3 (2020), p. 45-51", "x2345-678X")
RIGHTS = field("264", "c\u00a92001", indicators=" 4")
SUBJECTS = ("600", "610", "611", "630", "648", "650", "651", "653", "655")
AUTHORS = ("John Paul II", "B Society", "B Congress", "Example, Bo, (Boris)", "A Society. A Branch", "A Congress")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            {"fields": [HOST], "kind": "ab"},
            {
                "id": "x1",
                "types": ("article",),
                "venue": "Bee news",
                "publication": Publication("12", "3", "45-51", "Bonn: A Press", ("2345-678X",)),
            },
        ),
        (
            {"fields": [HOST, field("260", "bB Press,"), field("264", "bC Press :"), field("022", "a1234-567x")]},
            {"publication": Publication("12", "3", "45-51", "C Press", ("2345-678X", "1234-567X"))},
        ),
        ({"fields": [HOST, field("260", "bB Press,")]}, {"venue": "Bee news"}),
        # The date of the publication goes before that of a copyright, and both before that of the fixed field.
        ({"fields": [RIGHTS, field("264", "c[1999?]", indicators=" 1")]}, {"year": 1999}),
        ({"fields": [RIGHTS, field("260", "cc1999.")]}, {"year": 1999}),
        ({"fields": [RIGHTS]}, {"year": 2001}),
        ({"fields": [field("264", "c12345", "c1399"), field("260", "c[n.d.]")]}, {"year": 1998}),
        ({"fixed": "990101nuuuuuuuu"}, {"year": None, "language": ""}),
        ({"fields": [field("041", "afreeng", "hger")]}, {"language": "fre"}),
        *(
            ({"fixed": f"990101s1998    xx            000 0 {code}  "}, {"language": ""})
            for code in ("und", "zxx", "mul", "|||", "   ")
        ),
        (
            {
                "fields": [
                    field("711", "aA Congress"),
                    field("710", "aA Society.", "bA Branch,"),
                    field("700", "aExample, Bo,", "q(Boris),", "d1950-"),
                    field("700", "aExample, Bo,", "q(Boris),", "eeditor"),
                    field("111", "aB Congress"),
                    field("110", "aB Society"),
                    field("100", "aJohn Paul", "bII,", "cPope"),
                ]
            },
            {"authors": AUTHORS},
        ),
        (
            {"fields": [field(tag, f"aS{tag}.") for tag in ("656", *reversed(SUBJECTS))]},
            {"fields": tuple(f"S{tag}" for tag in SUBJECTS)},
        ),
        (
            {"fields": [field("650", "aA", "bB", "vV", "xX", "yY.", "zZ", "2fast", " ")]},
            {"fields": ("A -- B -- V -- X -- Y -- Z",)},
        ),
        (
            {"fields": [field("520", "aOne.", "bTwo.", "uno"), field("520", "aThree :")]},
            {"abstract": "One. Two. Three"},
        ),
        (
            {
                "fields": [
                    field("856", "uftp://example.org/1", "zno"),
                    field("856", "uhttp://example.org/2"),
                    field("856", "uhttps://doi.org/10.5555/B"),
                    field("856", "uhttps://openalex.org/W5"),
                    field("024", "a10.5555/A", "2DOI", indicators="7 "),
                    field("024", "a20.1000/1", "2hdl", indicators="7 "),
                    field("020", "apbk.", "z9783540123453"),
                    field("020", "a978-3-540-12345-3 pbk."),
                ]
            },
            {"url": "http://example.org/2", "identifiers": ("doi:10.5555/a", "doi:10.5555/b", "isbn:9783540123453")},
        ),
    ],
)
def test_where_a_record_keeps_what(given, expected):
    given = dict(given)
    paper = made(*given.pop("fields", ()), **given)
    assert {name: getattr(paper, name) for name in expected} == expected


def test_a_title_has_its_parts_without_the_marks_between_them():
    record = pymarc.Record()
    titles = field("245", "aBees :", "ba history ;", "nPart 2 :", "pHives = Ruches /", "cby A.", "h[map]")
    record.add_field(F("001", data="1"), titles, field("245", "aAnother"))
    assert marc.record_of(1, record, ()).paper.title == "Bees: a history; Part 2: Hives = Ruches"


def test_types_are_those_of_the_leader():
    kinds = "aa ab ac ai am as tm cm dm em fm gm im jm km mm om pm rm"
    assert [" ".join(made(kind=kind).types) for kind in kinds.split()] == [
        *("article", "article", "", "integrating resource", "book", "journal", "manuscript"),
        *("notated music", "notated music", "map", "map", "video", "audio", "audio", "picture"),
        *("computer file", "kit", "mixed materials", "object"),
    ]


def test_custom_fields_by_name_and_by_place():
    named = """publisher 264b 260b; place 264a 260a; edition 250a; extent 300a; series 490a 830a; isbn 020a; issn 022a;
        note 500a; shelf 852h 050a; classification 082a 084a; whole 590$a 590b; control 003"""
    places = {name: " ".join(rest) for name, *rest in map(str.split, named.split(";"))}
    record = pymarc.Record()
    record.add_field(
        F("003", data="DE-1"), F("001", data="1"), field("245", "aT"), field("590", "a590$a", "b590b", " ")
    )
    every = {place for name in places if name not in ("whole", "control") for place in places[name].split()}
    record.add_field(*(field(place[:3], f"{place[3]}{place}") for place in every))
    sources = {"whole": "590", "control": "003"}
    custom = [CustomField(name, "keywords", sources.get(name, "")) for name in places]
    found = marc.record_of(1, record, custom).paper.extra
    joined = {"whole": ("590$a 590b",), "control": ("DE-1",)}
    assert found == {name: tuple(text.split()) for name, text in places.items()} | joined
    subfield = [CustomField("one", "keyword", "590$b")]
    assert marc.record_of(1, record, subfield).paper.extra == {"one": "590b"}


def test_broken_records_are_rejected_and_the_next_is_read(tmp_path):
    good = book().as_marc()
    damaged = good[:12] + b"99999" + good[17:]
    records = read(tmp_path, good + b"\n" + damaged + good.replace(b"ocm1", b"ocm2") + good[:40])
    assert [type(one) for one in records] == [Accepted, Rejected, Accepted, Rejected]
    assert [getattr(one, "line", 0) for one in records] == [1, 2, 3, 4]
    assert records[3].reason == "The record is cut off where the file ends."
    xml = written("xml", book()).replace(b"</collection>", b"<record><leader>x</record>" + b"</collection>")
    assert [type(one) for one in read(tmp_path, xml)] == [Accepted, Rejected]


def test_what_is_between_records_or_too_long_or_damaged(tmp_path, monkeypatch):
    good = book().as_marc()
    monkeypatch.setattr(marc, "LONGEST_RECORD", 2000)
    monkeypatch.setattr(marc, "_CHUNK", 100)
    apart = b"\xef\xbb\xbf\r\n" + good + b" \x00\r\n" + b"x" * 3000 + b"\x1d" + good + b"\n\x1d\n\x1a\x00 "
    first, long, last = read(tmp_path, apart)
    assert [first.paper.id, last.paper.id, last.line] == ["ocm1", "ocm1", 3]
    assert long == Rejected(2, "The record is longer than 0 MiB.")
    assert [type(one) for one in read(tmp_path, good + b"x" * 9000)] == [Accepted, Rejected]
    packed = gzip.compress(good + random.Random(1).randbytes(4000).replace(b"\x1d", b""))
    *_, damaged = read(tmp_path, packed[:-2000])
    assert damaged.reason.startswith("Nothing after this record can be read: ")


def test_an_encoding_is_that_of_records_without_a_mark(tmp_path):
    record = book().as_marc()
    latin = (record[:9] + b" " + record[10:]).replace("Grün".encode(), b"Gr\xfcn ").replace("©".encode(), b"c ")
    path = tmp_path / "a.mrc"
    path.write_bytes(latin)
    (found,) = marc.read(path, {}, (), Opening("cp1252"))
    assert found.paper.authors[0] == "Grün, Ana"
    with pytest.raises(InputError, match="no encoding 'klingon'"):
        list(marc.read(path, {}, (), Opening("klingon")))


def test_files_of_all_forms_in_a_folder_are_read_by_name(tmp_path):
    with pytest.raises(InputError, match=r"holds no \.mrc, \.xml or \.json file; name another folder"):
        list(marc.read(tmp_path, {}))
    forms = {"a.MRC": "iso", "b.marc.gz": "iso", "c.xml.xz": "xml", "d.json.zst": "json", "e.jsonl": "json"}
    packers = {"gz": gzip.compress, "xz": lzma.compress, "zst": zstd.compress}
    for name, form in forms.items():
        data = written(form, book(**{"001": name}))
        (tmp_path / name).write_bytes(packers.get(name.rpartition(".")[2], bytes)(data))
    (tmp_path / "f.txt").write_text("not read")
    (tmp_path / "g.mrc").mkdir()
    assert [record.paper.id for record in marc.read(tmp_path, {})] == list(forms)
    for text, says in {"<collection/>": "XML, but not", "TY  - JOUR": "should be MARC, but it looks like RIS"}.items():
        (tmp_path / "h.xml").write_text(text)
        with pytest.raises(InputError, match=f"{says}|holds no record"):
            list(marc.read(tmp_path / "h.xml", {}))


def test_deleted_records_and_those_without_title(tmp_path):
    gone, untitled = book(), book(**{"001": "u"})
    gone.leader = pymarc.Leader("00000dam a2200000 a 4500")
    untitled.remove_fields("245")
    assert read(tmp_path, written("iso", gone, untitled)) == [
        Deleted(1, "ocm1"),
        Rejected(2, "The record has no title.", "u"),
    ]


def test_character_sets(tmp_path):
    marked = book().as_marc()
    unmarked = marked[:9] + b" " + marked[10:]  # UTF-8 that lacks its mark
    (record,) = read(tmp_path, unmarked)
    assert record.paper.authors[0] == "Grün, Ana"
    # In MARC-8, the diaeresis is a byte before its letter.
    name, marc8 = "Grün, Ana,".encode(), b"Gr\xe8un, Ana,"
    assert len(name) == len(marc8)
    press = unmarked.replace(name, marc8).replace("©".encode(), b"cc")
    (record,) = read(tmp_path, press)
    assert record.paper.authors[0] == "Grün, Ana"


def test_prefixes_of_namespaces_and_folders(tmp_path):
    record = pymarc.record_to_xml(book()).replace(b"<", b"<m:").replace(b"<m:/", b"</m:")
    read(tmp_path, b'<m:collection xmlns:m="%s">%s</m:collection>' % (marc.NAMESPACE.encode(), record), name="a.xml")
    (tmp_path / "b.mrc").write_bytes(b"12345nam " + b"\x1d")
    records = list(marc.read(tmp_path, {}))
    assert records[0].paper.title == "Bees: a history"
    assert records[1].reason.startswith("b.mrc: The record isn't MARC")
    with pytest.raises(InputError, match="MARC has no colour"):
        list(marc.read(tmp_path, {}, [CustomField("colour", "keyword")]))


@given(title=TEXT, names=st.lists(TEXT, max_size=3, unique=True), form=st.sampled_from(["iso", "xml", "json"]))
def test_what_pymarc_writes_is_read_back(tmp_path_factory, title, names, form):
    record = pymarc.Record(force_utf8=True)
    record.add_field(F("001", data="1"), field("245", f"a{title}"), *(field("700", f"a{name}") for name in names))
    (got,) = read(tmp_path_factory.mktemp("m"), written(form, record))
    assert (got.paper.title, got.paper.authors) == (title, tuple(names))


@given(damage=st.binary(max_size=60), at=st.integers(0, 400))
def test_damage_never_raises_but_for_the_file(tmp_path_factory, damage, at):
    good = book().as_marc()
    records = read(tmp_path_factory.mktemp("m"), good + good[:at] + damage + good[at + len(damage) :] + good)
    assert isinstance(records[0], Accepted)
    assert all(isinstance(one, Accepted | Rejected | Deleted) for one in records)


def test_json_of_other_kinds_is_rejected(tmp_path):
    (record,) = read(tmp_path, io.BytesIO(b'{"leader": 1, "fields": [{"245": {}}]}').read())
    assert record.reason == "The record isn't MARC in JSON (a part is missing, or a number is none)."
    (record,) = read(tmp_path, b"00079nam a22abcde   4500" + b"\x1e" + b"x" * 30 + b"\x1d")
    assert record.reason == "The record isn't MARC (a part is missing, or a number is none)."


@pytest.mark.parametrize(
    ("linked", "title"),
    [
        ([field("880", "6245-01/(N", "a蜜蜂 :", "b歷史 /")], "Bees : a history = 蜜蜂: 歷史"),
        ([field("880", "6100-01/(N", "a格林, 安娜")], "Bees : a history"),
        ([field("880", "6245-00", "aBees :", "ba history /")], "Bees : a history"),
    ],
)
def test_the_title_in_its_own_script_is_found(tmp_path, linked, title):
    record = book()
    record.add_field(*linked)
    (found,) = read(tmp_path, written("iso", record))
    plain = marc.members_of(book())["title"]
    assert found.paper.title == title.replace("Bees : a history", plain)
