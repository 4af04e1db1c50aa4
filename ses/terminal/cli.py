"""The command `ses`. Each command is one file in `ses.terminal.commands`; errors become exit codes here."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from io import TextIOWrapper

import rich_click as click
from click.exceptions import NoArgsIsHelpError

from corpora.installed import DISTRIBUTION
from corpora.outgoing import in_a_line
from ses.products import product_commands
from ses.terminal.lazy import LazyGroup
from ses.terminal.messages import explained

_HERE = "ses.terminal.commands"

COMMANDS = {
    "index": (f"{_HERE}.index:index", "Index a corpus, or update its index."),
    "search": (f"{_HERE}.search:search", "Search an index by words and by meaning at once."),
    "similar": (f"{_HERE}.similar:similar", "Find papers like one in the index, by its vector."),
    "show": (f"{_HERE}.show:show", "Show whole records of papers, by any identifier."),
    "corpora": (f"{_HERE}.corpora:corpora", "Check what is read of a file before it is indexed."),
    "indexes": (f"{_HERE}.indexes:indexes", "List, show, choose, delete or copy indexes."),
    "delete": (f"{_HERE}.delete:delete", "Delete papers from an index by their ids."),
    **product_commands(),
    "attach": (f"{_HERE}.attach:attach", "Add vectors to an index that ses did not make, and search it there."),
    "detach": (f"{_HERE}.detach:detach", "Remove all that ses has written into an attached index."),
    "cluster": (
        f"{_HERE}.cluster:cluster",
        "Let other programs search an index in OpenSearch or Elasticsearch without ses.",
    ),
    "encode": (f"{_HERE}.encode:encode", "Encode papers, queries or texts into an embedding file."),
    "shards": (f"{_HERE}.shards:shards", "Look after what `ses encode --shards` has encoded."),
    "train": (f"{_HERE}.train:train", "Train a model with a recipe."),
    "serve": (f"{_HERE}.serve:serve", "Serve the indexes of an engine over HTTP."),
    "mcp": (f"{_HERE}.mcp:mcp", "Serve assistants by the Model Context Protocol."),
    "eval": (f"{_HERE}.eval:eval_", "Measure the quality of search and of vectors."),
    "models": (f"{_HERE}.models:models", "List models, describe one, fetch one, or export one."),
    "plan": (
        f"{_HERE}.plan:plan",
        "Estimate what an index of PAPERS needs: disk, memory, shards, nodes, hours, and how long a page takes.",
    ),
    "doctor": (
        f"{_HERE}.doctor:doctor",
        "Show what is installed, the settings in force, and the state of models, engine and indexes.",
    ),
}
"""The commands: the module of each, and the beginning of its help. Only the command that runs is imported."""


@click.group(
    cls=LazyGroup, lazy=COMMANDS, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(package_name=DISTRIBUTION)
def ses() -> None:
    """Scientific search with task-format embeddings: papers in, hybrid search out.

    Exit codes: 0 done, 1 done with rejected records, 2 wrong usage or input, 3 engine or model unavailable.
    """


def main() -> None:
    """Run the command line and exit with its code."""
    _prepare_streams()
    _quieten()
    try:
        code = ses.main(standalone_mode=False)
        sys.stdout.flush()
    except NoArgsIsHelpError as error:
        click.echo(error.format_message())
        code = 2
    except (KeyboardInterrupt, click.Abort):
        code = _fail("Stopped; run the same command again to resume.", 130)
    except (BrokenPipeError, SystemExit) as error:
        # The reader of our output has closed the pipe; rich leaves then.
        if isinstance(error, SystemExit) and not isinstance(error.__context__, BrokenPipeError):
            raise
        _close_stdout()
        code = 0
    except Exception as error:  # noqa: BLE001 - a user gets a sentence, whatever happened
        if isinstance(error, click.ClickException) and not isinstance(error, click.FileError):
            if isinstance(error, click.NoSuchOption) and not error.option_name.startswith("--"):
                message = f"{error.message} Put -- before words that begin with a minus."
                error = click.NoSuchOption(error.option_name, message, ctx=error.ctx)
            error.show()
            code = 2
        else:
            code = _fail(*explained(error))
            try:
                sys.stdout.flush()
            except OSError:  # Python would try again at exit, and replace the exit code
                _close_stdout()
    sys.exit(code or 0)


def _prepare_streams() -> None:
    """Replace closed streams by the null device, and show letters that a terminal lacks as question marks."""
    # A file that is opened later must not get the number of a closed stream, and what is printed.
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(handle)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - open until the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def _close_stdout() -> None:
    """Write nothing more: otherwise Python would report at exit that it couldn't write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _quieten() -> None:
    """Keep logs and warnings of the clusters' clients off the terminal: our errors are complete."""
    for name in ("elastic_transport", "elasticsearch", "opensearch", "opensearchpy"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    if not sys.warnoptions:
        warnings.simplefilter("ignore")


def _fail(message: str, code: int) -> int:
    click.echo(f"Error: {in_a_line(message)}", err=True)
    return code
