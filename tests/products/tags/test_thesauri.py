from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import InputError, SesError
from products.tags.hierarchy import read_hierarchy
from tests.damage import EDITS, edited

SKOS = """
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix : <http://example.org/> .
:virus a skos:Concept ; skos:prefLabel "Virus"@en, "Virus (de)"@de ; skos:altLabel "Virion" ; skos:broader :life .
:life a skos:Concept ; skos:prefLabel "Life" ; skos:definition "What lives."@en ; skos:narrower :plant .
:plant skos:prefLabel "Pflanze"@de ; skos:notation "P1" .
:other a skos:Concept ; skos:prefLabel "Life" .
"""

AS_XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:skos="http://www.w3.org/2004/02/skos/core#">
 <skos:Concept rdf:about="http://example.org/a"><skos:prefLabel>A</skos:prefLabel>
  <skos:broader rdf:resource="http://example.org/b"/></skos:Concept>
 <skos:Concept rdf:about="http://example.org/b"><skos:prefLabel>B</skos:prefLabel></skos:Concept>
</rdf:RDF>"""


def written(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return read_hierarchy(path)


def test_skos_is_read_with_languages_and_both_directions(tmp_path):
    known = written(tmp_path, "own.ttl", SKOS)
    assert set(known.concepts) == {"Virus", "Life (life)", "Life (other)", "Pflanze"}
    assert known.ancestors("Virus") == known.ancestors("Pflanze") == ("Life (life)",)
    assert known.concepts["Life (life)"].definition == "What lives."
    assert {"virion", "virus", "p1", "plant"} <= set(known.names())
    path = tmp_path / "own.ttl"
    assert "Virus (de)" in read_hierarchy(path, "de").concepts


def test_skos_as_xml_is_read_without_entities(tmp_path):
    assert written(tmp_path, "own.rdf", AS_XML).ancestors("A") == ("B",)
    with pytest.raises(InputError, match="defines entities"):
        written(tmp_path, "bad.rdf", '<!DOCTYPE x [<!ENTITY lol "lol">]>' + AS_XML)


def test_a_heading_of_mesh_is_below_each_of_its_places(tmp_path):
    lines = "Virus Diseases;C01\nPneumonia;C08.6\nPneumonia, Viral;C01.7\nPneumonia, Viral;C08.6.1\nLung;C08\n"
    known = written(tmp_path, "mtrees.bin", lines)
    assert set(known.ancestors("Pneumonia, Viral")) == {"Virus Diseases", "Pneumonia", "Lung"}
    assert known.names()["c08.6.1"] == "Pneumonia, Viral"
    with pytest.raises(InputError, match="line 2"):
        written(tmp_path, "mtrees.txt", "Lung;C08\nno number\n")


def test_tables_and_json_are_read_alike(tmp_path):
    table = "label,broader,definition,aliases\ncs.CL,cs,Language,NLP; text\ncs.LG,cs;stat,,\n"
    text = '{"cs.CL": {"broader": "cs", "definition": "Language", "aliases": ["NLP", "text"]}, '
    text += '"cs.LG": {"broader": ["cs", "stat"]}}'
    known = written(tmp_path, "own.csv", table)
    assert known == written(tmp_path, "own.json", text)
    assert known.ancestors("cs.LG") == ("cs", "stat")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("own.pdf", "", "its name ends in one of"),
        ("own.csv", "name\nx\n", "no column label"),
        ("own.json", "[1]", "should be an object by label"),
        ("own.json", "{", "can't be read as JSON"),
        ("own.ttl", "@prefix", "can't be read as SKOS"),
        ("own.ttl", "<a:a> <b:b> <c:c> .", "holds no concept"),
        ("own.csv", "label,broader\na,b\nb,a\n", "has a cycle"),
    ],
)
def test_what_is_no_hierarchy_is_refused(tmp_path, name, text, said):
    with pytest.raises(InputError, match=said):
        written(tmp_path, name, text)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        read_hierarchy(tmp_path / "none.csv")
    with pytest.raises(InputError, match="can't be read"):
        read_hierarchy(tmp_path / "none.json")


@given(EDITS, st.sampled_from(["own.csv", "own.json", "own.txt"]))
def test_damaged_files_are_read_or_refused(tmp_path_factory, edits, name):
    sample = {
        "own.csv": b"label,broader\na,b\nc,a\n",
        "own.json": b'{"a": {"broader": ["b"]}}',
        "own.txt": b"A;C01\nB;C01.1\n",
    }[name]
    path = tmp_path_factory.mktemp("damaged") / name
    path.write_bytes(edited(sample, edits))
    with suppress(SesError):
        read_hierarchy(path)
