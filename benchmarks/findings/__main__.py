"""The papers' findings in miniature: small models, measured on held-out papers, one table per finding.

One seed, texts of 32 tokens and a hundred steps or so: the tables show differences under these conditions, not how good
a method can be. Needs SES_TEST_DATA and the extras train and eval. FOLDER stores papers, runs and measures. So an
interrupted command resumes, and runs shared by several tables are trained once.
Run: python -m benchmarks.findings FOLDER [TABLE ...]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median

from benchmarks.findings.data import HELD_OUT, read, write_papers
from benchmarks.findings.measures import MEASURES, load, measured
from benchmarks.findings.runs import Run, base_run, runs_of
from encoders.models.formats import Format

OWN = (("categories", None), ("year", None), ("citations", None), ("search", None))
SCIMULT = (("headings", None), ("links", None), ("search", None))
ROUNDS, TEXTS, WHOLE = 3, 16, 256
MILLION = 1e6

Row = list[str]


def main() -> None:
    import torch

    torch.set_num_threads(1)
    if len(sys.argv) < 2:
        sys.exit(f"Name a folder for papers and runs, and any of the tables {', '.join(TABLES)}.")
    folder = Path(sys.argv[1]).absolute()
    data = write_papers(folder)
    for name in sys.argv[2:] or TABLES:
        print(f"\n{name}\n")
        for number, row in enumerate(TABLES[name](folder, data)):
            print(f"| {' | '.join(row)} |", flush=True)
            if not number:
                print("|" + " --- |" * len(row))


def formats(folder: Path, data: Path) -> list[Row]:
    """Every format's vectors on every task (SciRepEval, table 4)."""
    rows = [_head("vectors", OWN)]
    for run in _chosen(runs_of("formats", folder, data), "adapters", "codes"):
        for used in Format:
            values = measured(run, [(name, used) for name, _ in OWN], folder, data)
            rows.append([f"{run.name}, {used}", *map(_shown, values)])
    return rows


def methods(folder: Path, data: Path) -> list[Row]:
    """Methods for formats, compared by quality, size and time (SciRepEval, table 5)."""
    rows = [[*_head("what is trained", OWN), "mean", "millions trained", "CPU seconds a step"]]
    for run in (base_run(), *runs_of("formats", folder, data)):
        values = measured(run, OWN, folder, data)
        cost = [f"{run.trained / MILLION:.3f}", f"{run.cpu_seconds:.2f}"]
        rows.append([run.name, *map(_shown, [*values, fmean(values)]), *cost])
    return rows


def passes(folder: Path, data: Path) -> list[Row]:
    """The cost of four formats of a text, in passes of the base, with shared-trunk codes and with adapters (ours)."""
    rows = [["formats by", "mean of the four tasks", "four formats", "millions beyond the base"]]
    runs = runs_of("formats", folder, data)
    for run in (base_run(), *_chosen(runs, "shared-codes", "adapters-last", "adapters", "codes")):
        quality = fmean(measured(run, OWN, folder, data))
        cost = [f"{_passes(run, folder, data):.2f}", f"{run.added / MILLION:.3f}"]
        rows.append([run.name, _shown(quality), *cost])
    return rows


def negatives(folder: Path, data: Path) -> list[Row]:
    """With and without hard negatives (SPECTER, section 6)."""
    return _table("negatives", (("citations", None), ("categories", Format.PRX)), folder, data)


def experts(folder: Path, data: Path) -> list[Row]:
    """Experts of either kind against one network (SciMult, tables 2 to 5)."""
    return _table("experts", SCIMULT, folder, data)


def factors(folder: Path, data: Path) -> list[Row]:
    """The vectors of each factor on each task, and those of one network without instructions (UniPR, table 7)."""
    runs, rows = runs_of("experts", folder, data), [_head("vectors", SCIMULT)]
    (vanilla,), (tuned,) = _chosen(runs, "vanilla"), _chosen(runs, "instructions")
    rows.append(["one vector", *map(_shown, measured(vanilla, SCIMULT, folder, data))])
    for factor, used in {"topic": Format.CLF, "citation": Format.RGN, "semantic": Format.QRY}.items():
        values = measured(tuned, [(name, used) for name, _ in SCIMULT], folder, data)
        rows.append([f"instruction of the factor {factor}", *map(_shown, values)])
    return rows


def journals(folder: Path, data: Path) -> list[Row]:
    """Journals alone as pre-training (MIReAD, tables 2 to 4)."""
    return _table("journals", (("ohsumed", None), ("categories", None), ("citations", None)), folder, data)


def _table(name: str, columns: Sequence[tuple[str, Format | None]], folder: Path, data: Path) -> list[Row]:
    runs = (base_run(), *runs_of(name, folder, data))
    rows = [[run.name, *map(_shown, measured(run, columns, folder, data))] for run in runs]
    return [_head("trained on", columns), *rows]


def _passes(run: Run, folder: Path, data: Path) -> float:
    """Return the ratio of CPU seconds: a text's four vectors to the base's one. It is the median of rounds."""
    texts = [f"{row['title']} [SEP] {row['abstract']}" for row in read(data / HELD_OUT / "arxiv.jsonl")[:TEXTS]]
    if len(set(map(run.vector, Format))) == 1:
        return 1.0
    several, one = load(run, folder, WHOLE), load(base_run(), folder, WHOLE)
    taken: list[float] = []
    for _ in range(ROUNDS + 1):
        times = [_seconds(lambda: one.encode(texts, Format.PRX))]
        times.append(_seconds(lambda: several.encode_formats(texts, list(Format))))
        taken.append(times[1] / times[0])
    return median(taken[1:])


def _seconds(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def _chosen(runs: Sequence[Run], *names: str) -> list[Run]:
    return [run for name in names for run in runs if run.name == name]


def _head(first: str, columns: Sequence[tuple[str, Format | None]]) -> Row:
    return [first, *(MEASURES[name][0] for name, _ in columns)]


def _shown(value: float) -> str:
    return f"{value:.3f}"


TABLES: dict[str, Callable[[Path, Path], list[Row]]] = {
    "formats": formats,
    "methods": methods,
    "passes": passes,
    "negatives": negatives,
    "experts": experts,
    "factors": factors,
    "journals": journals,
}


if __name__ == "__main__":
    main()
