"""The command line, run in this process as it would run in its own: a new process takes a second to import it all."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import warnings
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from unittest.mock import patch

from ses.terminal.cli import main

PLAIN = {"COLUMNS": "200", "NO_COLOR": "1"}
"""The form of output that tests expect, whatever terminal they run in."""


def ses(folder, *arguments, **environment):
    """Run a command with its data and cache in a folder; return its exit code and all that it printed."""
    return call(arguments, of(folder, **environment))


def of(folder, **environment):
    """The settings of a command that keeps its data and cache in a folder."""
    return {"SES_DATA_DIR": str(folder / "data"), "SES_CACHE_DIR": str(folder / "cache"), **environment}


def call(arguments, environment, text=""):
    """Run a command in this process, with `text` on its standard input."""
    command = ["ses", *map(str, arguments)]
    printed = {name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for name in ("out", "err")}
    with (
        patch.dict(os.environ, {**PLAIN, **environment}),
        patch.object(sys, "argv", command),
        _piped(text),
        redirect_stdout(printed["out"]),
        redirect_stderr(printed["err"]),
        _own_warnings_and_log(),
    ):
        try:
            main()
        except SystemExit as left:
            code = left.code or 0
    shown = {name: stream.buffer.getvalue().decode() for name, stream in printed.items()}
    return subprocess.CompletedProcess(command, code, shown["out"], shown["err"])


@contextmanager
def _piped(text):
    """Put a pipe in place of standard input, as a file that commands open by its name."""
    kept, (end, begin) = os.dup(0), os.pipe()
    try:
        os.write(begin, text.encode())
        os.close(begin)
        os.dup2(end, 0)
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(end)


@contextmanager
def _own_warnings_and_log():
    """Undo what `main` sets for its process, and let it log to standard error, as without pytest."""
    root, filters = logging.getLogger(), warnings.filters[:]
    handlers, root.handlers = root.handlers, []
    try:
        # With options for warnings, it leaves them as they are: errors, as in all tests.
        with patch.object(sys, "warnoptions", ["error"]):
            yield
    finally:
        root.handlers, warnings.filters[:] = handlers, filters


def in_a_process(arguments, environment, **options):
    """Run a command as a user does: for what only a process of its own can show."""
    given = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": 120, "check": False}
    command = [sys.executable, "-m", "ses", *map(str, arguments)]
    return subprocess.run(command, env={**os.environ, **PLAIN, **environment}, **(given | options))


def fails(done, code, *parts):
    """Check that a command failed with a code, and said so in plain words alone."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    for part in parts:
        assert part in " ".join(done.stderr.split()), done.stderr
