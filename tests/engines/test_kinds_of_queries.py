"""Every kind of query that people type, and what is expected of it, on every engine."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from corpora.paper import Paper
from search_plugin.contract.engine import Document
from search_plugin.contract.schema import IndexSchema, paper_vector
from search_plugin.request import make_request
from search_plugin.search import search
from tests.engines.conftest import NEWEST, NEWEST_STORED, by_http_too, emptied
from tests.engines.test_known_items_real import WIDTH, Encoder, fill, real_papers

SCHEMA = IndexSchema("random", "f", (paper_vector("prx", WIDTH, "cosine"),))
ISSN = "1234-5679"


def _papers():
    told = {
        "tnf-greek": ("Signals of TNF\u03b1", "It binds NF-\u03baB."),
        "tnf-name": ("Inhibitors of TNF-alpha", "They act on NFkappaB."),
        "tnf-space": ("Levels of TNF alpha", "They depend on NF-kB."),
        "il6": ("Effects of IL6", "In sepsis."),
        "il-6": ("Interleukins such as IL-6", "In fever."),
        "5ht": ("Agonists of 5-HT2A", "And sleep."),
        "5ht-bracket": ("The 5-HT 2A receptor", "And memory."),
        "mir": ("Silencing by miR-155", "In leukaemia."),
        "mir-joined": ("Loss of miR155", "In leukemia."),
        "catenin": ("\u03b2-catenin in the colon", ""),
        "catenin-name": ("Beta-catenin in the liver", ""),
        "british": ("Tumour growth and oestrogen", "Of randomised rats."),
        "american": ("Tumor growth and estrogen", "Of randomized rats."),
        "virus": ("A virus of bats", "And its genus."),
        "viruses": ("Viruses of birds", "And their genera."),
        "metastasis": ("One metastasis in the mouse", ""),
        "metastases": ("Many metastases in mice", ""),
        "als-short": ("Motor neurons in ALS", "Amyotrophic lateral sclerosis (ALS) is rare. ALS harms neurons."),
        "als-long": ("Riluzole in amyotrophic lateral sclerosis", "A trial."),
        "alzheimer": ("Alzheimer's disease in twins", ""),
        "cd4": ("CD4+ T cells in the gut", ""),
        "smoke": ("Lung cancer in non-smokers", "Long-term."),
        "smoke-joined": ("Cancer of nonsmokers", ""),
        "aspirin-1": ("Aspirin after a heart attack", "For prevention."),
        "aspirin-2": ("Aspirin and heart attack in women", "Prevention of death."),
        "aspirin-3": ("Low doses of aspirin", "Prevention of a second heart attack."),
        "stem": ("Embryonic stem cells", "A review."),
        "stem-adult": ("Adult stem cells", "A trial."),
        "covid": ("Long covid in children", "Masks in schools."),
        "vitamin": ("Vitamin D and the risk of cancer", "Vitamin D deficiency does not cause it."),
    }
    # The prefix keeps ids apart from words of the queries.
    made = [Paper(f"p/{id_}", title, abstract) for id_, (title, abstract) in told.items()]
    return [
        *made,
        Paper(
            "p/toth",
            "Liver fibrosis in hepatitis",
            "A cohort.",
            authors=("Toth, Eric A.", "Smith, John"),
            year=2020,
            venue="J Med Virol",
            types=("Review",),
            identifiers=("doi:10.1234/liver.5", "pmid:34000001", "pmc:PMC8200001"),
        ),
        Paper("p/kim", "Masks and transmission", "A study.", authors=("Kim, Mi-Na",), year=2021, venue="Nature"),
        Paper("p/nejm", "Masks in wards", year=2019, venue="The New England journal of medicine (Boston, Mass.)"),
        Paper("p/meta", "Ivermectin in ten trials", year=2018, types=("Meta-Analysis",), identifiers=(f"issn:{ISSN}",)),
        Paper("p/ivermectin", "Ivermectin, ivermectin and albendazole", year=2017),
        Paper("p/albendazole", "Albendazole, albendazole and albendazole", year=2016),
        Paper("p/hcq-1", "Hydroxychloroquine after a fever", year=2016),
        Paper("p/hcq-2", "Doses of hydroxychloroquine", year=2016),
    ]


class Case(NamedTuple):
    """A query of a kind.

    Attributes:
        kind: As in the reference.
        typed: The query.
        first: Papers that have to come first, in any order among themselves.
        told: What a note has to say; empty for no note.
        never: Papers that must not be shown.
    """

    kind: str
    typed: str
    first: tuple[str, ...] = ()
    told: str = ""
    never: tuple[str, ...] = ()


TNF = ("tnf-greek", "tnf-name", "tnf-space")
ASPIRIN = ("aspirin-1", "aspirin-2", "aspirin-3")
MICE = ("metastasis", "metastases")
CASES = (
    Case("DOI", "10.1234/liver.5", ("toth",), "DOI"),
    Case("PMID", "34000001", ("toth",), "PMID"),
    Case("PMCID", "PMC8200001", ("toth",), "PMCID"),
    Case("own id", "p/als-short", ("als-short",)),
    Case("an identifier that is not there", "10.1016/j.cell.2009.01.001", (), "No paper has the DOI"),
    Case("author", "Toth EA", ("toth",)),
    Case("author", "papers by Kim, Mi-Na", ("kim",)),
    Case("author and topic", "Toth hepatitis", ("toth",)),
    Case("author and topic", "Kim Mi-Na masks", ("kim",)),
    Case("venue, year, type", "J Med Virol 2020 hepatitis", ("toth",), "in J Med Virol from 2020 come first"),
    Case("venue, year, type", "N Engl J Med masks", ("nejm",), "in The New England journal of medicine come first"),
    Case("venue, year, type", "Proc Xyz Sci masks", ("nejm", "kim", "covid"), "no venue of this index has such a name"),
    Case("venue, year, type", "2018", ("meta",), "Papers from 2018, the latest first"),
    Case("venue, year, type", "masks in wards or schools 2019", ("nejm",), "Papers from 2019 come first"),
    Case("venue, year, type", "meta-analysis of ivermectin", ("meta",), "of the type Meta-Analysis come first"),
    Case("venue, year, type", ISSN, ("meta",), f"Papers with the ISSN {ISSN}"),
    Case("venue, year, type", "1932-6203", (), "is an ISSN, and no paper of this index has it"),
    Case("author", "toth ea 2020 hepatitis", ("toth",), "from 2020 come first"),
    Case("author", "Toth et al", ("toth",), "Papers by Toth, Eric A."),
    Case("two things compared", "ivermectin vs albendazole", ("ivermectin",), "with both ivermectin and albendazole"),
    Case("venue, year, type", "hepatitis type:Review year:2020", ("toth",)),
    Case("whole title", "LOW DOSES OF ASPIRIN", ("aspirin-3",)),
    Case("whole abstract", "Motor neurons in ALS. Amyotrophic lateral sclerosis (ALS) is rare.", ("als-short",)),
    Case("question", "Does vitamin D prevent cancer?", ("vitamin",)),
    Case("negated claim", "Vitamin D deficiency does not cause cancer", ("vitamin",)),
    Case("two or three words", "long covid", ("covid",)),
    Case("two or three words", "masks in schools kids", ("covid",)),
    Case("two or three words", "lung cancer in non-smokers", ("smoke",)),
    Case("acronym", "ALS", ("als-short", "als-long")),
    Case("Greek letter, hyphen", "TNF\u03b1", TNF),
    Case("Greek letter, hyphen", "TNFalpha", TNF),
    Case("Greek letter, hyphen", "NF-kB", TNF),
    Case("Greek letter, hyphen", "IL6", ("il6", "il-6")),
    Case("Greek letter, hyphen", "5-HT2A", ("5ht", "5ht-bracket")),
    Case("Greek letter, hyphen", "miR155", ("mir", "mir-joined")),
    Case("Greek letter, hyphen", "beta catenin", ("catenin", "catenin-name")),
    Case("Greek letter, hyphen", "CD4+ T cells", ("cd4",)),
    Case("Greek letter, hyphen", "non-smokers", ("smoke", "smoke-joined")),
    Case("spelling of two continents", "tumour growth", ("british", "american")),
    Case("spelling of two continents", "estrogen", ("british", "american")),
    Case("spelling of two continents", "randomised", ("british", "american")),
    Case("plural", "virus", ("virus", "viruses")),
    Case("plural", "genera", ("virus", "viruses")),
    Case("plural", "mice", MICE),
    Case("possessive", "Alzheimer's disease", ("alzheimer",)),
    Case("possessive", "alzheimers", ("alzheimer",)),
    Case("phrase", '"embryonic stem cells"', ("stem",), never=("stem-adult",)),
    Case("exclusion", "stem cells -embryonic", ("stem-adult",), never=("stem",)),
    Case("exclusion", "stem cells NOT embryonic", ("stem-adult",), never=("stem",)),
    Case("boolean", "stem AND (adult OR fish)", ("stem-adult",), never=("stem",)),
    Case("misspelling", "asprin heart atack prevntion", ASPIRIN, '"aspirin heart attack prevention"'),
    Case("misspelling", "hydroxychloroquinee", ("hcq-1", "hcq-2"), '"hydroxychloroquine"'),
    Case("misspelled field", "jornal:nature masks", ("kim",), "journal was searched"),
    Case("misspelling", "heartattack", ASPIRIN, '"heart attack"'),
    Case("other language", "Krebs bei Kindern Behandlung", (), "German"),
    Case("other language", "traitement du cancer du sein", (), "French"),
    Case("other language", "ventilacion mecanica", (), "Spanish"),
    Case("other script", "\u4e73\u817a\u764c", (), "script"),
    Case("number", "4983"),
    Case("nonsense", "qwertyuiop"),
)


@pytest.fixture(scope="module", params=NEWEST)
def index(request, tmp_path_factory):
    for engine in emptied(request.param, tmp_path_factory.mktemp("kinds")):
        built = engine.build("kinds", SCHEMA, "source")
        papers = _papers()
        vectors = Encoder.encode([paper.title for paper in papers])
        assert built.upsert([Document(p, "h", {"prx": v}) for p, v in zip(papers, vectors, strict=True)]) == []
        built.finish()
        engine.publish(built)
        yield engine.open("kinds")


@by_http_too
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}: {case.typed}")
def test_kinds(index, case):
    page = search(index, make_request(case.typed, mode="lexical", size=20), Encoder())
    shown = [hit.id.removeprefix("p/") for hit in page]
    assert set(shown[: len(case.first)]) == set(case.first)
    assert not set(shown) & set(case.never)
    assert (case.told in " ".join(page.notes)) if case.told else not any("No paper" in note for note in page.notes)
    if not case.first:
        assert shown == [] or case.kind == "other language"
    hybrid = search(index, make_request(case.typed, size=20, window=20), Encoder())
    assert hybrid.notes == page.notes
    assert not {hit.id.removeprefix("p/") for hit in hybrid} & set(case.never)


@by_http_too
def test_a_verbatim_search_corrects_nothing_and_adds_no_spelling(index):
    for typed, there in (("asprin", set()), ("tumour", {"british"}), ("ALS", {"als-short"})):
        page = search(index, make_request(typed, mode="lexical", verbatim=True))
        assert ({hit.id.removeprefix("p/") for hit in page}, page.notes) == (there, ())


def test_synonyms_of_the_user_are_searched_beside_the_words(index):
    synonyms = {("schnupfen",): ("vitamin D",), ("heart", "attack"): ("hepatitis",)}
    typed = make_request("Schnupfen", mode="lexical", synonyms=synonyms)
    assert [hit.id for hit in search(index, typed)] == ["p/vitamin"]
    page = search(index, make_request("heart attack", mode="lexical", synonyms=synonyms))
    assert {hit.id.removeprefix("p/") for hit in page} == {*ASPIRIN, "toth"}


REAL = (
    ("IL-6", "IL6"),
    ("TNF-\u03b1", "TNF\u03b1", "TNFalpha"),
    ("tumor", "tumour", "tumours"),
    ("hospitalised", "hospitalized"),
    ("virus", "viruses"),
    ("hypothesis", "hypotheses"),
    ("anaemia", "anemia"),
)
"""Spellings of the same, each found in the same papers."""

MISSPELLED = {
    "pandmic of influenze": "pandemic of influenza",
    "respiratry infecton": "respiratory infection",
    "vacine against influenze": "vaccine against influenza",
    "respiratroy disese patiens": "respiratory disease patients",
}


@pytest.mark.parametrize("engine", NEWEST_STORED, indirect=True)
def test_kinds_among_real_papers(engine, data_dir):
    index, failed = fill(engine, real_papers(data_dir)), []
    for several in REAL:
        found = {
            typed: frozenset(hit.id for hit in search(index, make_request(typed, mode="lexical", size=100)))
            for typed in several
        }
        # Parts that were typed apart are words of their own too: "IL-6" also finds papers with another IL.
        least = min(found.values(), key=len)
        if not least or not all(least <= ids for ids in found.values()):
            failed.append({typed: len(ids) for typed, ids in found.items()})
    for typed, meant in MISSPELLED.items():
        notes = search(index, make_request(typed, mode="lexical")).notes
        if not any(f'searched for "{meant}"' in note for note in notes):
            failed.append((typed, notes))
    assert failed == []
