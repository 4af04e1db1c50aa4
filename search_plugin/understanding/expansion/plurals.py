"""Plurals that stemmers don't bring together: viruses and virus, metastases and metastasis, mice and mouse."""

from __future__ import annotations

import re
from functools import lru_cache

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

_RULES = tuple(
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
def spellings(word: str) -> tuple[str, ...]:
    """Return forms of an English word in small letters that a stemmer may tell apart from it."""
    if not word.isalpha():
        return ()
    found = {_BY_FORM[word]: None} if word in _BY_FORM else {}
    return (*found, *(pattern.sub(to, word) for pattern, to in _RULES if pattern.search(word)))
