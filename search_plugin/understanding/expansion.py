"""The spellings that are searched for the words of a query.

These are other spellings of words of several parts (TNF-alpha, IL6), British or American spellings, plurals that
stemmers miss, and synonyms; and acronyms with their long forms, as the papers of an index themselves define them:
`nuclear factor (NF)` (Schwartz and Hearst, "A simple algorithm for identifying abbreviation definitions in biomedical
text", PSB 2003).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from corpora.documents import read_text
from corpora.errors import InputError
from corpora.paper import Paper
from search_plugin.contract.engine import Index
from search_plugin.contract.plan import LEXICAL, Plan, TermGroup, TermVariant
from search_plugin.words.languages import DEFAULT_LANGUAGE
from search_plugin.words.terms import TOKEN, folded, terms_of

_LETTERS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi "
    "psi omega"
)
# The seventeen letters up to rho are followed by a final sigma.
GREEK = {name: chr(0x3B1 + at + (at > 16)) for at, name in enumerate(_LETTERS.split())}
"""Greek letters by name."""

_NAMES = {letter: name for name, letter in GREEK.items()} | {"\u00b5": "mu", "\u03c2": "sigma", "\u03d5": "phi"}
_GLUED = "|".join(name for name in sorted(GREEK, key=len, reverse=True) if len(name) > 3)
_PARTS = re.compile(r"\d+|[^\W\d_\u0370-\u03ff\u00b5]+|[\u0370-\u03ff\u00b5]")
# TNFalpha, IFNgamma2, NFkappaB: a name after capitals or digits; or at the end of a word in small letters.
_NAMED = re.compile(rf"([A-Z0-9]+|[a-z]{{2,}}(?=(?:{_GLUED})\d*$))({_GLUED})([A-Z]?\d*)")

_LATIN = {"kappa": ("k",)}

_MOST_PARTS = 4
"""Longer words, such as names of chemicals, are joined and separated as a whole only."""

_LONGEST_ACRONYM = 5


def is_greek(word: str) -> bool:
    """Return whether a word is a Greek letter or the name of one."""
    return word.lower() in GREEK or word.lower() in _NAMES


def continues(word: str, after: str, gap: str) -> bool:
    """Return whether a word and the next one may be parts of one, such as `TNF alpha`, `IL 6` and `non-smokers`.

    They may if a hyphen stands between them, or a space before a Greek letter, or before a number after an acronym.
    """
    if gap in HYPHENS:
        return True
    if gap != " ":
        return False
    if is_greek(after):
        return len(word) > 1
    if is_greek(word):
        return len(after) == 1 and after.isupper()
    return after.isdecimal() and word.isalpha() and len(word) <= _LONGEST_ACRONYM and not word.islower()


HYPHENS = ("-", "\u2010", "\u2011", "\u2012", "\u2013", "\u2212", "/-", "-/")


def compounds(words: Sequence[str]) -> tuple[str, ...]:
    """Return the other spellings of a word, given as its parts as typed, such as `TNF` and `alpha`.

    These are in small letters, with a space where parts stand side by side, the typed ones among them. Empty if the
    word has one part.
    """
    parts = [part for word in words for part in _parts(word)]
    if parts and parts[0] in ("nf", "nfkb") and parts[-1] in ("kb", "nfkb"):
        parts = ["nf", "kappa", "b"]  # the Latin k is how the Greek one is typed
    if len(parts) < 2:
        return ()
    has_sign = any(part in GREEK or part.isdecimal() for part in parts)
    if len(parts) > _MOST_PARTS or (len(words) > 1 and not has_sign):
        return tuple(dict.fromkeys((" ".join(words).lower(), "".join(words).lower())))
    # Programs in other languages keep this order too (`frontends/languages/sources`): a limit cuts the last ones off.
    joined = [""]
    for part in parts:
        forms = (part, GREEK[part], *_LATIN.get(part, ())) if part in GREEK else (part,)
        joined = [one + gap + form for one in joined for gap in ((" ", "") if one else ("",)) for form in forms]
    return tuple(dict.fromkeys(joined))


@lru_cache(maxsize=4096)
def _parts(word: str) -> tuple[str, ...]:
    """Return the parts of a word between its letters, digits and Greek letters, in small letters; these by name."""
    if named := _NAMED.fullmatch(word):
        return tuple(part for group in named.groups() if group for part in _parts(group))
    return tuple(_NAMES.get(part, part) for part in (found.lower() for found in _PARTS.findall(word)))


_FRAGMENTS = """
aemi emi | ^haem ^hem | ^anaes ^anes | ^aetiol ^etiol | ^oestr ^estr | ^oesoph ^esoph | oedem edem | ^foet ^fet
^faec ^fec | ^caec ^cec | ^caesar ^cesar | ^caesium ^cesium | paediat pediat | paedic pedic | gynaec gynec
diarrhoe diarrhe | pnoe pne | ^coeli ^celi | amoeb ameb | palaeo paleo | archaeo archeo | homoeo homeo
sulph sulf | aluminium aluminum | tumour tumor | behaviour behavior | colour color | favour favor | labour labor
neighbour neighbor | harbour harbor | honour honor | odour odor | vapour vapor | savour savor | humour humor
centre center | fibre fiber | litre liter | metre$ meter$ | metres$ meters$ | titre titer | calibre caliber
^grey ^gray | ageing aging | ^mould ^mold | programme$ program$ | programmes$ programs$ | defence defense
licence license | practise practice | analogue analog | homologue homolog | catalogue catalog | dialogue dialog
signalling signaling | signalled signaled | labelling labeling | labelled labeled | modelling modeling
modelled modeled | channelling channeling | counselling counseling | travelling traveling | fuelled fueled
artefact artifact | sceptic skeptic | ^judgement ^judgment | ^acknowledgement ^acknowledgment | manoeuv maneuv
^speciality ^specialty | ^orientated ^oriented | ^tonne ^ton
"""
"""British and American fragments of words, with ^ at the beginning of a word and $ at the end."""

_ENDINGS = r"(e|ed|es|er|ers|ing|ation|ations)$"
_BRITISH_RULES = [
    *((one.split()[0], one.split()[1]) for line in _FRAGMENTS.strip().splitlines() for one in line.split(" | ")),
    (rf"(?<=...)is{_ENDINGS}", r"iz\1"),
    (rf"(?<=...)iz{_ENDINGS}", r"is\1"),
    (r"(?<=al|ar)ys(e|ed|es|ing)$", r"yz\1"),
    (r"(?<=al|ar)yz(e|ed|es|ing)$", r"ys\1"),
]


@lru_cache(maxsize=1)
def _transatlantic_rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    pairs = [(one, other) for one, other in _BRITISH_RULES if "\\" in other]
    for british, american in ((one, other) for one, other in _BRITISH_RULES if "\\" not in other):
        pairs += [(british, american.strip("^$")), (american, british.strip("^$"))]
    return tuple((re.compile(pattern), written) for pattern, written in pairs)


@lru_cache(maxsize=4096)
def transatlantic(word: str) -> tuple[str, ...]:
    """Return the other of the British and American spellings of a word in small letters: tumour, anemia; often none."""
    if not word.isalpha() or len(word) < 4:
        return ()
    found = {written: None for pattern, to in _transatlantic_rules() if (written := pattern.sub(to, word)) != word}
    return tuple(found)


_IRREGULAR = """
mouse mice | louse lice | child children | woman women | man men | person people | tooth teeth | foot feet | goose geese
genus genera | corpus corpora | index indices | matrix matrices | vertex vertices | appendix appendices | ovum ova
cortex cortices | serum sera | datum data | spectrum spectra | phenomenon phenomena | criterion criteria
mitochondrion mitochondria | ganglion ganglia | bacterium bacteria | atrium atria | cilium cilia | septum septa
symposium symposia | stratum strata | taxon taxa | protozoon protozoa | optimum optima | maximum maxima
minimum minima | quantum quanta | flagellum flagella | cerebellum cerebella | epithelium epithelia
endothelium endothelia | schema schemata | stigma stigmata | carcinoma carcinomata | ox oxen | life lives | knife knives
calf calves | half halves | leaf leaves | wolf wolves | loaf loaves | shelf shelves
"""
_BY_FORM: dict[str, str] = {}
for _pair in _IRREGULAR.replace("\n", "|").split("|"):
    if _pair.strip():
        _one, _many = _pair.split()
        _BY_FORM |= {_one: _many, _many: _one}

_PLURAL_RULES = tuple(
    (re.compile(pattern), written)
    for pattern, written in (
        ("(?<=...)us$", "uses"),
        ("(?<=..)uses$", "us"),
        ("(?<=...)us$", "i"),
        ("(?<=....)i$", "us"),
        ("(?<=...)sis$", "ses"),
        ("(?<=...)ses$", "sis"),
        ("(?<=...)(?<=[bdgrtv])a$", "ae"),
        ("(?<=...)ae$", "a"),
        ("(?<=[a-z]{4})(ics|ical|ically)$", "ic"),
    )
)


@lru_cache(maxsize=4096)
def plurals(word: str) -> tuple[str, ...]:
    """Return forms of a word in small letters that a stemmer may tell apart from it: viruses, metastasis, mice."""
    if not word.isalpha():
        return ()
    found = {_BY_FORM[word]: None} if word in _BY_FORM else {}
    return (*found, *(pattern.sub(to, word) for pattern, to in _PLURAL_RULES if pattern.search(word)))


Synonyms = Mapping[tuple[str, ...], tuple[str, ...]]
"""By words in small letters, what else to search for."""

Rule = Callable[[str], Sequence[str]]

RULES: Mapping[str, Rule] = {"continents": transatlantic, "plurals": plurals}
"""Kinds of spellings of single words in English."""

COMPOUNDS = "compounds"
KINDS = (COMPOUNDS, *RULES)

MOST_WORDS = 40
"""A longer text is pasted, and holds the words of its topic in more than one form."""

MOST_SPELLINGS = 200
"""Spellings of a whole query, each searched in two fields: OpenSearch takes 1,024 clauses, a filter up to 512."""

MOST_BYTES = 8 << 20
"""Largest file of synonyms."""

_NONE: Synonyms = {}


class Expanded(NamedTuple):
    """A query's words in two parts: the words with one spelling, and all others."""

    plain: str
    groups: tuple[TermGroup, ...]


def expand(
    text: str, language: str = DEFAULT_LANGUAGE, kinds: Sequence[str] = KINDS, synonyms: Synonyms = _NONE
) -> Expanded:
    """Return a query's plain words with their other spellings.

    The kinds of spellings are those of `KINDS`; those of single words are for English alone. `synonyms` are those of
    words of the query. Where nothing has another spelling, the same text is returned as plain words.
    """
    plain: list[str] = []
    groups: list[TermGroup] = []
    left = MOST_SPELLINGS if len(text.split()) <= MOST_WORDS else 0
    for words, typed in _runs(text, synonyms):
        # The score of a phrase is that of all its words, and one word of two or three is not worth more than itself.
        meant = synonyms.get(tuple(map(folded, words)), ())
        others = {one.lower(): min(1.0, len(words) / len(TOKEN.findall(one))) for one in meant}
        if COMPOUNDS in kinds:
            others |= dict.fromkeys(compounds(words), 1.0)
        if len(words) == 1:
            others |= dict.fromkeys(by_rules(words[0].lower(), language, kinds), 1.0)
        spelled = [TermVariant(text, weight) for text, weight in others.items() if text != typed.lower()][:left]
        left -= len(spelled)
        if spelled:
            groups.append(TermGroup(typed, tuple(spelled)))
        else:
            plain.append(typed)
    return Expanded(" ".join(plain) if groups else text, tuple(groups))


def by_rules(word: str, language: str = DEFAULT_LANGUAGE, kinds: Sequence[str] = KINDS) -> list[str]:
    """Return the other spellings of a word in small letters by rules, which only English has."""
    rules = [rule for name, rule in RULES.items() if name in kinds and language == "english"]
    return list(dict.fromkeys(one for rule in rules for one in rule(word)))


def _runs(text: str, synonyms: Synonyms) -> Iterator[tuple[list[str], str]]:
    """Yield the words of a text, with those together that have synonyms or may be parts of one, and how they stand."""
    tokens = list(TOKEN.finditer(text))
    words = [token[0] for token in tokens]
    longest = max(map(len, synonyms), default=0)
    at = 0
    while at < len(tokens):
        end = at + 1
        while end < len(tokens) and continues(
            words[end - 1], words[end], text[tokens[end - 1].end() : tokens[end].start()]
        ):
            end += 1
        for stop in range(min(at + longest, len(tokens)), end - 1, -1):
            if tuple(map(folded, words[at:stop])) in synonyms:
                end = stop
                break
        yield words[at:end], text[tokens[at].start() : tokens[end - 1].end()]
        at = end


def read_synonyms(path: Path) -> Synonyms:
    """Read a file of synonyms, text in UTF-8.

    In each line there are words or phrases with commas between them: a paper with any of them counts for all. Of `a, b
    => c, d`, only c and d are searched for beside a or b. What follows `#` is a comment. Raises `InputError` if the
    file can't be read, or a line has another form; the message names it.
    """
    try:
        lines = read_text(path, MOST_BYTES).splitlines()
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise InputError(f"The synonyms in {path} can't be read ({reason}); give a text file in UTF-8.") from None
    found: dict[tuple[str, ...], dict[str, None]] = {}
    for number, line in enumerate(lines, 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        left, arrow, right = content.partition("=>")
        typed, meant = _phrases(left), _phrases(right if arrow else left)
        if not typed or not meant or (not arrow and len(typed) < 2) or "=>" in right:
            raise InputError(
                f"Line {number} of {path} is no group of synonyms",
                "write it as `heart attack, infarction` or `MI => infarction`",
            )
        for one in typed:
            others = found.setdefault(key_of(one), {})
            others |= {other: None for other in meant if key_of(other) != key_of(one)}
    return {words: tuple(others) for words, others in found.items()}


def _phrases(text: str) -> list[str]:
    return [one.strip() for one in text.split(",") if key_of(one)]


def key_of(text: str) -> tuple[str, ...]:
    """Return the words of a text in small letters without accents."""
    return tuple(folded(token[0]) for token in TOKEN.finditer(text))


SAMPLE = 30
"""Papers with the acronym that are read: those that say it most, which often define it."""

MOST = 3
"""Acronyms of one query that are looked up."""

SHARE = 0.5
"""Least share of the definitions read that the most frequent one needs."""

_BRACKETS = re.compile(r"\(([^()]{2,10}?)(?:[;,:][^()]*)?\)")
_ACRONYM = re.compile(r"(?=(?:.*[A-Z]){2})[A-Za-z][A-Za-z0-9]{1,7}")
_TYPED_IN_CAPITALS = 2
"""Words of a query in capitals; if there are more, none is an acronym for sure."""


def acronyms_of(text: str) -> list[str]:
    """Return the words of a query that are written as acronyms: HIV, mTOR, BRCA1; none if all of it is in capitals."""
    words = [token[0] for token in TOKEN.finditer(text)]
    found = [word for word in dict.fromkeys(words) if _ACRONYM.fullmatch(word)]
    return [] if len(words) > _TYPED_IN_CAPITALS and text.isupper() else found[:MOST]


def long_forms(index: Index, text: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    """Return what the papers of an index mean by a query's acronyms: by acronym in small letters, its long form.

    Acronyms that no paper read defines are left out.
    """
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for short in acronyms_of(text):
        if long := index.cached(short, partial(_long_form_of, index, short)):
            found[(folded(short),)] = (long,)
    return found


def _long_form_of(index: Index, short: str) -> str:
    hits = index.search(Plan(short, (), None, SAMPLE, title_boost=0.0))[LEXICAL]
    return _usual(short, index.papers([hit.id for hit in hits]).values(), index.schema.language)


def _usual(short: str, papers: Iterable[Paper], language: str) -> str:
    """Return the long form that most papers give for an acronym; empty if they don't agree."""
    counts: Counter[tuple[str, ...]] = Counter()
    written: dict[tuple[str, ...], str] = {}
    for paper in papers:
        defined = {
            tuple(terms_of(long, language)): long
            for text in (paper.title, paper.abstract)
            for _, long in definitions(text, short)
        }
        counts.update(defined.keys())
        written = {**defined, **written}
    if not counts:
        return ""
    terms, count = max(counts.items(), key=lambda pair: (pair[1], pair[0]))
    return written[terms] if count >= SHARE * counts.total() else ""


def definitions(text: str, short_form: str = "") -> Iterator[tuple[str, str]]:
    """Yield the acronyms that a title or an abstract defines, with their long forms: `("NF", "nuclear factor")`.

    If `short_form` is given, only that acronym is looked for, in any case.
    """
    wanted = folded(short_form)
    for found in _BRACKETS.finditer(text):
        short = found[1].strip()
        if short_form and folded(short) != wanted:
            continue
        if not short or len(short.split()) > 2 or not short[0].isalnum() or not any(map(str.isalpha, short)):
            continue
        # At most min(|A| + 5, 2|A|) words before the bracket (section 3.1), in the same sentence.
        words = re.split(r"[.;:!?]\s", text[: found.start()])[-1].split()
        long = _long_form(short, " ".join(words[-min(len(short) + 5, 2 * len(short)) :]))
        if len(long.split()) > 1 or len(long) > len(short) + 1:
            yield short, long


def _long_form(short: str, before: str) -> str:
    """Return the shortest end of a text that holds an acronym's letters in order; empty if there is none (figure 1).

    The first letter has to begin a word.
    """
    at = len(before) - 1
    for number in range(len(short) - 1, -1, -1):
        letter = short[number].lower()
        if not letter.isalnum():
            continue
        while at >= 0 and (before[at].lower() != letter or (number == 0 and at > 0 and before[at - 1].isalnum())):
            at -= 1
        if at < 0:
            return ""
        at -= 1
    return before[before.rfind(" ", 0, at + 1) + 1 :].strip()
