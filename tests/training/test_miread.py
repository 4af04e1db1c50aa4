"""MIReAD's recipe in small: its steps against those of its program's libraries, transformers and torch.

Between the first token's vector and the classes its program has BERT's pooler, which its vectors then lack; here, as in
all recipes, the classes are a linear layer on the vector.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from encoders.registry import find_model
from tests.training.recipes import LABELS, read_recipe, write_recipe
from training.train import train

RECIPE = tomllib.loads((Path(__file__).parents[2] / "recipes" / "miread.toml").read_text())
STEPS, WARMUP, RATE, SEED = 6, 2, 1e-3, 5

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def test_steps_are_those_of_transformers(tmp_path, monkeypatch):
    # What is random must be the same on both sides: no dropout, and every paper in each batch.
    monkeypatch.setattr("training.learner._DROPOUT", 0.0)
    kept = {name: RECIPE[name] for name in ("trains", "schedule", "weight_decay", "clip")}
    small = {"steps": STEPS, "epochs": STEPS, "batch_size": 24, "warmup": WARMUP, "learning_rate": RATE}
    path = write_recipe(tmp_path, (RECIPE["tasks"][0]["objective"],), **kept, **small, dropout=0.0, seed=SEED)
    done = train(read_recipe(path), tmp_path / "run")
    before, after = (find_model(str(folder)).read() for folder in (tmp_path / "run" / "start", done.folder))

    wanted = by_transformers(tmp_path, before)
    changes = {name: np.abs(after[name] - before[name]).max() for name in wanted}
    assert np.median(list(changes.values())) > 3 * RATE
    for name, tensor in wanted.items():
        # A bias of keys changes no attention: its gradients are 0 but for rounding, which Adam scales up.
        if not name.endswith("key.bias"):
            np.testing.assert_allclose(after[name], tensor, atol=0.01 * RATE, err_msg=name)


def by_transformers(folder, start):
    """Return the encoder's weights after as many steps of AdamW on cross-entropy, by name."""
    import torch
    from transformers import AutoModel, AutoTokenizer, get_linear_schedule_with_warmup

    tokenizer, encoder = (one.from_pretrained(folder / "base") for one in (AutoTokenizer, AutoModel))
    papers = [json.loads(line) for line in (folder / "papers.jsonl").read_text().splitlines()]
    # Without an abstract there is no separator in ses.
    texts = [tokenizer.sep_token.join(filter(None, (paper["title"], paper["abstract"]))) for paper in papers]
    given = tokenizer(texts, padding=True, return_tensors="pt")
    classes = torch.tensor([LABELS.index(paper["label"]) for paper in papers])
    torch.manual_seed(SEED)
    head = torch.nn.Linear(encoder.config.hidden_size, len(LABELS))
    torch.nn.init.normal_(head.weight, std=0.02)
    torch.nn.init.zeros_(head.bias)
    assert all(
        np.array_equal(start[name], tensor.numpy()) for name, tensor in encoder.state_dict().items() if name in start
    )

    trained = [*encoder.named_parameters(), *head.named_parameters()]
    groups = [
        {"params": [tensor for _, tensor in trained if (tensor.dim() > 1) is large], "weight_decay": decay}
        for large, decay in ((True, RECIPE["weight_decay"]), (False, 0.0))
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE)
    schedule = get_linear_schedule_with_warmup(optimizer, WARMUP, STEPS)
    encoder.train()
    for module in encoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    for _ in range(STEPS):
        vectors = encoder(**given).last_hidden_state[:, 0]
        torch.nn.functional.cross_entropy(head(vectors), classes).backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    return {name: tensor.numpy() for name, tensor in encoder.state_dict().items() if name in start}
