"""British and American spelling: tumour and tumor, anaemia and anemia, randomised and randomized."""

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
_RULES = [
    *((one.split()[0], one.split()[1]) for line in _FRAGMENTS.strip().splitlines() for one in line.split(" | ")),
    (rf"(?<=...)is{_ENDINGS}", r"iz\1"),
    (rf"(?<=...)iz{_ENDINGS}", r"is\1"),
    (r"(?<=al|ar)ys(e|ed|es|ing)$", r"yz\1"),
    (r"(?<=al|ar)yz(e|ed|es|ing)$", r"ys\1"),
]


@lru_cache(maxsize=1)
def _rules() -> tuple[tuple[re.Pattern[str], str], ...]:
    pairs = [(one, other) for one, other in _RULES if "\\" in other]
    for british, american in ((one, other) for one, other in _RULES if "\\" not in other):
        pairs += [(british, american.strip("^$")), (american, british.strip("^$"))]
    return tuple((re.compile(pattern), written) for pattern, written in pairs)


@lru_cache(maxsize=4096)
def spellings(word: str) -> tuple[str, ...]:
    """Return the spelling of a word in small letters on the other side of the Atlantic; often there is none."""
    if not word.isalpha() or len(word) < 4:
        return ()
    found = {written: None for pattern, to in _rules() if (written := pattern.sub(to, word)) != word}
    return tuple(found)
