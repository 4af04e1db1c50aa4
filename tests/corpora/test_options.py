"""Bounds, choices and examples of an option, told once and applied by every interface."""

from __future__ import annotations

from typing import Annotated, TypedDict, Unpack

import click
import pytest
from click.testing import CliRunner

from corpora.errors import InputError
from corpora.options import Option, options_of
from ses.argument_validation import checked
from ses.terminal.options import described_options, given_of


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


def test_json_schema_has_the_bounds():
    assert {one.name: one.schema for one in options_of(ShelfOptions)} == {
        "books": {"minimum": 1, "maximum": 2_000},
        "share": {"exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "height": {"minimum": 0},
        "colour": {},
    }
