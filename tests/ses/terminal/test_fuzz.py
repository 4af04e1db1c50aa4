"""Commands, options, environment, `ses.toml` and files at random: always a known exit code and a plain sentence."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
import rich_click as click
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ses.settings import SETTINGS
from ses.terminal.reference import commands, parameters
from tests.chance import effort
from tests.commands import call, of, ses
from tests.tiny import make_model, papers, write_jsonl

SECONDS = int(os.environ.get("SES_TEST_FUZZ") or effort(6, 12, 3_600))

FILES = {
    "corpus.jsonl": None,
    "empty": b"",
    "blank.csv": b"\n\n",
    "table.csv": "id,title,year\na,A virus,2020\nb,Größe,x\n".encode("latin-1"),
    "good.csv": b"id,title,year\na,A virus,2020\nb,A lung,2021\n",
    "quote.csv": b'id,title\na,"A virus\nb,A lung\n',
    "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "half.jsonl": b'{"id": "a", "title": "A virus"}\n{"id": "b"\n[1]\n"x"\nnull\n',
    "deep.json": b"[" * 3_000,
    "papers.xml": b"<PubmedArticleSet><PubmedArticle></PubmedArticle>",
    "packed.gz": b"\x1f\x8b\x08\x00xxxx",
    "recipe.toml": b"[data]\nx = 1\n",
    "run.trec": b"1 Q0 a 1 0.5 x\n1 Q0 b nan\n",
    "qrels.txt": b"1 0 a 1\n1 0 b -1\n",
    "odd name é.csv": b"id,title\n1,virus\n",
}
PATHS = (*FILES, "none.csv", ".", "..", "data", "model", "new/folder", "-", "", "/", "/dev/null", "/proc/self/environ")
OWN = tuple(path for path in PATHS if not path.startswith(("/", "..")))
"""Paths below the folder of the test: nothing else may be written to."""

WORDS = (
    *(
        "virus lung",
        "",
        " ",
        '"virus lung" -cell',
        "(((",
        "AND OR NOT",
        "β-catenin 5-HT2A",
        "10.1000/x",
        "\udcff",
        "\x1b[31m",
    ),
    *(
        "prx",
        "prx,clf",
        "lexical=0.7",
        "lexical=nan",
        "lexical=-1",
        "title=name",
        "=",
        "year>=2000",
        "year=",
        "colour=red",
    ),
    *(
        "shelf=keyword",
        "title=text",
        "year",
        "journal",
        "authors",
        "jsonl",
        "csv",
        "p00001",
        "1e999",
        "0.9,0.4",
        "rrf",
        "rrf@0",
    ),
    *(
        "ses-nothing",
        "nobody/nothing",
        "model",
        "a" * 300,
        "../x",
        "A B",
        "nDCG@10",
        "P@0",
        "1-2",
        "irds:none",
        "2020-13-45",
    ),
)
NUMBERS = ("0", "1", "-1", "3", "10000", "10001", "99999999999999999999", "x", "1.5")
SKIPPED = ("ses train", "ses eval suite", "ses mcp")
"""The first two only read a file before hours of work, the last serves until it is stopped; each has its own tests."""


@dataclass(frozen=True)
class Case:
    """A command line with the environment and settings that it finds."""

    arguments: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    toml: bytes | None = None


def mostly(likely, *odd):
    """Values that get a command further, and now and then others."""
    return st.one_of(*[likely] * 9, *odd)


def one_of(*values):
    return st.sampled_from(values)


ANY = st.text(st.characters(exclude_characters="\0"), max_size=12)
TEXT = mostly(st.sampled_from(WORDS), ANY)
OUTPUTS = ("output", "report", "runs", "file", "folder", "out")
QUERIES = mostly(one_of("virus lung", "virus", "p00001", '"virus lung" -cell', "β-catenin", "lung AND (virus"), TEXT)
FILTERS = one_of(
    "year>=2000", "not journal=Nature", "year=", "colour=red", "(", "authors=Ada", "id=p00001", "origins=x", "year=x"
)
LIKELY = {
    "engine": one_of(
        "embedded:data/indexes", "embedded:new", "embedded:", "embedded:corpus.jsonl", "http://127.0.0.1:1", "x"
    ),
    "index": mostly(one_of("jsonl"), one_of("other", "none", "A B", "eval-x", "")),
    "name": mostly(one_of("jsonl", "model"), one_of("other", "nothing", "nobody/nothing", "A B", "")),
    "to": one_of("copy", "jsonl", "A B", ""),
    "model": mostly(one_of("model"), one_of("nothing", "nobody/nothing", "corpus.jsonl", "data")),
    "runtime": mostly(one_of("onnx"), one_of("onnx-cuda", "optimum", "tensorrt", "")),
    "corpus": mostly(one_of("jsonl", "csv", "beir", "pubmed", "cord19"), TEXT),
    "query": QUERIES,
    "paper_id": mostly(one_of("p00001", "p00002"), TEXT),
    "ids": mostly(one_of("p00001", "p00002", "none", "-"), TEXT),
    "filters": FILTERS,
    "facets": one_of("journal", "year", "authors", "abstract", "colour"),
    "collapse": one_of("journal", "year", "authors", "colour"),
    "formats": one_of("prx", "prx,clf", "abc", ","),
    "fusion": one_of("minmax", "rrf", "zscore", "sum"),
    "weights": one_of("lexical=0.7", "prx=1", "lexical=nan", "lexical=-1", "bm25=1", "lexical"),
    "columns": one_of("title=title", "title=none", "id=id", "x=y", "title"),
    "fields": one_of("shelf=keyword", "year=text", "title=keyword", "x=y", "shelf"),
    "measures": one_of("nDCG@10", "MAP", "P@0", "x"),
    "bm25": one_of("1.2,0.75", "0.9,0.4", "nan,1", "1"),
}
"""Values by the name of a parameter."""


def value_of(param):
    """Values for a parameter."""
    if isinstance(param.type, click.Choice):
        return mostly(st.sampled_from(tuple(map(str, param.type.choices))), TEXT)
    if param.name in OUTPUTS:
        return st.sampled_from(OWN)
    if param.name in LIKELY:
        return LIKELY[param.name]
    if isinstance(param.type, click.Path) or param.name in ("data", "input"):
        return st.sampled_from(PATHS)
    if param.type in (click.INT, click.FLOAT) or isinstance(param.type, click.IntRange | click.FloatRange):
        return mostly(one_of("1", "2", "3", "10", "100"), st.sampled_from(NUMBERS))
    return mostly(TEXT, st.sampled_from(NUMBERS), st.sampled_from(PATHS))


@st.composite
def command_lines(draw):
    """A command with some of its arguments and options."""
    context = draw(mostly(st.sampled_from(OFTEN), st.sampled_from(LEAVES)))
    words = context.command_path.split()[1:]
    for param in parameters(context):
        if isinstance(param, click.Argument):
            if draw(mostly(st.just(True), st.just(False))):
                words.append(draw(value_of(param)))
        elif draw(mostly(st.just(param.required or param.name in ("corpus", "path")), st.just(True))):
            words.append(param.opts[-1])
            if not param.is_flag:
                words.append(draw(value_of(param)))
    return tuple(words)


LEAVES = [
    context
    for context in commands()
    if not isinstance(context.command, click.Group) and context.command_path not in SKIPPED
]
OFTEN = [context for context in LEAVES if not context.command_path.startswith(("ses eval", "ses models"))]
VARIABLES = st.sampled_from([f"SES_{name.upper()}" for name in SETTINGS if name not in ("engine", "model")])
SAFE = one_of("1", "0", "true", "x", "", "3", "onnx", "int8", "jsonl", "start", "corpus.jsonl", "new", "nan", "\udcff")
OTHERS = one_of("SES_MODLE", "SES_X", "COLUMNS", "PYTHONIOENCODING")
ENVIRONMENTS = mostly(st.just({}), st.dictionaries(VARIABLES | OTHERS, SAFE, min_size=1, max_size=2))
LINES = one_of(
    *("index = 'jsonl'", "threads = 1", "threads = 'x'", "modle = 1", "[engine]", "long_text = 'ends'", "= 1"),
    *("embedding_cache = 3", "tuned = 'empty'", 'data_dir = "a\\u0000b"', "index = 'none'", "index = ''"),
)
TOMLS = mostly(
    st.none(), st.lists(LINES, max_size=2).map(lambda lines: "\n".join(lines).encode()), st.binary(max_size=20)
)
CASES = st.builds(Case, command_lines(), ENVIRONMENTS, TOMLS)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a model, an index, its corpus and files of all sorts."""
    folder = tmp_path_factory.mktemp("home")
    make_model(folder / "model")
    write_jsonl(folder / "corpus.jsonl", papers(30))
    for name, content in FILES.items():
        if content is not None:
            (folder / name).write_bytes(content)
    done = ses(folder, "index", "--corpus", "jsonl", "--path", folder / "corpus.jsonl", "--model", folder / "model")
    assert done.returncode == 0, done.stderr
    return folder


def check(home, case):
    # tantivy's thread that watches an opened index may make its lock while the folder is being removed.
    with TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        folder = Path(temporary) / "home"
        shutil.copytree(home, folder)
        if case.toml is not None:
            (folder / "ses.toml").write_bytes(case.toml)
        before = Path.cwd()
        os.chdir(folder)
        try:
            given = {**of(folder, SES_MODEL=str(folder / "model"), SES_ENGINE_PATIENCE="1"), **case.environment}
            with patch.dict(os.environ, {"TMPDIR": temporary}):
                done = call(case.arguments, given, text='{"id": "a", "title": "A virus"}\n')
        finally:
            os.chdir(before)
    assert done.returncode in (0, 1, 2, 3, 130), done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    if done.returncode in (2, 3) and "doctor" not in case.arguments:
        told = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
        usage = "Usage:" in done.stderr + done.stdout
        assert len(told) == 1 or usage, done.stderr
        assert all(line.endswith((".", "`", ")")) for line in told), done.stderr


@pytest.mark.slow
def test_anything_gets_a_plain_answer(home):
    end = time.monotonic() + SECONDS

    @settings(max_examples=200, database=None, suppress_health_check=list(HealthCheck))
    @given(CASES)
    def tried(case):
        if time.monotonic() < end:
            check(home, case)

    while time.monotonic() < end:
        tried()
