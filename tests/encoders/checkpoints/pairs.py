"""Folders of cross-encoders with random weights, as transformers and sentence-transformers write them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from tests.encoders.checkpoints.families import make_modernbert, make_mpnet, make_multilingual
from tests.encoders.checkpoints.files import linear, normal, save
from tests.tiny import make_model

FAMILIES = ("bert", "roberta", "xlm-roberta", "camembert", "mpnet", "modernbert")

_CLASSES = {
    "bert": "BertForSequenceClassification",
    "roberta": "RobertaForSequenceClassification",
    "xlm-roberta": "XLMRobertaForSequenceClassification",
    "camembert": "CamembertForSequenceClassification",
    "mpnet": "MPNetForSequenceClassification",
    "modernbert": "ModernBertForSequenceClassification",
}
_PREFIXES = {"bert": "bert.", "mpnet": "mpnet.", "modernbert": "model."}
_TOKENIZERS = {"roberta": "RobertaTokenizer", "mpnet": "MPNetTokenizer"}


def make_cross_encoder(
    folder: Path, family: str = "bert", *, seed: int = 0, labels: int = 1, **changed: object
) -> Path:
    """Write the network of a family with the head of its class for sequences; `changed` goes into `config.json`."""
    _make_trunk(folder, family, seed)
    config = json.loads((folder / "config.json").read_text())
    weights, draw = load_file(folder / "model.safetensors"), np.random.default_rng(seed + 7)
    width = config["hidden_size"]
    trunk = {f"{_PREFIXES.get(family, 'roberta.')}{name}": array for name, array in weights.items()}
    head = _head(draw, family, width, labels)
    names = {str(number): f"LABEL_{number}" for number in range(labels)}
    config |= {"architectures": [_CLASSES[family]], "id2label": names, "num_labels": labels}
    (folder / "config.json").write_text(json.dumps(config | changed))
    save(folder / "model.safetensors", trunk | head)
    write_pair_form(folder, family)
    return folder


def _make_trunk(folder: Path, family: str, seed: int) -> None:
    if family in ("bert", "roberta"):
        make_model(folder, seed=seed, architecture=family, layers=3)
    elif family == "mpnet":
        make_mpnet(folder, seed=seed)
    elif family == "modernbert":
        make_modernbert(folder, seed=seed)
    else:
        make_multilingual(folder, family, seed=seed)


def _head(draw: np.random.Generator, family: str, width: int, labels: int) -> dict[str, np.ndarray]:
    if family == "bert":
        return linear(draw, "bert.pooler.dense", width, width) | linear(draw, "classifier", labels, width)
    if family == "modernbert":
        head = {"head.dense.weight": normal(draw, width, width), "head.norm.weight": 1 + normal(draw, width)}
        return head | linear(draw, "classifier", labels, width)
    return linear(draw, "classifier.dense", width, width) | linear(draw, "classifier.out_proj", labels, width)


def write_pair_form(folder: Path, family: str) -> None:
    """Let the tokenizer join two texts as the family's does, and name its class."""
    from tokenizers import Tokenizer, processors

    path = folder / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(path))
    first, last = ("[CLS]", "[SEP]") if family in ("bert", "modernbert") else ("<s>", "</s>")
    ends = [(token, tokenizer.token_to_id(token)) for token in (first, last)]
    typed = family in ("bert", "modernbert")
    between, second = (f"{last}", ":1") if typed else (f"{last} {last}", ":0")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}", pair=f"{first} $A {between} $B{second} {last}{second}", special_tokens=ends
    )
    tokenizer.save(str(path))
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config |= {
        "tokenizer_class": "BertTokenizer" if family == "bert" else "PreTrainedTokenizerFast",
        "model_max_length": 60,
    }
    config |= dict(
        zip(("cls_token", "sep_token", "pad_token"), (first, last, "[PAD]" if typed else "<pad>"), strict=True)
    )
    config |= {"unk_token": "[UNK]" if typed else "<unk>"}
    if family != "bert":
        config["model_input_names"] = ["input_ids", "attention_mask"]
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
