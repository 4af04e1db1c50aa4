"""Folders of late-interaction models with random weights, in PyLate's layout and in ColBERT's own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from tests.encoders.checkpoints.files import normal, save
from tests.encoders.checkpoints.pairs import make_cross_encoder

DIMENSION = 24
MARKS = ("[Q] ", "[D] ")
UNUSED = ("[unused0]", "[unused1]")


def make_pylate(folder: Path, family: str = "bert", *, seed: int = 0, **settings: object) -> Path:
    """Write a folder as PyLate 1 does: modules Transformer and Dense, all other settings in one file."""
    projection = _make_trunk(folder, family, seed, MARKS)
    dense = folder / "1_Dense"
    dense.mkdir(exist_ok=True)
    identity = "torch.nn.modules.linear.Identity"
    facts = {"in_features": 64, "out_features": DIMENSION, "bias": False, "activation_function": identity}
    (dense / "config.json").write_text(json.dumps(facts))
    save(dense / "model.safetensors", {"linear.weight": projection})
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Dense", "type": "pylate.models.Dense.Dense"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    given = {
        "model_type": "ColBERT",
        "prompts": {},
        "default_prompt_name": None,
        "similarity_fn_name": "MaxSim",
        "query_prefix": MARKS[0],
        "document_prefix": MARKS[1],
        "query_length": 16,
        "document_length": 40,
        "attend_to_expansion_tokens": False,
        "skiplist_words": [".", ",", ":"],
        "do_query_expansion": True,
    }
    (folder / "config_sentence_transformers.json").write_text(json.dumps(given | settings))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 39, "do_lower_case": false}')
    return folder


def make_colbert(folder: Path, family: str = "bert", *, seed: int = 0, **metadata: object) -> Path:
    """Write a folder as ColBERT's own code does: `linear.weight` beside the network, and `artifact.metadata`."""
    projection = _make_trunk(folder, family, seed, UNUSED)
    weights = load_file(folder / "model.safetensors")
    save(
        folder / "model.safetensors",
        {f"bert.{name}": one for name, one in weights.items()} | {"linear.weight": projection},
    )
    config = json.loads((folder / "config.json").read_text()) | {"architectures": ["HF_ColBERT"]}
    (folder / "config.json").write_text(json.dumps(config))
    given = {
        "query_token_id": UNUSED[0],
        "doc_token_id": UNUSED[1],
        "query_maxlen": 14,
        "doc_maxlen": 30,
        "mask_punctuation": True,
        "attend_to_mask_tokens": False,
        "dim": DIMENSION,
        "similarity": "cosine",
    }
    (folder / "artifact.metadata").write_text(json.dumps(given | metadata))
    return folder


def _make_trunk(folder: Path, family: str, seed: int, marks: tuple[str, str]) -> np.ndarray:
    """Write a network whose vocabulary has the two marks; return a projection."""
    make_cross_encoder(folder, family, seed=seed)
    held = {_plain(name): array for name, array in load_file(folder / "model.safetensors").items()}
    weights = {name: array for name, array in held.items() if not name.startswith(("classifier", "pooler", "head"))}
    table = next(name for name in weights if name.endswith(("word_embeddings.weight", "tok_embeddings.weight")))
    draw = np.random.default_rng(seed + 11)
    path = folder / "tokenizer.json"
    if marks == MARKS:
        _add(path, marks)
    else:
        _rename(path, marks)
    rows = max(_size(path), len(weights[table]))
    weights[table] = np.concatenate([weights[table], normal(draw, rows - len(weights[table]), 64)])
    config = json.loads((folder / "config.json").read_text())
    for key in ("num_labels", "id2label", "architectures"):
        config.pop(key)
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": rows}))
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings["mask_token"] = "[MASK]" if family in ("bert", "modernbert") else "<mask>"
    settings["model_max_length"] = 100
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    save(folder / "model.safetensors", weights)
    return normal(draw, DIMENSION, 64)


def _add(path: Path, marks: tuple[str, str]) -> None:
    from tokenizers import AddedToken, Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.add_tokens([AddedToken(mark, normalized=False) for mark in marks])
    tokenizer.save(str(path))


def _rename(path: Path, marks: tuple[str, str]) -> None:
    """Put the marks into the vocabulary itself, in place of two words, as BERT's `[unused0]` are."""
    content = json.loads(path.read_text())
    words = content["model"]["vocab"]
    for mark, word in zip(marks, ("quantum", "galaxy"), strict=True):
        words[mark] = words.pop(word)
    content["model"]["vocab"] = dict(sorted(words.items(), key=lambda one: one[1]))
    path.write_text(json.dumps(content))


def _size(path: Path) -> int:
    from tokenizers import Tokenizer

    return int(Tokenizer.from_file(str(path)).get_vocab_size())


def _plain(name: str) -> str:
    for prefix in ("bert.", "roberta.", "mpnet.", "model."):
        name = name.removeprefix(prefix)
    return name
