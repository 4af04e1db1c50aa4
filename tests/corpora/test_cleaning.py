import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.cleaning import clean_text, text_of, texts_of, url_of, year_of


@given(st.text(alphabet=st.characters(codec=None)))
def test_clean_text_is_storable_and_stable(text):
    clean = clean_text(text)
    clean.encode()
    assert clean == clean_text(clean) == clean.strip()
    assert not any(char < " " or "\x7f" <= char <= "\x9f" for char in clean)


def test_clean_text_keeps_everything_else():
    assert clean_text("\ufeffβ-catenin\x00\n\t (CO₂)\u2028<b>\ud800") == "β-catenin (CO₂) <b>"


@pytest.mark.parametrize(
    ("value", "year"),
    [
        *((1998, 1998), (1998.0, 1998), ("1998", 1998), ("1998.0", 1998), ("1998-05-01", 1998), ("May 1998", 1998)),
        *(("19980501", 1998), ("1998 Dec-1999 Jan", 1998), ("01/02/1998", 1998), ({"name": "2001"}, 2001)),
        *((None, None), ("", None), ("0000", None), ("9999-01-01", None), (3.5e9, None), ("98", None), (True, None)),
        *((float("nan"), None), ("123456789", None), ("in press", None), ("0000 or 1998", 1998)),
    ],
)
def test_year_of(value, year):
    assert year_of(value) == year


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.lists(st.text())))
def test_year_of_takes_anything(value):
    assert year_of(value) is None or 1400 <= year_of(value) <= 2100


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("Madani, Tariq A; Al-Ghamdi, Aisha A", ("Madani, Tariq A", "Al-Ghamdi, Aisha A")),
        ("a|b", ("a", "b")),
        ("Abbas, C. C.", ("Abbas, C. C.",)),
        ("['Abbas, C. C.', \"O'Donnell; M.\"]", ("Abbas, C. C.", "O'Donnell; M.")),
        ('["a", null, "b"]', ("a", "b")),
        ("[Title in brackets]", ("[Title in brackets]",)),
        (["x; y", "x; y", "", None], ("x; y",)),
        (
            [{"name": "Ada", "authorId": "1"}, {"first": "B", "middle": ["C."], "last": "D", "suffix": ""}],
            ("Ada", "B C. D"),
        ),
        ([["Medicine", 0, "0.9"], ["Virology", 1, "0.8"]], ("Medicine", "Virology")),
        ([{"paperId": None, "title": "x"}, {"paperId": "p1"}], ("p1",)),
        (7, ("7",)),
        (None, ()),
    ],
)
def test_texts_of(value, texts):
    assert texts_of(value) == texts


def test_texts_of_survives_a_hostile_list():
    assert len(texts_of("[" * 5000 + "]" * 5000)) == 1


def test_url_of_takes_the_first_web_address():
    assert url_of("https://a.org/x; https://b.org") == "https://a.org/x"
    assert url_of("javascript:alert(1)") == url_of("file:///etc/passwd") == ""


def test_text_of_joins_paragraphs_and_drops_nan():
    assert text_of([{"text": "One."}, "Two.\n"]) == "One. Two."
    assert text_of(float("nan")) == ""
