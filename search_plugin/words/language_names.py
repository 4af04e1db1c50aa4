"""Names and codes of languages: corpora write `eng`, `en` or `English`, and people type any of these.

The codes are those of ISO 639: two letters, then three (for some languages two of them, of which PubMed and MARC use
the first).
"""

from __future__ import annotations

from collections.abc import Mapping

_LANGUAGES = """
english en eng; german de ger deu; french fr fre fra; spanish es spa castilian; italian it ita; portuguese pt por;
dutch nl dut nld flemish; russian ru rus; ukrainian uk ukr; polish pl pol; czech cs cze ces; slovak sk slo slk;
slovenian sl slv slovene; croatian hr hrv; serbian sr srp; bosnian bs bos; macedonian mk mac mkd; bulgarian bg bul;
romanian ro rum ron moldavian; hungarian hu hun; greek el gre ell; albanian sq alb sqi; turkish tr tur;
azerbaijani az aze; georgian ka geo kat; armenian hy arm hye; lithuanian lt lit; latvian lv lav; estonian et est;
finnish fi fin; swedish sv swe; norwegian no nor; danish da dan; icelandic is ice isl; irish ga gle; welsh cy wel cym;
catalan ca cat; basque eu baq eus; galician gl glg; latin la lat; esperanto eo epo; arabic ar ara; hebrew he heb;
persian fa per fas farsi; urdu ur urd; hindi hi hin; bengali bn ben; tamil ta tam; telugu te tel; malayalam ml mal;
sanskrit sa san; thai th tha; vietnamese vi vie; indonesian id ind; malay ms may msa; chinese zh chi zho mandarin;
japanese ja jpn; korean ko kor; mongolian mn mon; kazakh kk kaz; uzbek uz uzb; afrikaans af afr; swahili sw swa
"""


def _by_name() -> Mapping[str, tuple[str, ...]]:
    languages = [tuple(names.split()) for names in _LANGUAGES.split(";")]
    return {name: names for names in languages for name in names}


_BY_NAME = _by_name()


def names_of_language(name: str) -> tuple[str, ...]:
    """Return a name or a code of a language as it is, and after it the others of that language, if it is known."""
    return tuple(dict.fromkeys((name, *_BY_NAME.get(name.strip().lower(), ()))))
