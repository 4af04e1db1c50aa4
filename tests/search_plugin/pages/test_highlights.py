"""What is marked, what is shown of a long abstract, and that spans hold for any text."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from search_plugin.pages import highlights
from search_plugin.pages.highlights import _borders, find, occurrences, query_terms
from search_plugin.words.languages import LANGUAGES
from search_plugin.words.terms import WordForms, _cached_term, term_of, word_forms


def highlight(query, title, abstract, language="english", **how):
    return highlights.highlight(title, abstract, find(query, title, abstract, language), **how)


def marked(snippets):
    return [(snippet.field, [snippet.text[start:end] for start, end in snippet.spans]) for snippet in snippets]


@pytest.mark.parametrize(
    ("query", "text", "words"),
    [
        (
            "vaccinated mice",
            "Mice, vaccination and VACCINES in mouse-mice.",
            ["Mice", "vaccination", "VACCINES", "mice"],
        ),
        ("the effect of aspirin", "The effects of the drug aspirin", ["effects", "aspirin"]),
        ("Sjogren naive", "Sjögren's syndrome in nai\u0308ve B cells", ["Sjögren", "nai\u0308ve"]),
        ("Łódź Ångström", "lodz angstrom", ["lodz", "angstrom"]),
        ("COVID-19", "SARS-CoV-2 causes COVID19, covid and 19", ["covid", "19"]),
        ("糖尿病", "2型糖尿病患者与尿病", ["糖尿病", "尿病"]),
        ("癌", "肺癌、癌症", ["癌", "癌"]),
        ("مرض السكري", "علاج مرض السكري", ["مرض", "السكري"]),
        ("dying skies", "He died; the dying sky", ["died", "dying", "sky"]),
    ],
)
def test_marks_words_by_stem_without_accents(query, text, words):
    (snippet,) = highlight(query, text, "")
    assert marked([snippet]) == [("title", words)]
    assert snippet.text == text


@pytest.mark.parametrize("query", ["", "the of and", "!?", "zebra", " ".join(sorted(LANGUAGES["english"].stop_words))])
def test_nothing_to_mark(query):
    assert highlight(query, "The mouse of this house", "It is and was.") == ()


def test_shows_the_sentences_with_most_words_in_the_order_of_the_text():
    abstract = (
        "Mice eat cheese. Rats, e.g. lab rats, fear cats. Nothing here. "
        "Cats and mice live with dogs and rats. Cheese is old."
    )
    assert [snippet.text for snippet in highlight("mice cats dogs cheese", "Other", abstract)] == [
        "Mice eat cheese.",
        "Cats and mice live with dogs and rats.",
    ]
    assert [snippet.text for snippet in highlight("rats", "Rats", abstract)] == [
        "Rats",
        "Rats, e.g. lab rats, fear cats.",
    ]
    assert len(highlight("mice cats dogs cheese old nothing", "x", abstract, max_snippets=9)) == 3
    assert highlight("mice", "x", abstract, max_snippets=0) == ()


def test_cuts_long_sentences_at_words_around_the_matches():
    abstract = "filler " * 50 + "alpha beta " + "padding " * 60 + "gamma " + "ending " * 50
    first, second = highlight("alpha beta gamma", "", abstract, width=80)
    assert marked([first, second]) == [("abstract", ["alpha", "beta"]), ("abstract", ["gamma"])]
    for snippet in (first, second):
        assert 60 < len(snippet.text) <= 80
        assert set(snippet.text.split()) <= {"filler", "alpha", "beta", "padding", "gamma", "ending"}
        assert 20 < snippet.spans[0][0] < 60


def test_snippets_of_one_abstract_do_not_overlap():
    # The window of gamma would begin before the end of that of alpha and beta, which has the most words.
    abstract = "filler " * 20 + "alpha beta x x x x x x x gamma " + "ending " * 20
    (snippet,) = highlight("alpha beta gamma", "", abstract, width=28)
    assert marked([snippet]) == [("abstract", ["alpha", "beta"])]


def test_a_window_in_a_script_without_spaces():
    (snippet,) = highlight("糖尿病", "", "患者" * 300 + "糖尿病" + "治疗" * 300, width=40)
    assert len(snippet.text) == 40
    assert marked([snippet]) == [("abstract", ["糖尿病"])]


texts = st.text(max_size=80) | st.lists(
    st.sampled_from(
        ["mice", "Mäuse", "cat.", "糖尿病", "の", "e\u0301", "ﾞ", "İ", "ß", "سكري", "हिन्दी", "ไทย", "\n", "?! X", "🧬"]
    )
    | st.text(max_size=3)
).map(" ".join)


@given(query=texts, title=texts, abstract=texts, count=st.integers(0, 4), width=st.integers(1, 60))
@example(query="\uff9e", title="\uff9e", abstract="", count=1, width=1)
def test_spans_hold_for_any_text(query, title, abstract, count, width):
    snippets = highlight(query, title, abstract, max_snippets=count, width=width)
    assert sum(snippet.field == "abstract" for snippet in snippets) <= count
    end_of_last = 0
    for snippet in snippets:
        source = title if snippet.field == "title" else abstract
        assert snippet.text
        assert snippet.text in source
        assert snippet.spans
        edges = [edge for span in snippet.spans for edge in span]
        assert edges == sorted(set(edges))
        assert edges[0] >= 0
        assert edges[-1] <= len(snippet.text)
        assert all(not snippet.text[start:end].isspace() for start, end in snippet.spans)
        if snippet.field == "abstract":
            end_of_last = abstract.index(snippet.text, end_of_last) + len(snippet.text)
            assert len(snippet.text) <= max(width, max(end - start for start, end in snippet.spans))


@given(st.lists(st.sampled_from(["mouse", "vaccine", "trial", "糖尿病"]), min_size=1, unique=True), texts)
def test_every_word_of_the_query_is_found(words, rest):
    title = f"{rest} {' / '.join(words)}"
    (snippet,) = highlight(" ".join(words), title, "")
    assert set(words) <= {snippet.text[start:end] for start, end in snippet.spans}


@pytest.mark.slow
def test_absurd_input_is_bounded():
    long = "x" * 200_000
    assert marked(highlight(long, long, "")) == [("title", [long])]
    assert len(highlight("mice", "", "mice " * 50_000, width=100)[0].text) <= 100


@given(st.text(st.sampled_from("aB. \n!?。\uff01é-1_病"), max_size=60))
@example("a\uff01\n病. B.\nb?  \n\nC")
def test_sentences_end_where_the_pattern_ends_them(text):
    pattern = r"(?<=[.!?])\s+(?=[^a-z\s])|(?<=[\u3002\uff01])|\n+"
    assert list(_borders(text)) == [end.span() for end in re.finditer(pattern, text)]


@given(
    st.text(st.sampled_from("abBsS éÉ_-1.İß "), max_size=60),
    st.text(st.sampled_from("abBsSéß "), min_size=1, max_size=9),
)
@example("bab ab.ab_ab Ab", "ab")
def test_words_are_found_alike_with_and_without_characters_of_other_scripts_in_the_text(text, query):
    terms = query_terms(query)
    assert occurrences(text, terms) == occurrences(text + " 病", terms)


def test_threads_agree():
    words = [f"{root}{ending}" for root in ("run", "nation", "relat") for ending in ("s", "ing", "ional", "al", "ed")]
    query, text = "running nationals relational", " ".join(words)
    expected = highlight(query, text, text)
    _cached_term.cache_clear()
    word_forms.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: highlight(query, text, text), range(64))) == {expected}


@given(st.lists(st.sets(st.text("aeinrsu", min_size=1, max_size=4) | st.just("x" * 70)), max_size=6), st.data())
def test_words_of_terms_are_the_same_when_they_are_remembered(texts, data):
    words = WordForms("english")
    for text in texts:
        terms = {term_of(word, "english") for word in data.draw(st.sets(st.sampled_from(["run", "ran", *text])))}
        pairs = {(word, term_of(word, "english")) for word in text}
        assert sorted(words.spelling(terms, text)) == sorted(pair for pair in pairs if pair[1] in terms)
        assert all(len(word) < 70 for word in words.known)


def test_a_limited_number_of_words_is_remembered_by_term(monkeypatch):
    monkeypatch.setattr("search_plugin.words.terms.MOST_WORDS", 4)
    words, stem = WordForms("english"), term_of("virus", "english")
    for number in range(20):
        assert list(words.spelling({stem}, {f"w{number}", "virus"})) == [("virus", stem)]
        assert {f"w{number}", "virus"} <= words.known
        assert len(words.known) <= 4 + 2


@pytest.mark.parametrize(
    ("language", "query", "title", "marked"),
    [
        ("german", "Entzündungen der Lunge", "Die Entzündung der Lungen", ["Entzündung", "Lungen"]),
        ("french", "l'hypertension épidémies", "Les hypertensions et l'épidémie", ["hypertensions", "épidémie"]),
        ("spanish", "niños con infección", "Infecciones en el niño", ["Infecciones", "niño"]),
        ("cjk", "疫苗 studies", "冠状病毒疫苗 study studies", ["疫苗", "studies"]),
        ("english", "studies of the virus", "The study of viruses", ["study", "viruses"]),
    ],
)
def test_words_are_marked_in_the_language_of_the_index(language, query, title, marked):
    (snippet,) = highlight(query, title, "", language)
    assert [snippet.text[start:end] for start, end in snippet.spans] == marked
