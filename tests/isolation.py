"""Keeps what a developer has set and stored away from the tests, and from the processes that they start."""

from __future__ import annotations

import os
import signal
from pathlib import Path

ROOT = Path(__file__).parents[1]

KEPT = ("SES_TEST_", "SES_REQUIRE_LANES")
"""The settings that are meant for the tests."""

PREFIXES = ("SES_", "HF_", "HUGGING", "XDG_", "HYPOTHESIS_", "LANGCHAIN_", "LANGSMITH_")
"""Of variables that hold settings, tokens and folders."""

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "NETRC", "MPLCONFIGDIR", "NO_COLOR", "FORCE_COLOR")
"""Other variables that change what ses does or prints."""

FILES = ("SES_TEST_DATA", "SES_TEST_CA", "SES_TEST_CHROMIUM", "SES_TEST_ENGINE_COMMAND")
"""Variables that hold a path, which may be relative to where pytest began."""

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
"""How many threads libraries start; one is enough for tiny inputs, since pytest's workers already fill the machine."""


def isolate(home: Path) -> None:
    """Clean the environment, which every subprocess inherits, and point the user's folders into `home`.

    Args:
        home: An empty folder; `home / "work"` is made to be the working directory, where `ses.toml` would be read.
    """
    for name in list(os.environ):
        # As settings are read, in any case.
        plain = name.upper()
        if (plain.startswith(PREFIXES) or plain in NAMES) and not plain.startswith(KEPT):
            del os.environ[name]
    for name in filter(os.environ.get, FILES):
        os.environ[name] = str(Path(os.environ[name]).absolute())
    for name in ("HOME", "USERPROFILE"):
        os.environ[name] = str(home)
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "APPDATA", "LOCALAPPDATA"):
        os.environ[name] = str(home / name.lower())
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ.update(dict.fromkeys(THREADS, "1"))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # A script that starts the tests in the background has SIGINT ignored, and every subprocess would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    (home / "work").mkdir()
