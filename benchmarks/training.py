"""Training steps of all-MiniLM-L6-v2: ours, a bare loop in torch, sentence-transformers' trainer, and each setting.

Contenders take the same batches of PubMed's papers in turn, on one thread. CPU seconds are compared, so that other work
on the machine has little effect. Needs SES_TEST_DATA and the extra train; for the third contender `pip install
sentence-transformers datasets accelerate`.
Run: python -m benchmarks.training [ROUNDS]
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from benchmarks.common import pubmed_rows
from benchmarks.training_contenders import BATCH, MODEL, STEPS, TOKENS, BareTorch, Contender, sentence_transformers
from encoders.registry import find_model
from training.checkpoints import TrainingProgress
from training.data.examples import read_labels
from training.data.packed import pack
from training.learner import Learner, make_learner
from training.recipe import read_variants
from training.states import keep_states
from training.steps import TrainingData, run_steps
from training.trainables.registry import TRAINABLES

TRIPLETS, PAPERS = 32, 128
LAST = {"layers": 2}
TASKS = {
    "triplets": {"type": "triplet", "objective": "contrastive", "format": "prx"},
    "papers": {"type": "classification", "label": "journal", "format": "clf"},
}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _write_papers(folder)
        _show_loops(folder, rounds)
        _show_kept(folder, rounds)
        _show_grouped(folder, rounds)


def _show_loops(folder: Path, rounds: int) -> None:
    made = {precision: _learner(folder, trains="all", precision=precision) for precision in ("fp32", "bf16")}
    contenders: dict[str, Contender] = {}
    for precision, (learner, data) in made.items():
        contenders[f"ours, {precision}"] = _ours(learner, data, folder)
        contenders[f"bare torch, {precision}"] = BareTorch(learner, data).run
    if find_spec("sentence_transformers") and find_spec("accelerate"):
        contenders["sentence-transformers, bf16"] = sentence_transformers(*made["bf16"], folder)
    taken = _cpu_seconds(contenders, rounds)
    _show(f"all weights, {BATCH} triplets of up to {TOKENS} tokens a step", taken, "ours, bf16")


def _show_kept(folder: Path, rounds: int) -> None:
    contenders = {"all": _ours(*_learner(folder, trains="all", precision="bf16"), folder)}
    for trains in ("last", "adapters"):
        given = {"trains": trains, "options": LAST, "precision": "bf16"}
        contenders[f"{trains}, 2 layers"] = _ours(*_learner(folder, **given), folder)
        contenders[f"{trains}, 2 layers, kept states"] = _ours(*_learner(folder, **given, keep_states="kept"), folder)
    taken = _cpu_seconds(contenders, rounds)
    _show("what is trained, bf16", taken, "adapters, 2 layers, kept states")


def _show_grouped(folder: Path, rounds: int) -> None:
    """Compare whole epochs, since the batches differ when lengths are grouped."""
    for task, size in (("papers", 2 * BATCH), ("triplets", BATCH)):
        given = {"trains": "all", "precision": "bf16", "batch_size": size, "task": task, "steps": None}
        contenders = {
            "at random": _ours(*_learner(folder, **given), folder),
            "of similar length": _ours(*_learner(folder, **given, group_by_length=True), folder),
        }
        _show(f"{task}, batches of {size}, a whole epoch", _cpu_seconds(contenders, rounds, sum), "of similar length")


def _cpu_seconds(
    contenders: Mapping[str, Contender], rounds: int, of_steps: Callable[[list[float]], float] = statistics.median
) -> dict[str, float]:
    """Return each contender's CPU seconds, the median of rounds; the first step is not counted."""
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, contender in contenders.items():
            ends: list[float] = []
            contender(lambda ends=ends: ends.append(time.process_time()))  # type: ignore[misc]
            taken[name].append(of_steps([after - before for before, after in pairwise(ends)]))
    return {name: statistics.median(values) for name, values in taken.items()}


def _show(title: str, taken: Mapping[str, float], base: str) -> None:
    print(f"{title}: CPU seconds, and to {base}")
    for name, value in taken.items():
        print(f"  {name:34} {value:7.2f} s {value / taken[base]:5.2f}x", flush=True)


def _learner(folder: Path, *, task: str = "triplets", **given: Any) -> tuple[Learner, TrainingData]:
    """Return a learner for a recipe with these keys, and the data of its only task."""
    values = {"base": MODEL, "learning_rate": 1e-5, "batch_size": BATCH, "max_tokens": TOKENS, "steps": STEPS}
    values = {key: value for key, value in (values | given).items() if value is not None}
    lines = [f"{key} = {_toml(value)}" for key, value in values.items()]
    settings = {"name": task, "train": f"{task}.jsonl"} | TASKS[task]
    lines += ["[[tasks]]", *(f"{key} = {_toml(value)}" for key, value in settings.items())]
    (folder / "recipe.toml").write_text("\n".join(lines), encoding="utf-8")
    (recipe,) = read_variants(folder / "recipe.toml").values()
    base, trainable = find_model(recipe.base), TRAINABLES[recipe.trains]
    options = {**trainable.options, **recipe.options}
    with tempfile.TemporaryDirectory() as start:
        weights = {**base.read(), **trainable.start(base, recipe.formats, options, recipe.seed)}
        trainable.write(base, recipe.formats, weights, Path(start))
        model = find_model(start)
        labels = read_labels(recipe.tasks[0])
        packed = pack(recipe.tasks[0], recipe.tasks[0].train, labels, model, TOKENS, folder / "packs")
        learner = make_learner(recipe, model, {task: max(1, len(labels))}, [packed])
    if recipe.keep_states:
        (packed,) = keep_states(learner, [packed], recipe.keep_states, lambda _: None)  # type: ignore[assignment]
    return learner, TrainingData((packed,), (None,))


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + "}"
    return json.dumps(value)


def _ours(learner: Learner, data: TrainingData, folder: Path) -> Contender:
    place = folder / "run"
    place.mkdir(exist_ok=True)

    def run(on_step: Callable[[], None]) -> None:
        run_steps(learner, data, TrainingProgress(), place, None, lambda _: on_step())

    return run


def _write_papers(folder: Path) -> None:
    """Write PubMed's papers with their journals, and triplets of papers in file order."""
    papers = _papers()
    used = list(islice(papers, max(PAPERS, 3 * TRIPLETS)))
    rows = zip(*(used[part * TRIPLETS : (part + 1) * TRIPLETS] for part in range(3)), strict=True)
    triplets = [dict(zip(("query", "pos", "neg"), row, strict=True)) for row in rows]
    for name, records in (("papers", used[:PAPERS]), ("triplets", triplets)):
        lines = "".join(f"{json.dumps(record)}\n" for record in records)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")


def _papers() -> Iterator[dict[str, str]]:
    for paper in pubmed_rows():
        if paper["abstract"] and paper["journal"]:
            yield {key: paper[key] for key in ("title", "abstract", "journal")}


if __name__ == "__main__":
    main()
