"""Values of options as they are typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import click
import pytest
from click.testing import CliRunner

from corpora.errors import InputError
from corpora.options import Option
from ses.terminal.options import described_options, given_of, own_options, parse_pairs


def test_columns_are_read_by_attribute():
    assert parse_pairs(["title=Titel", " year = Jahr=1 "], "columns", "ATTRIBUTE=COLUMN") == {
        "title": "Titel",
        "year": "Jahr=1",
    }


@pytest.mark.parametrize("texts", [["title"], ["=x"], ["title="]])
def test_another_form_is_told(texts):
    with pytest.raises(InputError, match="can't be read; write it as columns=ATTRIBUTE=COLUMN"):
        parse_pairs(texts, "columns", "ATTRIBUTE=COLUMN")


def test_two_columns_of_one_attribute_are_told():
    with pytest.raises(InputError, match="year is given twice, as pub_year and as acquired; leave one of them out"):
        parse_pairs(["year=pub_year", "year = acquired"], "columns", "ATTRIBUTE=COLUMN")


@click.command()
@own_options
def own(
    *,
    kinds: Annotated[Sequence[Literal["a", "b"]], Option("Kinds", default_help="all", flag="kind")] = (),
    sizes: Annotated[Sequence[int], Option("Sizes, as <kinds> has them", "K", least=1)] = (2, 3),
    share: Annotated[float, Option("Share", above=0, below=1)] = 0.5,
    seed: Annotated[int, Option("Seed", least=0)] = 0,
    file: Annotated[Path | None, Option("File", "FILE")] = None,
    plain: Annotated[bool, Option("Plain")] = False,
    name: Annotated[str, Option("Name")],
) -> None:
    click.echo(repr((kinds, sizes, share, seed, file, plain, name)))


def test_a_command_takes_what_its_arguments_describe():
    run = CliRunner().invoke
    assert run(own, ["--name", "x"]).stdout == "((), (2, 3), 0.5, 0, None, False, 'x')\n"
    words = "--kind a --kind b --sizes 5 --share 0.1 --seed 7 --file a.txt --plain --name y"
    assert run(own, words.split()).stdout == "(('a', 'b'), (5,), 0.1, 7, PosixPath('a.txt'), True, 'y')\n"
    for wrong in ("--kind c", "--sizes 0", "--share 1", "--share 0", "--seed -1", "--seed x"):
        assert run(own, ["--name", "x", *wrong.split()]).exit_code == 2, wrong
    assert "Missing option '--name'" in run(own, []).stderr


def test_the_help_says_each_default_once():
    told = {one.opts[0]: one.get_help_record(click.Context(own))[1] for one in own.params}
    assert told["--kind"] == "Kinds; repeatable [default: all]."
    assert told["--sizes"] == "Sizes, as --kinds has them; repeatable.  [default: 2, 3; x>=1]"
    assert told["--seed"] == "Seed.  [default: 0; x>=0]"
    assert (told["--file"], told["--plain"]) == ("File.", "Plain.")
    assert told["--name"] == "Name.  [required]"


def _shown(paper: Annotated[str, Option("Paper")], *, most: Annotated[int, Option("Most")] = 3, other: Any = 1) -> None:
    """A function of the Python API: what it takes by position is no option of a command."""


def test_a_command_takes_what_a_function_takes_by_name():
    command = click.command()(described_options(_shown)(lambda **given: click.echo(given_of(_shown, given))))
    assert [one.name for one in command.params] == ["most"]
    assert CliRunner().invoke(command, []).stdout == "{'most': 3}\n"


def _attached(*, vectors: Annotated[Mapping[str, str] | None, Option("Vectors", "A=B", flag="vector")] = None) -> None:
    """A function that takes values by name, whose flag is another word."""


def test_values_by_name_are_read_and_a_wrong_one_is_told_by_its_flag():
    assert given_of(_attached, {"vectors": ("near=model",)}) == {"vectors": {"near": "model"}}
    assert given_of(_attached, {"vectors": ()}) == {}
    with pytest.raises(InputError, match="write it as vector=A=B"):
        given_of(_attached, {"vectors": ("near",)})


@dataclass(frozen=True)
class Shelf:
    """Settings, which a file may hold too."""

    books: Annotated[int, Option("Books", least=1)] = 3


def test_a_setting_that_is_not_given_stays_that_of_its_file():
    command = click.command()(described_options(Shelf)(lambda **given: click.echo(given_of(Shelf, given))))
    assert CliRunner().invoke(command, []).stdout == "{}\n"
    assert command.params[0].get_help_record(click.Context(command))[1] == "Books [default: 3].  [x>=1]"
