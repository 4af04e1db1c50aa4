"""The parts of a pasted search: fields before and after words, operators, phrases, headings and words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from search_plugin.words.language_names import names_of_language

Sense = Literal["title", "text", "abstract", "heading", "authors", "venue", "year", "types", "language", "doi", "pmid"]
"""What a field of another system is here; `heading` and `abstract` are read as text, and that is said."""

_NAMES: Mapping[Sense, str] = {
    "title": "ti title",
    "abstract": "ab abstract abs",
    "text": """tiab title/abstract tw textword text_word all all_fields af mp ts topic title-abs-key title-abs
        title-abs-key-auth ti-abs tx""",
    "heading": """mesh mesh_terms mh mesh_major_topic majr mesh:noexp mesh_terms:noexp mh:noexp majr:noexp
        mesh_subheading sh subheading kw kf kwo key keywords author_keywords ot other_term other hw de exp mj dm
        indexterms authkey ak kp nm substance_name supplementary_concept ps rn dd""",
    "authors": "au auth author authors 1au fau first_author last_author author-name fa lastau",
    "venue": "venue ta jour journal so jn jt srctitle exactsrctitle source_title jw jx ja",
    "year": "dp pdat py yr date_of_publication date_-_publication edat year publication_date pubyear crdt",
    "types": "type types pt dt publication_type ptyp doctype",
    "language": "la lang lg language",
    "doi": "doi aid lid do",
    "pmid": "pmid uid ui pm",
}
MEANINGS: Mapping[str, Sense] = {
    name.replace("_", " "): meaning for meaning, names in _NAMES.items() for name in names.split()
}
"""Fields of other systems, in small letters."""

_CODE = (
    r"(?:ti|ab|tiab|tw|mp|kw|kf|kwo|sh|hw|ot|nm|au|fa|jn|jw|jx|ja|so|yr|dp|py|pt|la|lg|af|tx|do|ui|de|dd|ps|rn|fs|id|tt"
    "|ta|in|gs)"
)
_AFTER_DOT = rf"\.{_CODE}(?:,{_CODE})*\.?(?![\w.])"
_AFTER_COLON = rf":{_CODE}(?:,{_CODE})*(?![\w:])"
_AFTER_SLASH = r"/(?:exp|de|mj|dm|br)(?:/mj)?(?!\w)|/(?=\s|[)\]]|$)(?:\s*\[[^\]]*\])?"
_BRACKETED = r"\[[^\[\]]{1,60}\]"
_LIMITS = r"(?:lim|py|sd)"
"""What limits a search of Embase, after brackets."""

_WOS = r"(?:TI|TS|AB|AU|SO|PY|AK|KP|ALL|DO|DT|LA|PMID|AD|OG|FO|CU|WC|SU|UT|IS)"
_SCOPUS = (
    r"(?:TITLE-ABS-KEY-AUTH|TITLE-ABS-KEY|TITLE-ABS|TITLE|ABS|KEY|AUTHOR-NAME|AUTHKEY|AUTH|INDEXTERMS|SRCTITLE|"
    r"EXACTSRCTITLE|DOCTYPE|LANGUAGE|DOI|PMID|AFFIL|AFFILCOUNTRY|ALL|SUBJAREA|LIMIT-TO|EXCLUDE|FUND-ALL|REF)"
)
_SCOPUS_ALONE = (
    r"(?-i:INDEX|SRCTYPE|PUBSTAGE|EXACTKEYWORD|PREFNAMEAUID|AFFILORG|AFFILCITY|AF-ID|AU-ID|ISSN|ISBN|CONFNAME|"
    r"CASREGNUMBER|CHEMNAME|REFTITLE|REFAUTH|FREETOREAD)"
)
"""Fields of Scopus that a search has only beside others; small letters are words."""

_BEFORE = (
    rf"\b{_WOS}\s*=\s*|\b(?:{_SCOPUS}|{_SCOPUS_ALONE})(?=\s*\()|\b(?:ti|ab|tiab|tw|au|so|py|dp|kw|mh|ta|pt|la):(?=[\w(\"'])"
    r"|\b(?:title|author|authors|journal|venue|year|type|types|language):(?=[\w(\"])"
)
_OWN = (
    r"(?<!\w)(?P<field>[^\W\d]\w*):(?P<relation>>=|<=|>|<)?"
    rf"(?:\"(?P<value>[^\"]*)\"|(?!{_CODE}\b)(?P<bare>\w[\w.-]*\w|\w))"
)
"""A field as queries of ses have it, which may stand beside a nearness."""
_PUBYEAR = r"\bPUBYEAR\s*(?P<sign>>=|<=|=|>|<|\bIS\b|\bAFT\b|\bBEF\b)\s*(?P<pubyear>\d{4})\b"
_NEARNESS = r"(?:NEAR|ADJ|N|W|PRE|NEXT)/\d{1,3}|adj\d{1,3}|(?:PRE|NEXT|NEAR)/[SP]"
_KNOWN = "|".join(re.escape(name) for name in sorted(MEANINGS, key=len, reverse=True))

_MARKS = re.compile(
    rf"""
    \[(?:{_KNOWN}|ad|affiliation|sb|filter|gr|si|pa|tt|ir|cn)(?::~\d+)?\]
    | \[mh\s
    | \bMeSH\ descriptor:
    | \[[^\[\]]+\]/{_LIMITS}\b
    | [\w*?$"')\]]{_AFTER_DOT}
    | [\w*?$"')]:(?:ti|ab|kw|tw)(?:,{_CODE})*(?![\w:])
    | \w/(?:exp|de|mj)\b
    | \bexp\s+[^()/]{{2,80}}/
    | (?<![\w./:-])(?!and/)[a-z][a-z-]+/(?=\s*$|\s*\)|\s+(?:and|or|not)\b)
    | "~\d
    | (?<![\w:/])(?:ti|ab|tiab|tw|mh):[\w("']
    | \badj\d{{1,2}}\b
    | \b(?:near|w|pre|next)/\d{{1,2}}\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_CAPITALS = re.compile(rf"\b{_WOS}\s*=\s*[(\"\w]|\b{_SCOPUS}\s*\(|\bPUBYEAR\s*[<>=IAB]|\b(?:{_NEARNESS})(?!\w)")

_NUMBERED = re.compile(r"\A#?\d{1,3}[.)]\s+(?=\S)")
_DATE = r'"?(\d{4}(?:/\d{1,2}){0,2})"?\s*\[[^\]]{2,40}\]'
_REWRITTEN = (
    # A time between two dates as PubMed writes it.
    (re.compile(rf"{_DATE}\s*:\s*{_DATE}"), r"\1:\2[dp]"),
    # Limits of Scopus. EXCLUDE(A) OR EXCLUDE(B) leaves out both, so it becomes AND.
    (re.compile(r"(?<=\))\s*\bOR\s+(?=EXCLUDE\s*\()"), " AND "),
    (re.compile(r"\bEXCLUDE\s*\((?=\s*[A-Z-]+\s*,)"), "NOT LIMIT-TO("),
    (re.compile(r"\bLIMIT-TO\s*\(\s*PUBYEAR\s*,\s*(\d{4})\s*\)"), r"PUBYEAR = \1"),
    (re.compile(r"\bLIMIT-TO\s*\(\s*([A-Z-]+)\s*,\s*(\"[^\"]*\"|[^()\"]*?)\s*\)"), r"\1(\2)"),
    # What the Cochrane Library writes into the lines that it exports.
    (re.compile(r"\(Word variations have been searched\)", re.IGNORECASE), ""),
    (
        re.compile(r"\bMeSH descriptor:\s*\[([^\[\]]+)\](?:\s+(?:explode all trees|this term only))?", re.IGNORECASE),
        r'[mh "\1"]',
    ),
)
"""Forms that mean the same as others, and what stands for them."""

_TOKENS = re.compile(
    rf"""
    (?P<space>\s+)
    | (?P<open>\() | (?P<close>\))
    | (?P<after_year>{_PUBYEAR})
    | (?P<mesh>\[mh\s+(?P<heading>[^\[\]]+)\])
    | (?P<before>{_BEFORE})
    | (?P<own>{_OWN})
    | (?P<phrase>["\u201c\u201d](?P<inside>[^"\u201c\u201d]*)["\u201c\u201d](?:~(?P<within>\d{{1,3}}))?)
    | (?P<single>(?<!\w)'(?P<inner>[^']*)'(?=[\s)/:.]|$))
    | (?P<limit>\[(?P<limited>[^\[\]]+)\]/(?P<limits>{_LIMITS})\b)
    | (?P<bracket>{_BRACKETED})
    | (?P<dotted>{_AFTER_DOT}) | (?P<colon>{_AFTER_COLON}) | (?P<slash>{_AFTER_SLASH})
    | (?P<near>(?:{_NEARNESS})(?!\w)) | (?P<adjacent>(?:adj|next|near|pre|same)(?=\s))
    | (?P<operator>(?:and\s+not|and|or|not|&&|\|\|)(?![\w\-]))
    | (?P<explode>exp\s+(?:\*(?=\w))?)
    | (?P<focus>\*(?=[\w-]+(?:[ ,]+(?!(?:and|or|not)\b)[\w-]+){{0,9}}/(?:[\s)]|$)))
    | (?P<word>[^\s()\[\]"\u201c\u201d]+?(?={_AFTER_DOT}|{_AFTER_COLON}|{_AFTER_SLASH}|[\s()\[\]"\u201c\u201d]|$))
    | (?P<other>.)
    """,
    re.IGNORECASE | re.VERBOSE,
)
_KINDS = (
    *("space", "open", "close", "after_year", "mesh", "before", "own", "phrase", "single", "limit", "bracket"),
    *("dotted", "colon", "slash", "near", "adjacent", "operator", "explode", "focus", "word"),
)

APART = 15
"""Words between two others that are near, where no number says how many, as in Web of Science."""

_SENTENCE = 1_000
"""More words than any nearness that is searched."""


@dataclass(frozen=True, slots=True)
class PastedToken:
    """A part of a search.

    Attributes:
        kind: The kind of part, a name of a group of the expression.
        text: What it says: the inside of quotes, a word with the wildcards of ses, the operator in small letters.
        names: The fields that it names; a field as queries of ses have it ends with a colon.
        number: The words between two others, or 0.
        sign: The relation to a year.
    """

    kind: str
    text: str
    names: tuple[str, ...] = ()
    number: int = 0
    sign: str = ""


def is_pasted(text: str) -> bool:
    """Return whether a text has the marks of a search of another system."""
    return bool(_MARKS.search(text) or _CAPITALS.search(text))


def reads_flat(text: str) -> bool:
    """Return whether operators are read from left to right, as PubMed does, whose fields are in brackets."""
    others = rf"\[mh\s|MeSH descriptor:|\]/{_LIMITS}\b"
    return bool(re.search(_BRACKETED, text)) and not re.search(others, text, re.IGNORECASE)


def reads_or_first(text: str) -> bool:
    """Return whether OR binds tighter than AND, as in Scopus."""
    return bool(re.search(rf"\b{_SCOPUS}\s*\(", text))


def pasted_tokens(text: str) -> Iterator[PastedToken]:
    """Yield the parts of a search in their order."""
    plain = _NUMBERED.sub("", text)
    for form, meaning in _REWRITTEN:
        plain = form.sub(meaning, plain)
    for found in _TOKENS.finditer(plain):
        kind = next((name for name in _KINDS if found[name] is not None), "other")
        if kind not in ("space", "focus"):
            yield _token(kind, found)


def _token(kind: str, found: re.Match[str]) -> PastedToken:
    text = " ".join(found[0].lower().split())
    match kind:
        case "phrase" | "single":
            inside = found["inside"] if kind == "phrase" else found["inner"]
            return PastedToken(kind, inside, number=int(found["within"] or 0))
        case "after_year" | "own" | "limit":
            return _compared(kind, found)
        case "mesh":
            return PastedToken(kind, found["heading"].strip(" ^\"'"), ("mesh",))
        case "before":
            return PastedToken(kind, text, (text.strip(" =:"),))
        case "bracket":
            name, _, within = text.strip("[]").partition(":~")
            return PastedToken(kind, text, (name.strip(),), int(within) if within.isdecimal() else 0)
        case "slash":
            return PastedToken(kind, text, ("mesh",))
        case "dotted" | "colon":
            return PastedToken(kind, text, tuple(text.strip(".:").split(",")))
        case "word":
            return PastedToken(kind, _wildcards(found[0].strip(",;")))
        case "near" | "adjacent" | "operator":
            return _operator(kind, text)
        case _:
            return PastedToken(kind, text)


def _compared(kind: str, found: re.Match[str]) -> PastedToken:
    if kind == "limit":
        known = len(names_of_language(found["limited"])) > 1
        return PastedToken(kind, found["limited"], ("la",) if known else (found["limits"].lower(),))
    if kind == "own":
        said = found["value"] or found["bare"] or ""
        return PastedToken(kind, said, (f"{found['field']}:",), sign=found["relation"] or "")
    sign = {"is": "=", "aft": ">", "bef": "<"}.get(found["sign"].lower(), found["sign"])
    return PastedToken(kind, found["pubyear"], ("year",), sign=sign)


def _operator(kind: str, text: str) -> PastedToken:
    if kind == "operator":
        return PastedToken(kind, {"&&": "and", "||": "or", "and not": "not"}.get(text, text))
    if text in ("adj", "next", "next/1", "pre"):
        return PastedToken("operator", "next")
    if kind == "adjacent":
        return PastedToken("operator", "near", number=APART)
    number = "".join(filter(str.isdecimal, text))
    # adj3 has two words between, and NEAR/3 three.
    between = int(number) - text.startswith("adj") if number else _SENTENCE
    return PastedToken("operator", "near", number=max(0, between))


def _wildcards(word: str) -> str:
    """Return a word with the wildcards of all systems as `*` for any letters and `?` for one or none."""
    word = re.sub(r"(?<=\w)\?+$", "", word)
    word = re.sub(r"\$\d*$|(?<=\w)\*\d+$", "*", word)
    return re.sub(r"(?<=\w)[$#](?=\w)", "?", word)
