"""The log of a run: `log.jsonl`, and TensorBoard's events if TensorBoard is installed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from corpora.writing import replacing

LOG = "log.jsonl"
TENSORBOARD = "tensorboard"


def read_log(folder: Path) -> list[dict[str, Any]]:
    """Return the entries of a run's log; a line that was not written to its end is left out."""
    path = folder / LOG
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return [json.loads(line) for line in lines if line.endswith("}")]


@dataclass(frozen=True, slots=True)
class Log:
    """An open log: the file of JSON lines, and TensorBoard's writer, if TensorBoard is installed."""

    file: Any
    events: Any

    def write(self, entry: Mapping[str, Any]) -> None:
        """Add the entry of a step."""
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()
        if self.events is None:
            return
        series = {"loss": {"all": entry["loss"], **entry["losses"]}, "validation": entry.get("validation", {})}
        for name, values in series.items():
            for task, value in values.items():
                self.events.add_scalar(f"{name}/{task}", value, entry["step"])
        self.events.add_scalar("rate", entry["rate"], entry["step"])
        self.events.flush()


@contextmanager
def open_log(folder: Path, done: int) -> Iterator[Log]:
    """Open the log of a run that continues after `done` steps; entries of later steps, from a killed run, go."""
    kept = [entry for entry in read_log(folder) if entry["step"] <= done]
    with replacing(folder / LOG, locked=True) as part:
        part.write_text("".join(json.dumps(entry) + "\n" for entry in kept), encoding="utf-8")
    events = None
    if find_spec("tensorboard") is not None:
        from torch.utils.tensorboard import SummaryWriter

        events = SummaryWriter(str(folder / TENSORBOARD), purge_step=done + 1)
    with (folder / LOG).open("a", encoding="utf-8") as file:
        try:
            yield Log(file, events)
        finally:
            if events is not None:
                events.close()


def write_plots(folder: Path) -> list[str]:
    """Draw the losses and validation measures of a run into `loss.svg` and `validation.svg`; return the files' names.

    There is no file where there is nothing to draw. `UnavailableError` if matplotlib is not installed.
    """
    from eval.reports.plots import curves, standalone

    log, written = read_log(folder), []
    for name, key in (("loss", "losses"), ("validation", "validation")):
        lines: dict[str, dict[int, float]] = {}
        for entry in log:
            for task, value in entry.get(key, {}).items():
                lines.setdefault(task, {})[entry["step"]] = value
        if lines:
            (folder / f"{name}.svg").write_text(standalone(curves(lines, "steps", name)), encoding="utf-8")
            written.append(f"{name}.svg")
    return written
