"""Whether a tokenizer of somebody else can be used: its patterns may take time or memory without end.

What makes texts longer is limited by its description. How long a regular expression takes is tried once, in a process
of its own (`encoders.tokens.trial`); most tokenizers have none, and are not tried.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from corpora.errors import InputError, require
from corpora.installed import installed_version
from corpora.lazy import orjson

_MOST_GROWTH = 4096
"""How many times as long all steps together may make a text; published tokenizers reach 36, by NFKC."""

_MOST_ADDED = 1 << 28
"""Characters of all added tokens after these steps, through which some of them go when the file is loaded."""

_DECOMPOSED = 18  # characters of U+FDFA
_SECONDS = 60
_TRUSTED = "fetch the model from a source you trust"
_TRIAL = Path(__file__).with_name("trial.py")


def check_description(path: Path, cache_dir: Path | None) -> None:
    """Refuse a `tokenizer.json` that makes texts much longer, or whose regular expressions take too long.

    That the expressions were tried is remembered in `cache_dir` by the file's content; nowhere if None. Raises
    `InputError` if the file can't be used.
    """
    described = _described(path)
    steps = _steps(described.get("normalizer"), described.get("pre_tokenizer"))
    growth = math.prod(map(_growth, steps))
    added = len(str(described.get("added_tokens", "")))
    require(
        growth <= _MOST_GROWTH and growth * added <= _MOST_ADDED,
        f"The tokenizer {path} can make texts so long that they take all memory",
        _TRUSTED,
    )
    found = [one["pattern"] for one in steps if isinstance(one.get("pattern"), dict)]
    if patterns := [str(pattern["Regex"]) for pattern in found if "Regex" in pattern]:
        _try_once(path, patterns, cache_dir)


def _described(path: Path) -> Mapping[str, Any]:
    try:
        # Every start reads this file, and json takes ten times as long.
        described: dict[str, Any] = orjson.loads(path.read_bytes())
    except (ValueError, OSError) as error:
        raise InputError(f"The tokenizer {path} can't be read ({error}); fetch the model again.") from error
    require(isinstance(described, dict), f"The tokenizer {path} can't be read; fetch the model again.")
    return described


def _try_once(path: Path, patterns: Sequence[str], cache_dir: Path | None) -> None:
    """Refuse a file that fails in a trial, unless the trial of such a file is remembered."""
    with path.open("rb") as file:
        known = f"{hashlib.file_digest(file, 'sha256').hexdigest()}-{installed_version('tokenizers')}"
    passed = cache_dir / "tokenizers" / known if cache_dir else None
    if passed and passed.exists():
        return
    with TemporaryDirectory() as folder:
        listed = Path(folder, "patterns.json")
        listed.write_text(json.dumps(list(patterns)), encoding="utf-8")
        # Not -m: a folder of the user could have a package of the same name.
        command = [sys.executable, "-P", str(_TRIAL), str(path.resolve()), str(listed)]
        try:
            done = subprocess.run(  # noqa: S603 - paths only
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_SECONDS,
                check=False,
                env={**os.environ, "TOKENIZERS_PARALLELISM": "false"},
            )
            said = done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"]
            failed, why = done.returncode != 0, said[-1][:200]
        except subprocess.TimeoutExpired:
            failed, why = True, f"it takes longer than {_SECONDS} s"
    require(not failed, f"The tokenizer {path} fails on texts that are hard for its patterns ({why})", _TRUSTED)
    if passed:
        with suppress(OSError):
            passed.parent.mkdir(parents=True, exist_ok=True)
            passed.touch()


def _steps(*given: Any) -> list[Mapping[str, Any]]:
    """Return the steps of normalizers and pre-tokenizers, also those within sequences."""
    waiting, found = list(given), list[Mapping[str, Any]]()
    while waiting:
        step = waiting.pop()
        if isinstance(step, dict):
            found.append(step)
            inner = (step.get(key) for key in ("normalizers", "pretokenizers"))
            waiting += [one for part in inner if isinstance(part, list) for one in part]
    return found


def _growth(step: Mapping[str, Any]) -> float:
    """Return how many times as long a step can make a text."""
    kind, pattern, content = step.get("type"), step.get("pattern"), step.get("content")
    if kind == "Replace" and isinstance(content, str) and content:
        literal = pattern.get("String") if isinstance(pattern, dict) else None
        # An expression can match the empty text before each character.
        return max(1.0, len(content) / len(literal)) if isinstance(literal, str) and literal else 1.0 + len(content)
    if kind == "Prepend":
        return max(1.0, len(str(step.get("prepend"))))
    if kind == "Precompiled":
        return _longest_replacement(step.get("precompiled_charsmap"))
    return {"ByteLevel": 2.0, "NFKC": _DECOMPOSED, "NFKD": _DECOMPOSED}.get(str(kind), 1.0)


def _longest_replacement(charsmap: Any) -> float:
    """Return the length of the longest replacement in a map of sentencepiece: a trie, and texts that end in zeros."""
    try:
        content = base64.b64decode(charsmap or "")
    except (binascii.Error, ValueError, TypeError):
        return 1.0  # the library refuses it
    replacements = content[4 + int.from_bytes(content[:4], "little") :].split(b"\0")
    return float(max(1, *(len(one.decode(errors="replace")) for one in replacements)))
