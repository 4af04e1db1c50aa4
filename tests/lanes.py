"""Which lanes .ci/run may leave out: those on which nothing that changed since a base commit has an influence.

`python -m tests.lanes` prints their names, and says on stderr why. It needs no package. Where there is any doubt, as
without a base or in a shallow clone, no lane is left out.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
BASE = "SES_CI_BASE"
"""Variable with the commit to compare with; without it, it is where this branch has left `origin/main`."""


def lane_paths(root: Path = ROOT) -> dict[str, tuple[str, ...]]:
    """Return the files and folders that each lane of tests/lanes.toml depends on, by lane.

    `FOLDER/*` stands for its files that are no Python, which imported modules may read.
    """
    table = tomllib.loads((root / "tests" / "lanes.toml").read_text(encoding="utf-8"))
    always = table.pop("always")
    found: dict[str, tuple[str, ...]] = {}
    for lane, given in table.items():
        entry = table[given["like"]] if "like" in given else given
        imported = sorted(imports_of(entry.get("imports", ()), root))
        data = (f"{Path(one).parent}/*" for one in imported)
        found[lane] = tuple(dict.fromkeys((*always, *entry["paths"], *entry.get("imports", ()), *imported, *data)))
    return found


def concerns(paths: Iterable[str], changed: Iterable[str]) -> str:
    """Return the first changed file that is one of some paths or lies under one; empty if there is none."""
    wanted = set(paths)

    def places(file: str) -> set[str]:
        data = () if file.endswith(".py") else (f"{Path(file).parent}/*",)
        return {file, *map(str, Path(file).parents), *data}

    return next((one for one in changed if wanted & places(one)), "")


def imports_of(paths: Iterable[str], root: Path = ROOT) -> set[str]:
    """Return the files of this project that some files and folders import, by way of others too."""
    waiting = [file for path in paths for file in _python_files(root / path)]
    found: set[Path] = set()
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += _imported_files(file, root)
    return {str(file.relative_to(root)) for file in found}


def _python_files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


@cache
def _imported_files(file: Path, root: Path) -> tuple[Path, ...]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update((node.module, *(f"{node.module}.{one.name}" for one in node.names)))
    found: set[Path] = set()
    for name in names:
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            place = root.joinpath(*parts[:length])
            found.update(one for one in (place.with_suffix(".py"), place / "__init__.py") if one.is_file())
    return tuple(sorted(found))


def changed_since_base(root: Path, environment: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return the base commit, and the files that differ from it in the working tree; `LookupError` without a base."""

    def git(*command: str) -> str:
        whole = ("git", *command)
        done = subprocess.run(whole, cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LookupError(done.stderr.strip().partition("\n")[0] or f"git {command[0]} failed")
        return done.stdout

    if git("rev-parse", "--is-shallow-repository").strip() != "false":
        raise LookupError("this is a shallow clone")
    given = environment.get(BASE, "")
    asked = ("rev-parse", "--verify", f"{given}^{{commit}}") if given else ("merge-base", "HEAD", "origin/main")
    base = git(*asked).strip()
    if base == git("rev-parse", "HEAD").strip():
        raise LookupError("the base is the commit itself")
    # A file that was moved counts where it was and where it is.
    listed = (
        git("diff", "--name-only", "--no-renames", "-z", base),
        git("ls-files", "--others", "--exclude-standard", "-z"),
    )
    return base, sorted({name for names in listed for name in names.split("\0") if name})


def left_out(root: Path = ROOT, environment: Mapping[str, str] = os.environ) -> Sequence[tuple[str, str]]:
    """Return the lanes that may be left out, each with the reason; says on stderr if there is no base."""
    try:
        base, changed = changed_since_base(root, environment)
    except (LookupError, OSError) as error:
        sys.stderr.write(f"All lanes are run: there is no base to compare with ({error}).\n")
        return ()
    why = f"nothing that it depends on has changed since {base[:12]}"
    return [(lane, why) for lane, paths in lane_paths(root).items() if not concerns(paths, changed)]


if __name__ == "__main__":
    for _lane, _why in left_out():
        sys.stderr.write(f"Left out: the lane {_lane}, since {_why}.\n")
        sys.stdout.write(f"{_lane}\n")
