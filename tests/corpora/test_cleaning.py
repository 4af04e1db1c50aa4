import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.cleaning import clean_text, first_day, flag_of, last_day, normal_date, text_of, texts_of, url_of, year_of


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
        *((1399, None), (1400, 1400), (2100, 2100), (2101, None)),
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


@pytest.mark.parametrize(
    ("text", "date", "first", "last"),
    [
        ("2020", "2020", "2020-01-01", "2020-12-31"),
        ("2020-2", "2020-02", "2020-02-01", "2020-02-29"),
        ("2021-02-28T10:00:00Z", "2021-02-28", "2021-02-28", "2021-02-28"),
        ("2021-2-8 noon", "2021-02-08", "2021-02-08", "2021-02-08"),
        ("20210431", None, "", ""),
        ("20210430", "2021-04-30", "2021-04-30", "2021-04-30"),
        *((text, None, "", "") for text in ("", "0000", "2020-00", "2020-13", "2020-1-0", "2021-02-29", "2020/01/01")),
        ("0001-12-31", "0001-12-31", "0001-12-31", "0001-12-31"),
    ],
)
def test_dates_are_days_months_or_years(text, date, first, last):
    assert normal_date(text) == date
    if date:
        assert (first_day(date), last_day(date)) == (first, last)


def test_a_flag_says_yes_or_no_or_nothing():
    yes = (True, 1, 1.0, "TRUE", "t", "Yes", "y", "1", "Retracted")
    no = (
        False,
        None,
        0,
        0.0,
        "",
        " ",
        "False",
        "f",
        "NO",
        "n",
        "0",
        "None",
        "null",
        "NaN",
        "Not Retracted",
        float("nan"),
    )
    assert [flag_of(value) for value in (*yes, *no, 2, "maybe")] == [True] * len(yes) + [False] * len(no) + [None] * 2


@pytest.mark.parametrize(
    "key", ["name", "display_name", "category", "paperId", "corpusId", "corpusid", "id", "text", "term", "label"]
)
def test_an_object_has_its_name_under_one_of_some_keys(key):
    assert text_of({"colour": "red", key: " a  b "}) == "a b"
    assert text_of({"first": "A", "middle": ["B", "C"], "last": "D", "suffix": "Jr", "name": "no"}) == "A B C D Jr"
