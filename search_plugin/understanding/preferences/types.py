"""Types of publication in a query's words: "meta-analysis of hydroxychloroquine", "systematic review ivermectin"."""

from __future__ import annotations

import re

from search_plugin.contract.engine import Index
from search_plugin.contract.tree import OneOf, Or, Says
from search_plugin.filters.matching import ANYTHING
from search_plugin.understanding.meaning import Preference
from search_plugin.understanding.preferences.frequency import is_term

_TYPE = (
    r"(?:(?:systematic|scoping|narrative|literature)\s+)?reviews?|meta[-\u2010\u2011 ]?analys[ei]s"
    r"|(?:(?:randomi[sz]ed\s+)?(?:controlled\s+)?(?:clinical\s+)?)trials?|rcts?|observational\s+stud(?:y|ies)"
    r"|case\s+reports?|(?:practice\s+)?guidelines?|editorials?"
)
_ABOUT = r"of|on|about|for|in|regarding|concerning|into"
_FIRST = re.compile(
    rf"(?:(?:an?|the|any|recent|latest)\s+)?(?P<type>{_TYPE})(?:\s+(?:{_ABOUT}))?\s+(?P<topic>(?P<beside>\S+).*)",
    re.IGNORECASE,
)
_LAST = re.compile(rf"(?P<topic>.*?(?P<beside>\S+)),?\s+(?P<type>{_TYPE})", re.IGNORECASE)
_OTHER_NAMES = {
    "rct": "randomizedcontrolledtrial",
    "randomizedtrial": "randomizedcontrolledtrial",
    "randomizedclinicaltrial": "randomizedcontrolledtrial",
    "randomizedcontrolledclinicaltrial": "randomizedcontrolledtrial",
    "controlledtrial": "controlledclinicaltrial",
    "trial": "clinicaltrial",
    "guideline": "practiceguideline",
}
"""Names of types that people type, by those that databases use."""

MOST_WORDS = 10


def preferred_type(index: Index, query: str) -> tuple[Preference, str] | None:
    """Return the type of publication that a query names at its beginning or end, and the other words.

    The preference is for papers that have the type or say it in their title, since databases add types late. Returns
    None where no paper has the type, or it is a term with the word beside it ("peer review", "review process").
    """
    words = query.rstrip(" ?.")
    found = _FIRST.fullmatch(words) or _LAST.fullmatch(words)
    if not found or len(words.split()) > MOST_WORDS:
        return None
    typed, beside = found["type"], found["beside"]
    wanted = _key(typed)
    names = dict.fromkeys((wanted, _OTHER_NAMES.get(wanted, wanted), *(["review"] if "review" in wanted else [])))
    held = index.spelled({"types": [f"[{name[0]}{name[0].upper()}]{ANYTHING}" for name in names]})["types"]
    types = next((same for name in names if (same := [one for one in held if _key(one) == name])), [])
    pair = (typed, beside) if found.re is _FIRST else (beside, typed)
    about = re.match(rf".*{re.escape(typed)}\s+(?:{_ABOUT})\s", words, re.IGNORECASE)
    if not types or (not about and is_term(index, *pair)):
        return None
    where = Or((OneOf("types", tuple(types)), Says("title", typed)))
    return Preference("type", where, f"of the type {' or '.join(sorted(types))}"), found["topic"].strip(" ,;:")


def _key(text: str) -> str:
    """Return the letters of a type in the singular and in American spelling."""
    letters = re.sub(r"[\W_]", "", text.lower()).replace("analyses", "analysis").replace("studies", "study")
    letters = letters.replace("randomis", "randomiz")
    return letters if letters.endswith("sis") else letters.removesuffix("s")
