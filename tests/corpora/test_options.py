"""Bounds, choices and examples of an option, told once and applied by every interface."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Literal, TypedDict, Unpack

import click
import pytest
from click.testing import CliRunner

from corpora.errors import InputError
from corpora.options import Option, check_options, options_of, whole_option
from ses.argument_validation import checked
from ses.terminal.options import described_options, given_of

ROOT = Path(__file__).parents[2]


class ShelfOptions(TypedDict, total=False):
    """Options that only this test has: to add one is this line, and the code that it changes."""

    books: Annotated[int, Option("Books of a shelf", least=1, most=2_000)]
    share: Annotated[float | None, Option("Share of them", above=0, below=1)]
    height: Annotated[float, Option("Height", least=0)]
    colour: Annotated[str, Option("Colour")]


@checked
def shelve(**options: Unpack[ShelfOptions]) -> ShelfOptions:
    return options


@click.command()
@described_options(ShelfOptions)
def command(**options):
    click.echo(given_of(ShelfOptions, options))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"books": 0}, "books can't be 0; give a whole number from 1 to 2,000."),
        ({"books": 2_001}, "books can't be 2,001; give a whole number from 1 to 2,000."),
        ({"share": 0}, "share can't be 0; give a number above 0 and below 1."),
        ({"share": 1.0}, "share can't be 1.0; give a number above 0 and below 1."),
        ({"share": float("nan")}, "share can't be nan; give a number."),
        ({"height": -0.5}, "height can't be -0.5; give a number of at least 0."),
    ],
)
def test_a_number_out_of_bounds_is_refused_everywhere(given, message):
    with pytest.raises(InputError) as refused:
        shelve(**given)
    assert str(refused.value) == message
    ((name, value),) = given.items()
    if value == value:  # click lets nan pass, and the library refuses it
        refused = CliRunner().invoke(command, [f"--{name}={value}"])
        assert refused.exit_code == 2
        assert "is not in the range" in refused.output


def test_a_number_at_a_bound_is_taken_everywhere():
    for given in ({"books": 1}, {"books": 2_000}, {"share": 0.001}, {"height": 0.0}, {"share": None}):
        assert shelve(**given) == given
    assert CliRunner().invoke(command, ["--books=2000", "--share=0.5"]).output == "{'books': 2000, 'share': 0.5}\n"


@checked
def find_books(
    words: Annotated[str, Option("Words", longest=9)],
    shelf: str = "",
    *,
    most: Annotated[int, Option("Most books", least=1, most=5)] = 3,
) -> tuple[str, str, int]:
    """A function that a command and a route answer by: this is all that describes their options."""
    return words, shelf, most


def test_a_command_and_a_route_are_made_of_the_arguments_of_a_function():
    @click.command()
    @click.argument("words")
    @described_options(find_books)
    def books(words, **options):
        click.echo(find_books(words, **given_of(find_books, options)))

    assert CliRunner().invoke(books, ["a", "--most=5"]).output == "('a', '', 5)\n"
    assert CliRunner().invoke(books, ["a", "--most=6"]).exit_code == 2
    with pytest.raises(InputError, match="words has 10 characters; give at most 9"):
        find_books("a" * 10)
    assert str(inspect.signature(find_books).parameters["most"]) == "most: 'int' = 3"

    parameters = pytest.importorskip("ses.service.parameters")
    model = parameters.parameters_for(find_books)
    described = {one["name"]: one for one in parameters.parameters_of(model)["parameters"]}
    assert described.keys() == {"index", "words", "most"}
    assert described["words"]["required"]
    assert described["words"]["schema"]["maxLength"] == 9
    schema = described["most"]["schema"]
    assert (schema["minimum"], schema["maximum"], schema["default"]) == (1, 5, 3)
    assert parameters.arguments_of(model.model_validate({"words": "a", "index": "b"})) == {"words": "a"}


def test_json_schema_has_the_bounds():
    assert {one.name: one.schema for one in options_of(ShelfOptions)} == {
        "books": {"minimum": 1, "maximum": 2_000},
        "share": {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "height": {"minimum": 0},
        "colour": {},
    }


@pytest.mark.parametrize(
    ("option", "text", "number"),
    [
        (Option("", least=1, most=2_000), "from 1 to 2,000", 1),
        (Option("", least=1), "of at least 1", 1),
        (Option("", most=2_000), "at most 2,000", 2_000),
        (Option("", above=0, most=1), "above 0 and at most 1", 1),
        (Option("", least=0, below=1), "of at least 0 and below 1", 0),
        (Option(""), "", 10**9),
    ],
)
def test_bounds_are_told_as_they_hold(option, text, number):
    assert (option.bounds_text, option.allows(number)) == (text, True)
    assert replace(option, type=int).number_text == f"a whole number {text}"
    for bound, beyond in ((option.least, -1), (option.most, 1), (option.above, 0), (option.below, 0)):
        assert bound is None or not option.allows(bound + beyond)


@dataclass(frozen=True)
class Board:
    """Options that another class describes, or its own."""

    books: Annotated[int, Option("Books", most=5)] = 3


def test_attributes_are_checked_by_the_bounds_of_their_options():
    check_options(Board(5))
    with pytest.raises(InputError, match="books can't be 6; give a whole number at most 5"):
        check_options(Board(6))
    with pytest.raises(InputError, match="books can't be 0; give a whole number from 1 to 2,000"):
        check_options(SimpleNamespace(books=0, share=0.5, height=0), ShelfOptions)


COLOURS = ("Red", "blue")


@dataclass(frozen=True)
class Shelf:
    """Options with defaults of their own."""

    colour: Annotated[str, Option("Colour", choices=f"{__name__}:COLOURS", others="a number")] = "Red"
    sizes: Annotated[tuple[Literal["s", "m"], ...] | None, Option("Sizes", read="builtins:tuple")] = ("s", "m")
    key: Annotated[str, Option("Key", default_help="none")] = field(default="", repr=False)
    open: Annotated[bool, Option("Open", choices=f"{__name__}:named", read=len)] = True
    width: Annotated[int, Option("Width", longest=3)] = field(default_factory=int)
    plain: int = 3


def named():
    return ["a", "b"]


def test_an_option_is_described_whole():
    described = {one.name: one for one in options_of(Shelf)}
    assert list(described) == ["colour", "sizes", "key", "open", "width"]
    shown = [(one.values, one.choices_text, one.default_text, one.secret) for one in described.values()]
    assert shown == [
        (COLOURS, "Red, blue, or a number", "Red", False),
        (("s", "m"), "", "s, m", False),
        ((), "", "none", True),
        (("a", "b"), "a, b", "true", False),
        ((), "", "", False),
    ]
    assert [one.reader for one in described.values()] == [None, tuple, None, len, None]
    assert [one.default for one in described.values()] == ["Red", ("s", "m"), "", True, None]
    assert (described["sizes"].type, described["width"].schema) == (tuple[Literal["s", "m"], ...], {"maxLength": 3})
    assert whole_option("plain", int) is whole_option("plain", Annotated[int, "text"]) is None
    assert [one.default for one in options_of(ShelfOptions, {"books": 3})] == [3, None, None, None]


@pytest.mark.lint
@pytest.mark.parametrize("name", ["sparse_ratio", "SPARSE_RATIO", "rerank_depth", "engine_patience", "rate_per_key"])
def test_an_option_is_named_in_two_files_at_most(name):
    """Where it is described, and where it acts: a setting of an index, an option of a search, and of the service."""
    packages = ("corpora", "encoders", "indexer", "search_plugin", "products", "ses", "training", "eval")
    sources = (path for package in packages for path in (ROOT / package).rglob("*.py"))
    naming = [path for path in sources if re.search(rf"\b{name}\b", path.read_text("utf-8"))]
    assert 1 <= len(naming) <= 2, naming
