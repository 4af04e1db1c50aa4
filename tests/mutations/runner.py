"""Trying mutations: each in a fresh copy of the working tree, by the tests that it names."""

from __future__ import annotations

import compileall
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode
from threading import Lock
from xml.etree import ElementTree

from tests.conftest import LANES, NODES, SECURED, SERVERS
from tests.mutations.entries import Mutation, MutationError

UNWANTED = {"SES_REQUIRE_LANES", "PYTEST_ADDOPTS"}  # the first makes skipped tests fail
PATIENCE = 600.0  # seconds for tests of unbroken sources


@dataclass(frozen=True, slots=True)
class Ran:
    """What pytest came to: its exit code (None: it took too long), how many tests passed and failed, and seconds."""

    code: int | None
    passed: int
    failed: int
    seconds: float


def run_mutations(root: Path, mutations: Sequence[Mutation], jobs: int = 1, slack: float = 60.0) -> int:
    """Try all mutations, and print what became of each.

    Args:
        root: A git repository's folder; files that git ignores are not copied.
        mutations: What to try. One whose lane is not ready is not run.
        jobs: How many to try at once.
        slack: Seconds that a mutation's tests may take, beside three times what they take without it.

    Returns:
        0 if at least one was killed, none survived and none was wrong; else 1.
    """
    verdicts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        bench = Bench(root, Path(folder), slack)
        untried = {mutation: verdict for mutation in mutations if (verdict := bench.obstacle(mutation))}
        sets = {(mutation.tests, mutation.lane): mutation for mutation in mutations if mutation not in untried}
        print(f"{len(sets)} sets of tests run on the unbroken sources first.", flush=True)
        unbroken = dict(zip(sets, pool.map(bench.run, sets.values()), strict=True))

        def judge(mutation: Mutation) -> tuple[str, str]:
            return untried.get(mutation) or bench.judge(mutation, unbroken[mutation.tests, mutation.lane])

        for mutation, (verdict, why) in zip(mutations, pool.map(judge, mutations), strict=True):
            verdicts[verdict] += 1
            print(f"{verdict:8}  {mutation}{why and ': '}{why}", flush=True)
    told = {"killed": "killed", "survived": "survived", "error": "errors", "not run": "not run"}
    print(", ".join(f"{verdicts[name]} {plural}" for name, plural in told.items()))
    return int(not verdicts["killed"] or verdicts["survived"] + verdicts["error"] > 0)


class Bench:
    """A copy of the working tree, to be copied and broken."""

    def __init__(self, root: Path, folder: Path, slack: float) -> None:
        self._folder, self._tree, self._slack = folder, folder / "tree", slack
        _copy(root, self._tree)
        # Checked by hash: by time and size a mutated file may look like the original.
        compileall.compile_dir(self._tree, quiet=2, force=True, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        # Tests of a lane share its server, and delete each other's indexes.
        self._locks = {lane: Lock() for lane in LANES}

    def obstacle(self, mutation: Mutation) -> tuple[str, str] | None:
        """Return a verdict and why, if a mutation can't be tried."""
        if mutation.lane and not LANES[mutation.lane].ready():
            return "not run", f"lane {mutation.lane} is not ready: {LANES[mutation.lane].remedy}"
        try:
            mutation.broken(self._tree)
        except MutationError as error:
            return "error", str(error)
        return None

    def judge(self, mutation: Mutation, unbroken: Ran) -> tuple[str, str]:
        """Try a mutation, and return the verdict and what there is to say about it."""
        tests = " ".join(mutation.tests)
        if unbroken.code != 0 or not unbroken.passed:
            told = f"pytest ends with {unbroken.code} and {unbroken.passed} tests pass"
            return "error", f"on the unbroken sources {told}: {tests}"
        ran = self.run(mutation, self._slack + 3 * unbroken.seconds, broken=True)
        if ran.code is None:
            return "killed", f"by timeout, after {ran.seconds:.0f} seconds"
        if ran.code == 0:
            return "survived", tests
        if ran.code != 1 or not ran.failed:
            return "error", f"no test failed, but pytest ended with {ran.code}: {tests}"
        return "killed", ""

    def run(self, mutation: Mutation, timeout: float = PATIENCE, *, broken: bool = False) -> Ran:
        """Run a mutation's tests in a copy of their own, broken or not."""
        with (
            self._locks[mutation.lane] if mutation.lane else nullcontext(),
            tempfile.TemporaryDirectory(dir=self._folder, ignore_cleanup_errors=True) as name,
        ):
            tree = Path(name) / "tree"
            shutil.copytree(self._tree, tree)
            if broken:
                (tree / mutation.file).write_text(mutation.broken(tree), encoding="utf-8")
            return _pytest(tree, mutation, timeout)


def _copy(root: Path, target: Path) -> None:
    """Copy what git tracks or does not ignore."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout
    for name in os.fsdecode(listed).split("\0"):
        if name and (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, target / name)


def _pytest(tree: Path, mutation: Mutation, timeout: float) -> Ran:
    """Run tests in a copy of the tree: they and their subprocesses import it, and find no server but the lane's."""
    report, temporary = tree.parent / "report.xml", tree.parent / "tmp"
    temporary.mkdir()
    hidden = UNWANTED | {variable for lane, variable in (SERVERS | SECURED | NODES).items() if lane != mutation.lane}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(temporary)}
    options = ("-x", "-q", "-p", "no:cacheprovider", "-o", "addopts=", f"--junitxml={report}")
    begun = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *mutation.tests],
        cwd=tree,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # what the tests started included
        process.wait()
        code = None
    passed, failed = _counted(report) if report.is_file() else (0, 0)
    return Ran(code, passed, failed, time.monotonic() - begun)


def _counted(report: Path) -> tuple[int, int]:
    """How many tests passed and failed; a file that can't be imported is no test that failed."""
    tree = ElementTree.parse(report)  # noqa: S314 - pytest wrote it
    cases = [{child.tag: child.get("message") for child in case} for case in tree.iter("testcase")]
    passed = sum(not {"failure", "error", "skipped"} & case.keys() for case in cases)
    failed = sum("failure" in case or case.get("error", "collection failure") != "collection failure" for case in cases)
    return passed, failed
