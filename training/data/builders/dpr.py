"""Training files of SciMult and CoF (UniPR), in DPR's form: a question, passages that answer it, and hard negatives.

One JSON object a line or one array: `question`, `positive_ctxs`, `hard_negative_ctxs` and `negative_ctxs`, whose
passages have `title` and `text` (dpr/data/biencoder_data.py). A question may hold a title and an abstract with `[SEP]`
between; a label's passage has its name and definition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from corpora.cleaning import text_of
from training.data.builders.base import Builder, BuilderOptions, BuilderSource, Made, PaperRecord, drawn, identity_of

_SEPARATOR = "[SEP]"


def build(source: BuilderSource, options: BuilderOptions) -> Iterator[Made]:
    """Read questions; yield each with one positive and one negative as a triplet, as the originals train on.

    The option `pairs` is the most positives of a question, the first ones. The negative is drawn from the hard ones, or
    from the others if there are no hard ones. Without any, the positive of the previous question is used.
    """
    before: dict[str, str] = {}
    for record in source.papers():
        question = _question(text_of(record.get("question")))
        positives = _passages(record, "positive_ctxs")
        hard = _passages(record, "hard_negative_ctxs") or _passages(record, "negative_ctxs")
        if not question or not positives:
            source.left_out["no question" if positives else "no positive passage"] += 1
            continue
        for number, positive in enumerate(positives[: int(options["pairs"])]):
            wrong = [one for one in hard or [before] if one and one not in positives]
            if not wrong:
                source.left_out["pair without a negative passage"] += 1
                continue
            key = text_of(record.get("question"))
            negative = wrong[int(drawn(source.seed, f"{key}\t{number}") * len(wrong))]
            papers = tuple(map(identity_of, (question, positive, negative)))
            yield Made(papers, {"query": question, "pos": positive, "neg": negative})
        before = positives[0]


def _question(text: str) -> str | dict[str, str]:
    # The originals fold this apostrophe in questions, and in passages only if told so.
    title, between, abstract = text.replace("\u2019", "'").partition(_SEPARATOR)
    return _filled({"title": title.strip(), "abstract": abstract.strip()}) if between else title


def _passages(record: PaperRecord, key: str) -> list[dict[str, str]]:
    given = record.get(key)
    found = [_passage(one) for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    return [one for one in found if one]


def _passage(given: dict[str, Any]) -> dict[str, str]:
    return _filled({"title": text_of(given.get("title")), "abstract": text_of(given.get("text"))})


def _filled(parts: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in parts.items() if value}


BUILDER = Builder("triplet", {"pairs": 1}, build)
