"""What a vector is for, how two are compared, and how precisely they are computed."""

from enum import StrEnum
from typing import Literal

Similarity = Literal["cosine", "dot", "l2"]
"""How two vectors are compared: by their cosine, their dot product, or their Euclidean distance."""

Precision = Literal["int8", "bf16", "fp32"]
"""The numbers that a runtime computes with, the fastest first."""


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
