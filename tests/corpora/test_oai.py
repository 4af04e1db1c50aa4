"""Answers that are no XML, as servers send them, with invented records."""

import pytest

from corpora.oai import Identity, OaiPage, OaiRecord, identity_of, name_of, page_of, parse_mended, parse_xml

ANSWER = (
    '<?xml version="1.0"?><OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><responseDate>2020-01-01</responseDate>'
    "<ListRecords>{}<resumptionToken>next</resumptionToken></ListRecords></OAI-PMH>"
)
RECORD = (
    "<record><header><identifier>oai:x:{0}</identifier><datestamp>2020-01-0{0}</datestamp></header><metadata>"
    '<dc xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{1}</dc:title></dc></metadata></record>'
)


def titles(text, **options):
    root, mended = parse_mended(text.encode(), **options)
    page = page_of(root)
    assert page.token.startswith("next")
    return mended, [
        (record.identifier, None if record.metadata is None else "".join(record.metadata.itertext()))
        for record in page.records
    ]


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("Bees&nbsp;sleep", "Bees\xa0sleep"),
        ("Bees & wasps", "Bees & wasps"),
        ("R&D; &unknown; &eacute;", "R&D; &unknown; é"),
        ("a &lt; b &amp; &#65;&#x42;", "a < b & AB"),
        ("a&#x1;b\x0c", "ab"),
        ("&LT;b", "<b"),
    ],
)
def test_entities_and_bare_signs_are_mended(written, title):
    mended, found = titles(ANSWER.format(RECORD.format(1, "First") + RECORD.format(2, written)))
    assert found == [("oai:x:1", "First"), ("oai:x:2", title)]
    assert mended is not written.startswith("a &lt;")


@pytest.mark.parametrize("written", ["<b>open", "</b>", "<a x=1>", "<"])
@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_record_that_cant_be_read_costs_itself(written, place):
    texts = [RECORD.format(number, written if number == place else "Good") for number in (1, 2, 3)]
    answer = ANSWER.format("".join(texts))
    expected = [(f"oai:x:{number}", None if number == place else "Good") for number in (1, 2, 3)]
    assert titles(answer) == (True, expected)
    with pytest.raises(ValueError, match="it isn't XML"):
        parse_mended(answer.encode(), without_broken=False)


def test_an_answer_has_its_records_and_where_the_list_goes_on():
    deleted = "<record><header status=' Deleted '><identifier> b </identifier><setSpec>s1</setSpec></header></record>"
    records = f"<record><header><setSpec>s1</setSpec><setSpec> s2 </setSpec></header><metadata/></record>{deleted}"
    ending = '<resumptionToken completeListSize="12"> next </resumptionToken>'
    answer = f"<OAI-PMH><responseDate> 2020-01-01 </responseDate><ListRecords>{records}{ending}</ListRecords></OAI-PMH>"
    assert page_of(parse_xml(answer.encode())) == OaiPage(
        "2020-01-01",
        (OaiRecord(1, "", "", ("s1", "s2"), False, None), OaiRecord(2, "b", "", ("s1",), True, None)),
        "next",
        12,
        ("", ""),
    )
    for size in ("", "-1", "many", "1" * 12):
        one = answer.replace('"12"', f'"{size}"').replace("ListRecords", "GetRecord")
        assert page_of(parse_xml(one.encode())).announced is None
    assert page_of(parse_xml(answer.replace(ending, "").encode())).token == ""
    failed = "<OAI-PMH><error code='idDoesNotExist'> a \n b </error></OAI-PMH>"
    assert page_of(parse_xml(failed.encode())).error == ("idDoesNotExist", "a b")
    assert page_of(parse_xml(failed.replace(" code='idDoesNotExist'", "").encode())).error[0] == "unknown"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("<html/>", "it isn't an answer of OAI-PMH"),
        ("<OAI-PMH><Identify/></OAI-PMH>", "it has neither records nor an error"),
        (f"<a>{'<b>' * 200}{'</b>' * 200}</a>", "its elements are nested too deep"),
        ("<!DOCTYPE a><a/>", "it has a document type"),
        ('<?xml version="1.0" encoding="klingon"?><a/>', "it names an unknown encoding"),
    ],
)
def test_what_is_no_answer_is_refused(answer, reason):
    with pytest.raises(ValueError, match=reason):
        page_of(parse_xml(answer.encode()))
    assert name_of(parse_xml(f"<a>{'<b>' * 199}{'</b>' * 199}{'<b/>' * 300}</a>".encode())) == "a"


@pytest.mark.parametrize(
    ("said", "identity"),
    [
        (
            "<granularity>YYYY-MM-DDThh:mm:ssZ</granularity><deletedRecord>Persistent</deletedRecord>",
            ("seconds", "persistent"),
        ),
        ("<granularity>YYYY-MM-DD</granularity><deletedRecord>transient</deletedRecord>", ("days", "transient")),
        ("<deletedRecord>maybe</deletedRecord>", ("days", "no")),
    ],
)
def test_what_a_server_says_of_itself(said, identity):
    answer = f"<OAI-PMH><Identify>{said}</Identify></OAI-PMH>"
    assert identity_of(parse_xml(answer.encode())) == Identity(*identity)
    for other in (f"<x><Identify>{said}</Identify></x>", "<OAI-PMH/>"):
        with pytest.raises(ValueError, match="isn't an answer"):
            identity_of(parse_xml(other.encode()))


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        *((code, True) for code in (9, 10, 13, 32, 0xD7FF, 0xE000, 0xFFFD, 0x10000, 0x10FFFF)),
        *((code, False) for code in (8, 11, 12, 14, 31, 0xD800, 0xDFFF, 0xFFFE, 0x110000)),
    ],
)
def test_characters_that_xml_allows_are_kept(written, kept):
    for form in (f"&#{written};", f"&#x{written:x};", f"&#x{written:X};"):
        root, _ = parse_mended(f"<a>x{form}y&nbsp;</a>".encode())
        assert root.text == f"x{chr(written) if kept else ''}y\xa0"


def test_a_cut_answer_is_none():
    with pytest.raises(ValueError, match="it isn't XML"):
        parse_mended(ANSWER.format(RECORD.format(1, "First") + RECORD.format(2, "Second"))[:-120].encode())
