"""Small real things made at test time: a 64-wide random model, papers from a handful of words."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from corpora.paper import Paper

WORDS = (
    *("virus", "lung", "cell", "protein", "gene", "patient", "trial", "drug", "vaccine", "immune", "response"),
    *("infection", "brain", "model", "network", "data", "cancer", "therapy", "risk", "child", "adult", "dose"),
    *("mouse", "study", "heart", "blood", "liver", "acid", "water", "soil", "plant", "climate", "ocean", "star"),
    *("galaxy", "quantum"),
)
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
CODES = ("[CLF]", "[RGN]", "[PRX]", "[QRY]")


def make_model(
    folder: Path, *, seed: int = 0, codes: bool = False, width: int = 64, layers: int = 2, architecture: str = "bert"
) -> Path:
    """Write a BERT-family model folder with random weights and a word-level WordPiece tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    roberta = architecture == "roberta"
    special = ROBERTA_SPECIAL if roberta else SPECIAL
    vocabulary = [
        *special,
        *(CODES if codes else ()),
        *WORDS,
        *(f"##{c}" for c in "aeios"),
        *"abcdefghijklmnopqrstuvwxyz.,:",
    ]
    config = {
        "model_type": architecture,
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "intermediate_size": 2 * width,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 128,
        "type_vocab_size": 1 if roberta else 2,
        "vocab_size": len(vocabulary),
        "pad_token_id": 1 if roberta else 0,
    }
    (folder / "config.json").write_text(json.dumps(config))
    separator = "</s>" if roberta else "[SEP]"
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True, "sep_token": separator}))
    _write_tokenizer(folder, vocabulary, [*special, *(CODES if codes else ())])
    save_file(_weights(config, seed), folder / "model.safetensors")
    return folder


def papers(count: int, *, seed: int = 0) -> list[Paper]:
    """Make papers whose titles and abstracts are drawn from `WORDS`."""
    draw = random.Random(seed)
    return [
        Paper(
            id=f"p{i:05d}",
            title=" ".join(draw.choices(WORDS, k=draw.randint(2, 8))),
            abstract=" ".join(draw.choices(WORDS, k=draw.randint(0, 60))) if i % 7 else "",
            authors=tuple(draw.sample(["Ada Byron", "Lise Meitner", "Rosalind Franklin"], k=draw.randint(0, 3))),
            year=draw.randint(1990, 2024) if i % 5 else None,
            venue=draw.choice(["Nature", "The Lancet", "J. of X and Y", ""]),
            fields=tuple(draw.sample(["Medicine", "Biology", "Physics"], k=draw.randint(0, 2))),
        )
        for i in range(count)
    ]


def write_jsonl(path: Path, written: list[Paper]) -> Path:
    """Write papers in the shape the jsonl corpus reads."""
    with path.open("w", encoding="utf-8") as file:
        for paper in written:
            row = {"id": paper.id, "title": paper.title, "abstract": paper.abstract, "authors": list(paper.authors)}
            row |= {"year": paper.year, "venue": paper.venue, "fields": list(paper.fields)}
            file.write(json.dumps(row) + "\n")
    return path


def write_rows(path: Path, rows: Iterable[Any]) -> Path:
    """Write values as lines of JSON."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _weights(config: dict, seed: int) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    width, inner = config["hidden_size"], config["intermediate_size"]

    def normal(*shape: int) -> np.ndarray:
        # Wide enough that attention and layers matter: at BERT's own 0.02 all texts would look alike.
        return (0.2 * draw.standard_normal(shape)).astype(np.float32)

    weights = {
        "embeddings.word_embeddings.weight": normal(config["vocab_size"], width),
        "embeddings.position_embeddings.weight": normal(config["max_position_embeddings"], width),
        "embeddings.token_type_embeddings.weight": normal(config["type_vocab_size"], width),
        "embeddings.LayerNorm.weight": 1 + normal(width),
        "embeddings.LayerNorm.bias": normal(width),
    }
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"
        shapes = {
            "attention.self.query": (width, width),
            "attention.self.key": (width, width),
            "attention.self.value": (width, width),
            "attention.output.dense": (width, width),
            "intermediate.dense": (inner, width),
            "output.dense": (width, inner),
        }
        for part, shape in shapes.items():
            weights[f"{name}.{part}.weight"] = normal(*shape)
            weights[f"{name}.{part}.bias"] = normal(shape[0])
        for part in ("attention.output.LayerNorm", "output.LayerNorm"):
            weights[f"{name}.{part}.weight"] = 1 + normal(width)
            weights[f"{name}.{part}.bias"] = normal(width)
    return weights


def _write_tokenizer(folder: Path, vocabulary: list[str], special: list[str]) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    ids = {word: i for i, word in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="<unk>" if "<unk>" in ids else "[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    first, last = ("<s>", "</s>") if "<s>" in ids else ("[CLS]", "[SEP]")
    ends = [(first, ids[first]), (last, ids[last])]
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{first} $A {last}", special_tokens=ends)
    tokenizer.add_special_tokens(special)
    tokenizer.save(str(folder / "tokenizer.json"))
