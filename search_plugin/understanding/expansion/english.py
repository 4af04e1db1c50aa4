"""Other spellings of single English words, British or American, and plurals that stemmers don't bring together."""

from __future__ import annotations

import re
from functools import lru_cache

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
