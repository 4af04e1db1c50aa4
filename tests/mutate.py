"""Mutation testing: `python -m tests.mutate AREA` breaks the sources at random places, and shows what no test notices.

mutmut's operators make the mutations. Each is tried in a copy of the working tree, by the tests that import the mutated
module: first those that import it directly, then those that import it by way of others. Tests that need a setting other
than SES_TEST_SLOW are skipped there. A kill counts only if the test that failed passes without the mutation.

pytest loads this file as a plugin in the copies: it ends a run after a time, and reports the test that failed.
"""

from __future__ import annotations

import argparse
import compileall
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from py_compile import PycInvalidationMode
from queue import SimpleQueue
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import grimp
    import libcst
    import pytest

ROOT = Path(__file__).parents[1]
_COMMANDS = "ses.terminal.commands."
PACKAGES = ("ses", "corpora", "encoders", "indexer", "search_plugin", "training", "eval", "products")

CHECKS = ("encoding", "strict")
"""Arguments without which nothing changes where texts are UTF-8 and the code is right."""

_MODULE = re.compile(r'"(\w+(?:\.\w+)+)(?::\w+)?"')
"""The name of a module in the text of another, with that of something in it or without."""

NEAREST = 3
"""Test files that are tried before the others."""

SLACK = 60
"""CPU seconds that the last test may take beyond the limit of a run, before it is taken to hang."""

MEMORY = 8 << 30
"""Bytes that a run may allocate: a broken loop must not fill the machine."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change of a source file: the first line that differs, before and after, and the whole text after it."""

    file: str
    line: int
    before: str
    after: str
    code: str = field(repr=False)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}\n    - {self.before}\n    + {self.after}"


def working_files(root: Path, *areas: str) -> list[str]:
    """Return the files of a working tree that git does not ignore; areas are pathspecs of git."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", *areas]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True).stdout
    return [name for name in os.fsdecode(listed).split("\0") if (root / name).is_file()]


def sample(files: Sequence[str], number: int, seed: int, root: Path = ROOT) -> tuple[list[Mutation], int]:
    """Return mutations drawn uniformly from all possible ones of some files, and how many are possible."""
    found = [(file, *change) for file in files for change in _changes((root / file).read_text(encoding="utf-8"))]
    drawn: list[Mutation] = []
    for file, module, old, new in random.Random(seed).sample(found, len(found)):
        if len(drawn) == number:
            break
        code = module.deep_replace(old, new).code
        if code != module.code:
            before, after = module.code.splitlines(), [*code.splitlines(), ""]
            line = next(place for place in count() if before[place] != after[place])
            drawn.append(Mutation(file, line + 1, before[line].strip(), after[line].strip(), code))
    return drawn, len(found)


def _changes(code: str) -> Iterator[tuple[libcst.Module, libcst.CSTNode, libcst.CSTNode]]:
    """Yield the parsed file, a part of it and what to put in its place, for all mutations of the file."""
    from libcst import parse_module

    module = parse_module(code)
    nodes: list[libcst.CSTNode] = [module]
    while nodes:
        node = nodes.pop()
        if not _skipped(node):
            nodes += node.children
            yield from ((module, node, new) for new in _replacements(node))


def _replacements(node: libcst.CSTNode) -> Iterator[libcst.CSTNode]:
    import libcst as cst
    from mutmut.mutation.mutators import mutation_operators, operator_assignment, operator_lambda

    if isinstance(node, cst.Expr) and isinstance(node.value, cst.Call):
        yield cst.Pass()  # mutmut deletes no statements
    for kind, operator in mutation_operators:
        # None in the place of a value fails in the first test that runs the line, whatever that test checks.
        if isinstance(node, kind) and operator not in (operator_assignment, operator_lambda):
            yield from (new for new in operator(node) if not isinstance(node, cst.Call) or _tells(node, new))


def _tells(call: libcst.Call, new: libcst.Call) -> bool:
    """Whether a changed call tells more than if its line is run: an argument is gone that may have a default."""
    if len(call.args) == len(new.args):
        return new.func is not call.func
    gone = next(place for place, arg in enumerate(call.args) if arg not in new.args)
    return gone >= sum(arg.keyword is None for arg in call.args) - 1 and not _skipped(call.args[gone])


def _skipped(node: libcst.CSTNode) -> bool:
    """Whether a part of a file and all in it is left as it is: what tests can't or need not notice."""
    import libcst as cst

    match node:
        case cst.Annotation() | cst.Decorator() | cst.Raise() | cst.Import() | cst.ImportFrom():
            return True
        case (
            cst.If(test=cst.Name("TYPE_CHECKING"))
            | cst.Call(func=cst.Name("TypeVar" | "cast"))
            | cst.Expr(cst.SimpleString())
        ):
            return True
        case cst.Arg(keyword=cst.Name(name)):
            return name in CHECKS
        case cst.ConcatenatedString(left=left, right=right):
            return _skipped(left) or _skipped(right)
        case cst.FormattedString(parts=parts):
            return _prose("".join(part.value for part in parts if isinstance(part, cst.FormattedStringText)))
        case cst.SimpleString(value=value):
            return _prose(value)
    return False


def _prose(text: str) -> bool:
    """Whether a text is for people: a message, a line of a log, a help text."""
    return text.count(" ") > 1


def by_folder(files: Iterable[str]) -> list[str]:
    """Sort files so that those of a folder follow each other: else pytest 9.1 loses its fixtures (its issue 14971)."""
    return sorted(files, key=lambda name: (Path(name).parent.parts, name))


def importers(packages: Sequence[str] = PACKAGES, limit: int = 12) -> Callable[[str], list[str]]:
    """Return a function from a source file to the test files that import it, at most `limit`, the nearest first."""
    import grimp

    graph = grimp.build_graph(*packages, "tests", cache_dir=None)
    for importer, imported in [*_by_name(graph)]:
        graph.add_import(importer=importer, imported=imported)

    def tests(file: str) -> list[str]:
        parts = [part for part in Path(file).with_suffix("").parts if part != "__init__"]
        border = {".".join(parts)}
        distances = dict.fromkeys(border, 0)
        for distance in count(1):
            border = {one for name in border for one in graph.find_modules_that_directly_import(name)} - set(distances)
            distances |= dict.fromkeys(border, distance)
            if not border:
                break

        def rank(name: str) -> tuple[bool, int, str]:
            """First the tests that have the module's name; a folder of the module's path counts like an import less."""
            alike = set(parts) & set(name.replace("test_", "").split("."))
            return parts[-1] not in alike, distances[name] - len(alike), name

        found = sorted((name for name in distances if name.rpartition(".")[2].startswith("test_")), key=rank)
        return [name.replace(".", "/") + ".py" for name in found[:limit]]

    return tests


def _by_name(graph: grimp.ImportGraph) -> Iterator[tuple[str, str]]:
    """Yield modules and those that they need without an import: fixtures, and what is imported by its name."""
    for fixtures in [name for name in graph.modules if name.endswith(".conftest") and name != "tests.conftest"]:
        for module in graph.find_descendants(fixtures.removesuffix(".conftest")) - {fixtures}:
            yield module, fixtures
    for module in graph.modules:
        mirrored = module.removeprefix("tests.").replace(".test_", ".")
        if mirrored != module and mirrored in graph.modules:
            yield module, mirrored  # of a registry such as that of runtimes
        if module.endswith(".registry") or module == f"{_COMMANDS}eval":
            for other in graph.find_children(module.removesuffix(".registry")) - {module}:
                yield module, other
        if re.fullmatch(r"products\.\w+\.(api|command|routes)", module):
            yield "ses.products", module
        for named in set(_MODULE.findall(_text_of(module))) & graph.modules - {module}:
            yield module, named  # of a table such as that of the service's routes
    yield from _commands_run(graph)  # by the command line


def _commands_run(graph: grimp.ImportGraph) -> Iterator[tuple[str, str]]:
    """Yield the test modules that run a command of ses, with the module of the command."""
    from ses.products import product_commands
    from ses.terminal.commands.eval import COMMANDS

    named = {**product_commands(), **{f"eval {name}": command for name, command in COMMANDS.items()}}
    places = [(name, place.partition(":")[0]) for name, (place, _) in named.items()]
    places += [(module.rpartition(".")[2], module) for module in graph.modules if module.startswith(_COMMANDS)]
    commands: dict[str, list[str]] = {}
    for name, module in places:
        if module in graph.modules:
            commands.setdefault(name, []).append(module)
    running = {"tests.commands", f"{_COMMANDS}eval"} & graph.modules if commands else set()
    for test in {one for module in running for one in graph.find_modules_that_directly_import(module)}:
        text = _text_of(test)
        names = re.findall(r', "([a-z]+)"', text)
        names += [f"eval {name}" for name in re.findall(r'(?:"eval"|eval_), \[?"([a-z-]+)"', text)]
        yield from ((test, module) for name in names for module in commands.get(name, ()))


def _text_of(module: str) -> str:
    """Return the text of a module; of a package, nothing."""
    path = (ROOT / module.replace(".", "/")).with_suffix(".py")
    return path.read_text(encoding="utf-8") if path.is_file() else ""


class Bench:
    """Copies of the working tree, one for each job, in which mutations are tried."""

    def __init__(self, root: Path, folder: Path, jobs: int, limit: float) -> None:
        self._limit, self._trees = limit, SimpleQueue[Path]()
        self._passing: dict[str, bool] = {}
        first = folder / "0"
        for name in working_files(root):
            (first / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, first / name)
        # Checked by hash: by time and size, a mutated file may look like the original.
        compileall.compile_dir(first, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
        for job in range(jobs):
            tree = folder / str(job)
            if job:
                shutil.copytree(first, tree)
            self._trees.put(tree)

    def kills(self, mutation: Mutation, tests: Sequence[str]) -> bool:
        """Whether a test of these files fails with the mutation and passes without it."""
        tree = self._trees.get()
        try:
            # Most die by the nearest tests, and reading all files takes longer than those tests.
            return any(self._fails(tree, mutation, part) for part in (tests[:NEAREST], tests[NEAREST:]) if part)
        finally:
            self._trees.put(tree)

    def _fails(self, tree: Path, mutation: Mutation, tests: Sequence[str]) -> bool:
        original = (tree / mutation.file).read_bytes()
        while True:
            (tree / mutation.file).write_text(mutation.code, encoding="utf-8")
            try:
                broken = [name for name, passes in self._passing.items() if not passes]
                code, failed = self._run(tree, [*(f"--deselect={name}" for name in broken), *by_folder(tests)])
            finally:
                (tree / mutation.file).write_bytes(original)
            if code in (0, 5) or self._passes(tree, failed, tests):
                return code not in (0, 5)

    def _passes(self, tree: Path, failed: str, tests: Sequence[str]) -> bool:
        """Whether the test that failed passes without the mutation; where none did, whether the files can be read."""
        if failed not in self._passing:
            self._passing[failed] = self._run(tree, [failed] if failed else ["--collect-only", *tests])[0] == 0
            if not self._passing[failed]:
                print(f"Without a mutation, too, this fails: {failed or ' '.join(tests)}", flush=True)
        if not self._passing[failed] and "::" not in failed:
            raise SystemExit("Mend these files of tests first: pytest can't read them.")
        return self._passing[failed]

    def _run(self, tree: Path, arguments: Sequence[str]) -> tuple[int, str]:
        """Run tests, and return pytest's exit code (negative: it hung) and the test that failed, if any."""
        with tempfile.TemporaryDirectory(dir=tree.parent, ignore_cleanup_errors=True) as name:
            report = Path(name) / "failed"
            hidden = ("SES_", "PYTEST_ADDOPTS")
            environment = {key: value for key, value in os.environ.items() if not key.startswith(hidden)}
            environment |= {"PYTHONPATH": str(tree), "TMPDIR": name, "SES_TEST_SLOW": "1"}
            options = ("-x", "-p", "no:cacheprovider", "-p", "tests.mutate", "-o", "addopts=")
            limits = (f"--limit={self._limit}", f"--report={report}")
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", *options, *limits, *arguments],
                cwd=tree,
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                code = process.wait(10 * (self._limit + SLACK))
            except subprocess.TimeoutExpired:
                code = -signal.SIGKILL
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)  # also what the tests have started
                    process.wait()
            return code, report.read_text(encoding="utf-8") if report.is_file() else ""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--limit", type=float)
    parser.addoption("--report", type=Path)


def pytest_configure(config: pytest.Config) -> None:
    seconds = int(config.getoption("limit") + SLACK)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Leave out the tests that remain when the time is used up."""
    used = sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return True if used > item.config.getoption("limit") else None


def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Report what fails first: a test, or a file that can't be imported."""
    node.config.getoption("report").write_text(node.nodeid, encoding="utf-8")


def main() -> None:
    """Try mutations, and print those that survive and the share that was killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutate", description=__doc__)
    parser.add_argument(
        "areas", nargs="+", metavar="AREA", help="a folder or file of the sources; :!PATH leaves one out"
    )
    parser.add_argument("--number", type=int, default=40, help="how many mutations to try (default: 40)")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="another seed draws other mutations")
    parser.add_argument("--jobs", type=int, default=1, help="how many to try at once (default: 1)")
    parser.add_argument("--limit", type=float, default=30, help="CPU seconds of tests for each (default: 30)")
    given = parser.parse_args()
    files = [name for name in working_files(ROOT, *given.areas) if name.endswith(".py") and name.startswith(PACKAGES)]
    if not files:
        parser.error(f"there is no source file in {' '.join(given.areas)}: name a folder such as products/forecasts")
    mutations, possible = sample(files, given.number, given.seed)
    print(f"{len(mutations)} of {possible} possible mutations of {len(files)} files, seed {given.seed}", flush=True)
    tests, killed = importers(), 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        bench = Bench(ROOT, Path(folder), given.jobs, given.limit)
        found = [tests(mutation.file) for mutation in mutations]
        for mutation, chosen, dead in zip(mutations, found, pool.map(bench.kills, mutations, found), strict=True):
            killed += dead
            told = f"{mutation}\n    tests: {' '.join(chosen[:NEAREST]) or 'none'}"
            print(f"killed    {mutation.file}:{mutation.line}" if dead else f"survived  {told}", flush=True)
    print(f"{killed} of {len(mutations)} mutations killed ({killed / max(1, len(mutations)):.0%})")


if __name__ == "__main__":
    sys.exit(main())
