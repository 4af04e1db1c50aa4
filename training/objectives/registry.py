"""All objectives. A new one needs one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from training.objectives.base import Objective
from training.objectives.bce import BCE
from training.objectives.contrastive import CONTRASTIVE
from training.objectives.cross_entropy import CROSS_ENTROPY
from training.objectives.distillation import KL, MARGIN_MSE
from training.objectives.mse import MSE
from training.objectives.ranking import RANKING
from training.objectives.supervised_contrastive import SUPERVISED_CONTRASTIVE
from training.objectives.triplet import TRIPLET
from training.objectives.vectors import VECTORS

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
}
