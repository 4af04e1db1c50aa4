"""Errors as the command line tells them."""

import re

import click
import pytest

from corpora.errors import ConflictError, InputError, NotFoundError, UnavailableError
from ses.messages import EXIT_CODES, as_flag, message_of, with_flags
from ses.reference import commands
from tests.corpora.test_errors import LOWER, strings

SETTING = re.compile(r"(?<!\?P)<([a-z][a-z0-9_]*)[=>]")  # with a value, the rest is often another part of an f-string


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
        for package in LOWER
        for where, text in strings(package, docstrings=False)
        # They have tags of HTML.
        if not where.startswith(
            ("search_plugin/notebook.py", "eval/reports", "products/tags/report.py", "products/feeds/html.py")
        )
        for found in SETTING.finditer(text)
    }
    assert len(named) > 30
    assert {pair for pair in named if pair[0] not in options} == set()
