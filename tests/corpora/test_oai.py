"""Answers that are no XML, as servers send them, with invented records."""

import pytest

from corpora.oai import page_of, parse_mended

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


def test_a_cut_answer_is_none():
    with pytest.raises(ValueError, match="it isn't XML"):
        parse_mended(ANSWER.format(RECORD.format(1, "First") + RECORD.format(2, "Second"))[:-120].encode())
