import itertools
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import rich_click as click

from ses.terminal.reference import commands, parameters, reference, with_options

pytestmark = pytest.mark.lint

ROOT = Path(__file__).parents[2]
PACKAGES = ("ses", "corpora", "encoders", "indexer", "search_plugin", "training", "eval", "products")
COMMANDS = {context.command_path: context for context in commands()}

FENCE = re.compile(r"^ *```([a-z]*)[^\n]*\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
SHELLS = ("", "sh", "bash", "shell", "console", "text")
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
SPAN = re.compile(r"`((?:ses |--)[^`\n]+)`")
OPTION = re.compile(r"\[?(--?[a-zA-Z][\w-]*)")
PLACEHOLDER = re.compile(r"\[.*|[A-Z_]+(\.\.\.)?|\.\.\.|…")


def names_in_code(text):
    """Command lines of `ses` in the inline code of Markdown or of Python's docstrings and messages."""
    return SPAN.findall(FENCE.sub("", text))


def command_lines(script):
    """Command lines of `ses` in a shell script, with or without prompts, variables set before, and pipes."""
    for line in re.sub(r"\\\n", " ", script).splitlines():
        try:
            lexer = shlex.shlex(line.strip().removeprefix("$ "), posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            words = list(lexer)
        except ValueError:  # output with an apostrophe
            words = line.split()
        for apart, part in itertools.groupby(words, key=lambda word: word in {"|", "||", "&&", ";", "&", ">", ">>"}):
            called = list(itertools.dropwhile(lambda word: re.match(r"[A-Z_]+=", word), part))
            if not apart and called[:1] == ["ses"]:
                yield shlex.join(called)


def unknown(line):
    """What in a command line of `ses`, or in an option alone, does not exist."""
    if line.startswith("--"):
        known = {opt for context in COMMANDS.values() for opt in opts(context)}
        return [name for name in OPTION.findall(line.split()[0]) if name not in known]
    try:
        _, *words = shlex.split(line)
    except ValueError:
        _, *words = line.split()
    context, missing = COMMANDS["ses"], []
    for word in itertools.takewhile(lambda word: word != "--", words):
        option = OPTION.match(word)
        if option:
            missing += [] if option[1] in opts(context) else [f"{context.command_path} {option[1]}"]
        elif isinstance(context.command, click.Group) and not PLACEHOLDER.fullmatch(word):
            path = f"{context.command_path} {word}"
            if path not in COMMANDS:
                return [*missing, path]
            context = COMMANDS[path]
    return missing or superfluous(context, words)


def superfluous(context, words):
    """What in the words of a command line is neither an option of the command nor an argument that it takes."""
    after = words[len(context.command_path.split()) - 1 :]
    if isinstance(context.command, click.Group) or any(PLACEHOLDER.fullmatch(word) for word in after):
        return []
    try:
        _, left, _ = context.command.make_parser(context).parse_args(after)
    except click.UsageError:  # as in a line that is not whole
        return []
    return [f"{context.command_path} ... {word}" for word in left]


def test_a_word_too_many_is_found():
    assert unknown("ses index papers --corpus csv --path papers.csv") == ["ses index ... papers"]
    assert not unknown("ses index --corpus csv --path papers.csv")
    assert not unknown("ses search masks in schools --size 3 -- -virus")
    assert not unknown("ses cluster install papers --pattern 'papers-*'")
    assert unknown("ses cluster install papers more") == ["ses cluster install ... more"]


def opts(context):
    return {opt for param in context.command.get_params(context) for opt in (*param.opts, *param.secondary_opts)}


def documents():
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in pages if page.exists() and page.name != "cli.md"]


def test_reference_is_fresh():
    assert (ROOT / "docs/cli.md").read_text(encoding="utf-8") == reference(), "out of date: run `make docs`"


@pytest.mark.parametrize("name", ["python.md", "guide/settings.md", "serving.md", "page.md"])
def test_the_tables_of_options_and_settings_are_fresh(name):
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert page == with_options(page), "out of date: run `make docs`"
    assert "\n| `" in page


def test_reference_is_the_same_in_every_terminal():
    for environment in ({"COLUMNS": "40", "FORCE_COLOR": "1"}, {"COLUMNS": "200", "TERM": "dumb"}):
        told = subprocess.run(
            [sys.executable, "-m", "ses.terminal.reference"], env=environment, cwd=ROOT, capture_output=True, check=True
        )
        assert told.stdout.decode() == reference()


def test_reference_has_all_of_a_command():
    @click.group("ses")
    def group():
        """Say hello."""

    @group.command()
    @click.argument("name", nargs=-1)
    @click.option("--times", "-n", default=3, type=click.IntRange(min=1), help="How\n often.")
    @click.option("--how", type=click.Choice(["loud", "soft"]), required=True, help="Way of it.")
    @click.option("--secret", hidden=True)
    def greet(**_options):
        """Greet people.

        A second
        paragraph.
        """

    assert reference(group).endswith(
        "\n## ses greet\n\n```\nses greet [OPTIONS] [NAME]...\n```\n\nGreet people.\n\nA second paragraph.\n\n"
        "- `[NAME]...`\n- `--times, -n INTEGER RANGE`: How often. [default: 3; x>=1]\n"
        "- `--how [loud|soft]`: Way of it. [required]\n"
    )


@pytest.mark.parametrize("path", COMMANDS)
def test_all_is_explained(path):
    assert COMMANDS[path].command.help
    for param in parameters(COMMANDS[path]):
        if isinstance(param, click.Option):
            said = re.sub(r"\[.*?\]", "", param.help or "").strip()  # a default alone explains nothing
            assert said, f"{path} {param.opts[0]} has no help"


@pytest.mark.parametrize("page", documents(), ids=lambda page: page.name)
def test_pages_name_what_exists(page):
    text = page.read_text(encoding="utf-8")
    scripts = [script for language, script in FENCE.findall(text) if language in SHELLS]
    lines = [*names_in_code(text), *itertools.chain.from_iterable(map(command_lines, scripts))]
    assert not [missing for line in lines for missing in unknown(line)]


def dead_links(page):
    """Links of a page to files or headings that do not exist."""
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        name, _, anchor = target.partition("#")
        path = page.parent / name if name else page
        if not path.exists() or (anchor and anchor not in anchors(path)):
            yield target


def anchors(page):
    """Headings of a page as links name them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in HEADING.findall(text)}


@pytest.mark.parametrize("page", [*documents(), ROOT / "docs/cli.md"], ids=lambda page: page.name)
def test_pages_link_to_what_exists(page):
    assert list(dead_links(page)) == []


@pytest.mark.parametrize("page", documents(), ids=lambda page: page.name)
def test_every_row_of_a_table_is_one_line(page):
    lines = FENCE.sub("", page.read_text(encoding="utf-8")).splitlines()
    assert [line for line in lines if line.startswith("| ") and not line.endswith("|")] == []


def test_the_check_of_links_finds_dead_ones(tmp_path):
    (tmp_path / "a.md").write_text("# What's new, here\n")
    page = tmp_path / "b.md"
    page.write_text("[a](a.md#whats-new-here) [b](#none) [c](c.md) [d](https://x.y/z) [e](a.md#here)\n")
    assert list(dead_links(page)) == ["#none", "c.md", "a.md#here"]


def test_makefile_calls_what_exists():
    lines = list(command_lines((ROOT / "Makefile").read_text(encoding="utf-8")))
    assert len(lines) >= 4
    assert not [missing for line in lines for missing in unknown(line)]


def test_messages_name_what_exists():
    sources = [path.read_text(encoding="utf-8") for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]
    lines = [line for source in sources for line in names_in_code(source) if line.startswith("ses ")]
    assert lines
    assert not [missing for line in lines for missing in unknown(line)]


def test_the_check_finds_what_does_not_exist():
    page = "Try `ses serch x`, `--colour` or `ses index --corpus NAME`.\n"
    page += "```sh\n$ X=1 ses search 'a | b' \\\n  --sise 3 | less\n```\n"
    (script,) = [script for _, script in FENCE.findall(page)]
    lines = [*names_in_code(page), *command_lines(script)]
    assert [missing for line in lines for missing in unknown(line)] == ["ses serch", "--colour", "ses search --sise"]
    assert unknown("ses eval nothing") == ["ses eval nothing"]
    assert unknown("ses [OPTIONS] COMMAND [ARGS]...") == []
    assert unknown("ses search QUERY [--explain]") == []


def test_every_dependency_has_its_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {None: project["dependencies"], **project["optional-dependencies"]}
    needed = [(extra, re.match(r"[\w.-]+", text)[0]) for extra, group in groups.items() for text in group]
    needed = [(extra, name) for extra, name in needed if name != project["name"]]  # an extra that holds another
    rows = re.findall(
        r"^\| (?:([\w-]+) \| )?([\w.-]+) \| (\w[^|]{8,}) \|$", (ROOT / "docs/dependencies.md").read_text(), re.MULTILINE
    )
    assert [(extra or None, name) for extra, name, _ in rows] == needed
