"""Tiny random checkpoints, written at test time in the very layouts that the papers' users have.

Every `make_` function writes one and returns its path; the `_state` functions give weights without a file, and so
without torch. All weights are drawn wide enough that each one changes the vectors.
"""

from tests.encoders.checkpoints.adapterhub import make_adapter, make_fusion, make_lora, make_peft, make_prefix
from tests.encoders.checkpoints.biencoders import biencoder_params, make_scimult, make_unipr, scimult_state, unipr_state
from tests.encoders.checkpoints.families import make_modernbert, make_mpnet, make_multilingual
from tests.encoders.checkpoints.files import read_params, read_weights
from tests.encoders.checkpoints.huggingface import make_miread, make_sentence_transformers
from tests.encoders.checkpoints.late import make_colbert, make_pylate
from tests.encoders.checkpoints.pairs import make_cross_encoder
from tests.encoders.checkpoints.scirepeval import make_pals, make_scirepeval_tree, pals_state

__all__ = [
    "biencoder_params",
    "make_adapter",
    "make_colbert",
    "make_cross_encoder",
    "make_fusion",
    "make_lora",
    "make_miread",
    "make_modernbert",
    "make_mpnet",
    "make_multilingual",
    "make_pals",
    "make_peft",
    "make_prefix",
    "make_pylate",
    "make_scimult",
    "make_scirepeval_tree",
    "make_sentence_transformers",
    "make_unipr",
    "pals_state",
    "read_params",
    "read_weights",
    "scimult_state",
    "unipr_state",
]
