"""The command `ses`: one file a command in `ses.commands`, errors to exit codes here."""

from __future__ import annotations

import errno
import logging
import os
import sys
import warnings

import rich_click as click
from click.exceptions import NoArgsIsHelpError

from corpora.errors import SesError
from ses.lazy import LazyGroup
from ses.messages import EXIT_CODES, message_of

COMMANDS = {
    "index": ("ses.commands.index:index", "Index a corpus, or bring its index up to date."),
    "search": ("ses.commands.search:search", "Search an index by words and by meaning at once."),
    "similar": ("ses.commands.similar:similar", "Find papers like one in the index, by its vector."),
    "encode": ("ses.commands.encode:encode", "Encode papers, queries or texts into an embedding file."),
    "train": ("ses.commands.train:train", "Train a model as a recipe says."),
    "eval": ("ses.commands.eval:eval_", "Measure how well search works, and how well vectors serve."),
    "models": (
        "ses.commands.models:models",
        "List models, tell what one is, fetch one, or write one out.",
    ),
    "doctor": (
        "ses.commands.doctor:doctor",
        "Show what is installed, the settings in force, and the state of models, engine and indexes.",
    ),
}
"""The commands: where each is, and the beginning of its help. None is imported for another's sake."""


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="ses")
def ses() -> None:
    """Scientific search with task-format embeddings: papers in, hybrid search out.

    Exit codes: 0 done, 1 done with rejected records, 2 wrong usage or input, 3 engine or model unavailable.
    """


def main() -> None:
    """Run the command line and exit with its code."""
    _quieten()
    try:
        code = ses.main(standalone_mode=False)
        sys.stdout.flush()
    except SesError as error:
        code = _fail(message_of(error), EXIT_CODES[error.kind])
    except NoArgsIsHelpError as error:
        click.echo(error.format_message())
        code = 2
    except click.ClickException as error:
        error.show()
        code = 2
    except (KeyboardInterrupt, click.Abort):
        code = _fail("Stopped; the same command goes on where it was.", 130)
    except BrokenPipeError:
        # Whoever read our output has seen enough.
        _close_stdout()
        code = 0
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _close_stdout()
        code = _fail(f"A disk is full ({error}); free some space, and run the same command again.", 3)
    sys.exit(code or 0)


def _close_stdout() -> None:
    """Write nothing more: Python would complain once more at exit of what it couldn't write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _quieten() -> None:
    """Keep what the clusters' clients log and warn of off the terminal: errors tell it all, and show no requests."""
    for name in ("elastic_transport", "elasticsearch", "opensearch", "opensearchpy"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def _fail(message: str, code: int) -> int:
    # Servers' own words stand in some messages, and must not steer a terminal.
    shown = "".join(character if character.isprintable() else " " for character in message)
    click.echo(f"Error: {shown}", err=True)
    return code
