"""What a vector is for, how two are compared, and how precisely they are computed."""

from enum import StrEnum
from typing import Literal

from corpora.errors import InputError, require

Similarity = Literal["cosine", "dot", "l2"]
"""How two vectors are compared: by their cosine, their dot product, or their Euclidean distance."""

Precision = Literal["int8", "bf16", "fp32"]
"""The numbers that a runtime computes with, the fastest first."""

QueryEncoder = Literal["model", "table"]
"""What encodes queries: the model of the index, or a table that stands in for it (`encoders/query_tables.py`)."""


class Format(StrEnum):
    """A task format of SciRepEval (section 3); its value is the control code without brackets, in lower case.

    Attributes:
        CLF: Classification: facet tags.
        RGN: Regression: forecasts such as citation counts.
        PRX: Proximity: a paper as a document, or as a query for papers like it.
        QRY: Ad-hoc search: a short query.

    Example:
        >>> Format("qry").code
        '[QRY]'
    """

    CLF = "clf"
    RGN = "rgn"
    PRX = "prx"
    QRY = "qry"

    @property
    def code(self) -> str:
        """The control code that SciRepEval adds to the vocabulary, such as `[PRX]`."""
        return f"[{self.name}]"


def parse_formats(*texts: str) -> tuple[Format, ...]:
    """Read task formats, separated by commas; `InputError` if one is unknown, or there is none."""
    names = [part.strip().lower() for text in texts for part in text.split(",") if part.strip()]
    known = [task_format.value for task_format in Format]
    if not names or any(name not in known for name in names):
        raise InputError(
            f"The formats {','.join(texts)!r} can't be read; give some of {', '.join(known)}, with commas between."
        )
    return tuple(dict.fromkeys(map(Format, names)))


def parse_format(text: str) -> Format:
    """Read one task format; `InputError` if it is unknown, or there are several."""
    found = parse_formats(text)
    require(len(found) == 1, f"Only one format is possible here, not {text!r}", "give one of them as <format>")
    return found[0]
