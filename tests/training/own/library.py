"""An index of papers on three subjects, which their words tell apart, with labels and numbers in its fields."""

from __future__ import annotations

import random

import ses
from tests.tiny import WORDS, make_model

SUBJECTS = ("astronomy", "biology", "medicine")


def papers(count=150, seed=0):
    """Papers whose venue, topics and score follow from their words; every tenth has no value."""
    draw = random.Random(seed)
    for row in range(count):
        subject = draw.randrange(3)
        own = WORDS[subject * 12 : subject * 12 + 12]
        valued = {"venue": SUBJECTS[subject], "topics": [SUBJECTS[subject], "all"][: 1 + row % 2], "score": subject + 1}
        yield {
            "id": f"p{row:04}",
            "title": f"{' '.join(draw.choices(own, k=4))} {chr(97 + row % 26)} {chr(97 + row // 26)}",
            "abstract": " ".join(draw.choices(own, k=6)),
            **(valued if row % 10 else {}),
        }


FIELDS = {"topics": "keywords", "score": "number", "day": "date"}


def open_library(folder, layers=3, given=None, model=None, **options):
    """Return a library with the index `own` of such papers, by a random model or another one."""
    model = model or make_model(folder / "tiny", layers=layers)
    library = ses.open(model=str(model), data_dir=folder / "data", cache_dir=folder / "cache")
    library.index("own", given or list(papers()), fields=FIELDS, **options)
    return library
