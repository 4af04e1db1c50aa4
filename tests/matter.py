"""`python -m tests.matter FILE` prints the test files that matter for a source, and `make test OF=FILE` runs them.

They are those that mutations of the sources are tried with; a file of tests stands for itself.
"""

from __future__ import annotations

import sys

from tests.mutate import PACKAGES, ROOT, by_folder, importers, working_files


def matter(*areas: str) -> list[str]:
    """Return the test files that matter for files and folders; `SystemExit` if there are none."""
    files = [name for name in working_files(ROOT, *areas) if name.endswith(".py")]
    own = [name for name in files if name.startswith("tests/") and name.rpartition("/")[2].startswith("test_")]
    sources = [name for name in files if name.startswith(PACKAGES)]
    tests = importers() if sources else None
    found = {*own, *(one for name in sources if tests for one in tests(name))}
    if not found:
        raise SystemExit(
            f"No test matters for {' '.join(areas)}: name a file or folder of the sources, or of the tests."
        )
    return by_folder(found)


if __name__ == "__main__":
    sys.stdout.write("".join(f"{name}\n" for name in matter(*sys.argv[1:])))
