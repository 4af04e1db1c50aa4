"""What training is compared with: a bare loop in torch, and sentence-transformers' trainer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from encoders.registry import find_model
from training.batches import examples_of, texts_of
from training.learner import Learner
from training.steps import TrainingData

MODEL = "all-MiniLM-L6-v2"
TOKENS, BATCH = 256, 8
STEPS = 4
TEMPERATURE = 0.05

Contender = Callable[[Callable[[], None]], object]
"""Runs its steps, and reports the end of each."""


class BareTorch:
    """A training loop without a trainer: transformers' network and padded batches in memory."""

    def __init__(self, learner: Learner, data: TrainingData) -> None:
        import torch
        from transformers import AutoModel

        self.batches = [
            [torch.from_numpy(array) for array in texts_of(data.train[0], examples, (0, 1, 2))]
            for examples in examples_of_steps(learner, data)
        ]
        self.bf16 = learner.recipe.precision == "bf16"
        self.network = AutoModel.from_pretrained(str(find_model(MODEL).folder)).train()
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=1e-5, weight_decay=0.0)

    def run(self, on_step: Callable[[], None]) -> None:
        """Run all batches, and report the end of each."""
        for ids, mask in self.batches:
            self.step(ids, mask)
            on_step()

    def step(self, ids: Any, mask: Any) -> None:
        """Train on a batch of triplets: queries first, then positives, then negatives."""
        import torch

        functional = torch.nn.functional
        self.optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bf16):
            states = self.network(input_ids=ids, attention_mask=mask).last_hidden_state
        kept = mask[:, :, None].float()
        vectors = functional.normalize((states.float() * kept).sum(dim=1) / kept.sum(dim=1), dim=1)
        count = len(ids) // 3
        logits = vectors[:count] @ vectors[count:].T / TEMPERATURE
        functional.cross_entropy(logits, torch.arange(count)).backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
        self.optimizer.step()


def examples_of_steps(learner: Learner, data: TrainingData) -> list[list[int]]:
    """Return the examples of the batches that the steps use."""
    return [[example for _, example in batch] for batch in islice(examples_of(learner.recipe, data.train, 0), STEPS)]


def sentence_transformers(learner: Learner, data: TrainingData, folder: Path) -> Contender:
    """Return sentence-transformers' trainer with the same loss and the same batches."""
    from datasets import Dataset
    from sentence_transformers import (
        SentenceTransformer,
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss
    from torch.utils.data import BatchSampler, SequentialSampler
    from transformers import TrainerCallback

    lines = (folder / "triplets.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(lines[example]) for batch in examples_of_steps(learner, data) for example in batch]
    texts = [{key: f"{paper['title']} [SEP] {paper['abstract']}" for key, paper in one.items()} for one in records]
    model = SentenceTransformer(str(find_model(MODEL).folder), device="cpu")
    model.max_seq_length = TOKENS
    loss = MultipleNegativesRankingLoss(model, scale=1 / TEMPERATURE)
    given = SentenceTransformerTrainingArguments(
        output_dir=str(folder / "peer"),
        per_device_train_batch_size=BATCH,
        num_train_epochs=1,
        learning_rate=1e-5,
        bf16=True,
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
    )

    class InOrder(SentenceTransformerTrainer):  # type: ignore[misc]
        """Uses the examples in their order."""

        def get_batch_sampler(self, dataset: Sequence[Any], *_: Any, **__: Any) -> BatchSampler:
            return BatchSampler(SequentialSampler(dataset), BATCH, drop_last=False)

    class StepCallback(TrainerCallback):  # type: ignore[misc]
        """Reports the end of each step."""

        def __init__(self, on_step: Callable[[], None]) -> None:
            self.on_step = on_step

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.on_step()

    def run(on_step: Callable[[], None]) -> None:
        rows = Dataset.from_list(texts)
        InOrder(model=model, args=given, train_dataset=rows, loss=loss, callbacks=[StepCallback(on_step)]).train()

    return run
