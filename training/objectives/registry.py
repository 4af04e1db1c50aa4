"""All objectives. A new one needs a loss in a file of this folder and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from training.objectives.base import Objective
from training.objectives.classification import BCE, CROSS_ENTROPY, SUPERVISED_CONTRASTIVE
from training.objectives.distillation import KL, MARGIN_MSE, VECTORS
from training.objectives.regression import MSE, RANKING
from training.objectives.reranking import LISTWISE
from training.objectives.triplets import CONTRASTIVE, TRIPLET

OBJECTIVES: Mapping[str, Objective] = {
    "triplet": TRIPLET,
    "contrastive": CONTRASTIVE,
    "cross-entropy": CROSS_ENTROPY,
    "supervised-contrastive": SUPERVISED_CONTRASTIVE,
    "bce": BCE,
    "mse": MSE,
    "ranking": RANKING,
    "kl": KL,
    "margin-mse": MARGIN_MSE,
    "vectors": VECTORS,
    "listwise": LISTWISE,
}
