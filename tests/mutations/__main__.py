import argparse
import sys
from pathlib import Path

from tests.mutations.entries import read_mutations
from tests.mutations.runner import run_mutations

ROOT = Path(__file__).parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutations", description="Break the sources, and see tests fail."
    )
    parser.add_argument("areas", nargs="*", metavar="AREA", help="names of files in tests/mutations; all without any")
    parser.add_argument("--jobs", type=int, default=1, help="how many mutations are tried at once (default: 1)")
    parser.add_argument("--list", action="store_true", help="show the mutations, and run none")
    given = parser.parse_args()
    mutations = read_mutations(ROOT / "tests" / "mutations", given.areas)
    if given.list:
        print(*mutations, sep="\n")
        return 0
    return run_mutations(ROOT, mutations, given.jobs)


sys.exit(main())
