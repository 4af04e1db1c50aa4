"""Errors as the command line tells them."""

import ast
import re
from itertools import pairwise

import click
import pytest

from corpora.errors import ConflictError, InputError, NotFoundError, UnavailableError
from ses.terminal.messages import EXIT_CODES, as_flag, message_of, with_flags
from ses.terminal.reference import commands
from tests.corpora.test_errors import LOWER, sources, strings

TAGS = "b|br|li|mark|p|small|table|tbody|td|th|thead|tr|ul"  # of HTML for notebooks, beside what it shows
SETTING = re.compile(
    rf"(?<!\?P)<(?!(?:{TAGS})>)([a-z][a-z0-9_]*)[=>]"
)  # with a value, the rest is often another part of an f-string
HTML = (
    "corpora/outgoing.py",
    "search_plugin/pages/hit.py",
    "search_plugin/pages/page.py",
    "eval/reports",
    "products/feeds/formats.py",
    "eval/scidocs_network.py",  # <blank> is its sign of a paper without a title
)


def test_settings_are_written_as_flags():
    error = InputError("It has 3 vectors", "index again with <fresh> and <model=my models/a>, or less <long_text>")
    assert (
        message_of(error)
        == "It has 3 vectors; index again with --fresh and --model 'my models/a', or less --long-text."
    )
    assert with_flags("use <columns>, <weights=lexical=0.7> or <facets>") == (
        "use --column, --weight lexical=0.7 or --facet"
    )


@pytest.mark.parametrize(
    ("kind", "code"), [(InputError, 2), (NotFoundError, 2), (UnavailableError, 3), (ConflictError, 3)]
)
def test_a_kind_has_an_exit_code(kind, code):
    assert EXIT_CODES[kind.kind] == code


@pytest.mark.lint
def test_every_setting_that_a_hint_names_is_an_option_of_a_command():
    options = {
        option
        for context in commands()
        for param in context.command.params
        if isinstance(param, click.Option)
        for option in param.opts
    }
    named = {
        (as_flag(found[1]), where)
        for package in (*LOWER, "ses")
        for where, text in strings(package, docstrings=False)
        if not where.startswith(HTML)
        for found in SETTING.finditer(text)
    }
    assert len(named) > 30
    assert {pair for pair in named if pair[0] not in options} == set()


def all_sources():
    return {path: tree for package in (*LOWER, "ses") for path, tree in sources(package).items()}


@pytest.mark.lint
def test_every_setting_is_in_a_hint_and_not_in_a_sentence():
    assert in_sentences(all_sources()) == []


@pytest.mark.lint
@pytest.mark.parametrize(
    ("source", "raw"),
    [
        ('not_ours(name, "it is attached; attach it with <update> to follow")', True),
        ('self._check_own(name, "detach it, or choose another <index>", hint)', True),
        ('not_ours(name, "it is attached", "index it with <corpus=index>")', False),
        ('raise InputError(f"Give one factor, and <combine> as one of {names}.")', True),
        ('raise InputError("It is empty", f"leave <{given}> out")', False),
        ('raise InputError(f"Leave <{given}> out")', True),
        ('raise InputError(sentence="Leave <it> out", hint="leave <this> out")', True),
        ('require(found, "Nothing is there", "give <path>")', False),
        ('require(found, "Nothing is there, give <path>")', True),
        ('_HINT = "give <path>"\nraise InputError("Nothing is there", _HINT)', False),
        ('_HINT = "give <path>"\nraise InputError(_HINT)', True),
        ('def hint_for(path):\n    return "give <path>"\n\nraise InputError(f"Nothing; {hint_for(1)}")', True),
        ('yield Finding(trouble="Index again with <fresh>.")', False),
        ('click.echo("index again with <fresh>")', True),
        ('def search():\n    """Find what <query> means."""', False),
    ],
)
def test_a_setting_outside_of_hints_is_found(source, raw):
    definitions = "def require(condition, sentence, hint=''): ...\ndef not_ours(name, what, hint=''): ...\n"
    definitions += "class E:\n    def _check_own(self, name, what, hint): ...\n"
    assert bool(in_sentences({"a.py": ast.parse(definitions + source)})) == raw


@pytest.mark.lint
def test_no_help_of_a_command_shows_a_setting_in_brackets():
    for context in commands():
        told = [context.command.help, *(getattr(param, "help", "") for param in context.command.params)]
        assert not [text for text in told if SETTING.search(text or "")]


@pytest.mark.lint
def test_errors_that_a_command_shows_have_their_settings_as_flags():
    """`str` of an error writes them as arguments, for Python."""
    caught = {name for name, tree in all_sources().items() if name.startswith("ses/") for _ in as_text(tree)}
    assert caught == {"ses/terminal/messages.py"}  # of errors that are not of ses


def in_sentences(sources):
    """The places of settings that are written anywhere but in a hint, and of names that stand for such a hint."""
    # What is HTML has tags. All that a diagnosis finds is written with flags by `ses doctor`.
    told = {path: tree for path, tree in sources.items() if not path.startswith(HTML) and "diagnosis" not in path}
    nodes = [(path, node, above) for path, tree in told.items() for node, above in walked(tree)]
    positions = {node.name: hint_of(node) for _, node, _ in nodes if isinstance(node, ast.FunctionDef)}
    settings = [one for one in nodes if has_setting(*one[1:]) and not isinstance(one[2][-1], ast.Compare)]
    carriers = {carrier for path, _, above in settings for carrier in carriers_of(path, above)}
    places = [one for one in settings if not carriers_of(one[0], one[2])]
    places += [one for one in nodes if loaded(*one) in carriers]
    return [
        f"{path}:{node.lineno}"
        for path, node, above in places
        if not any(takes_hint(*pair, positions) for pair in pairwise([*above, node]))
    ]


def carriers_of(path, above):
    """The variable of a file, or the function of any, that has what is below these nodes as its value."""
    for node in reversed(above):
        if isinstance(node, ast.Call):
            break
        if isinstance(node, ast.Assign):
            return [(path, getattr(target, "id", "")) for target in node.targets]
        if isinstance(node, ast.Return):
            return [("", next(one.name for one in reversed(above) if isinstance(one, ast.FunctionDef)))]
    return []


def loaded(path, node, _above):
    """The variable that a node reads, or the function that it calls."""
    if isinstance(node, ast.Call):
        return "", called(node)
    return path, node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else ""


def walked(tree):
    """Each node of a tree, with those above it."""
    left = [(tree, ())]
    while left:
        node, above = left.pop()
        yield node, above
        path = (*above, node)
        left += [(child, path) for child in reversed([*ast.iter_child_nodes(node)])]


def hint_of(function):
    """The position of the hint among the arguments that a function takes, or None."""
    names = [one.arg for one in function.args.args if one.arg != "self"]
    return names.index("hint") if "hint" in names else None


def has_setting(node, above):
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)) or isinstance(above[-1], ast.Expr):
        return False
    part = isinstance(above[-1], ast.JoinedStr) and node.value.endswith("<") and len(node.value) > 1
    return part or SETTING.search(node.value) is not None


def called(call):
    return getattr(call.func, "attr", "") or getattr(call.func, "id", "")


def takes_hint(node, child, positions):
    """Whether what is in a child of a node serves as a hint."""
    if isinstance(node, ast.keyword):
        return node.arg in ("hint", "trouble", "default_help")
    if isinstance(node, ast.arguments):
        return child in node.defaults and node.args[child_argument(node, child)].arg == "hint"
    if not isinstance(node, ast.Call):
        return False
    # ClusterError has status and kind before its hint. The help of an option is written as hints are.
    at = {"ClusterError": 3, "BusyError": 3, "Option": 0}.get(
        called(node), 1 if called(node).endswith("Error") else None
    )
    at = positions.get(called(node)) if at is None else at
    return at is not None and child in node.args[at : at + 1]


def child_argument(arguments, default):
    return len(arguments.args) - len(arguments.defaults) + arguments.defaults.index(default)


def as_text(tree):
    """The errors of ses that are written as text, by `str` or in an f-string."""
    for node, above in walked(tree):
        shown = node.value if isinstance(node, ast.FormattedValue) else None
        if isinstance(node, ast.Call) and called(node) == "str" and node.args:
            shown = node.args[0]
        if not (isinstance(shown, ast.Name) and shown.id == "error"):
            continue
        if any(getattr(one, "name", "") == "__repr__" for one in above):  # for Python alone
            continue
        handlers = [one for one in above if isinstance(one, ast.ExceptHandler)]
        types = {getattr(one, "id", "") for one in ast.walk(handlers[-1].type)} if handlers else {"SesError"}
        if types & {"SesError", "InputError", "NotFoundError", "UnavailableError", "ConflictError", "StoppedError"}:
            yield node
