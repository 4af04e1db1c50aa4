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
from ses.commands.doctor import doctor
from ses.commands.encode import encode
from ses.commands.eval import eval_
from ses.commands.index import index
from ses.commands.models import models
from ses.commands.search import search
from ses.commands.similar import similar
from ses.commands.train import train
from ses.messages import EXIT_CODES, message_of


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="ses")
def ses() -> None:
    """Scientific search with task-format embeddings: papers in, hybrid search out.

    Exit codes: 0 done, 1 done with rejected records, 2 wrong usage or input, 3 engine or model unavailable.
    """


for command in (index, search, similar, encode, train, eval_, models, doctor):
    ses.add_command(command)


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
