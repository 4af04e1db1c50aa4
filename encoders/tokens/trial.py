"""Read a text that is hard for each pattern of a tokenizer, in this process, with limits of time and memory.

`encoders.tokens.checking` runs it as a program, so it imports nothing of ses, whose folder may not be on its path.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_LENGTH = 2000
_EVERYDAY = ("a", "Z", "0", " ", "\n", "-", "\u00e9", "\u4e2d", "A word, 12 numbers. ")
_UNUSUAL = "\u2603"  # ends a run, so that a pattern for runs fails at the end of each, and tries all shorter ones
_MEMORY, _SECONDS = 4 << 30, 20


def texts_for(patterns: list[str]) -> Iterator[str]:
    """Give long runs of what the patterns name, and of everyday characters."""
    written = "".join(patterns)
    for part in dict.fromkeys([*_EVERYDAY, *written, *re.findall(r"\w+", written)]):
        yield part * (_LENGTH // len(part) + 1) + _UNUSUAL


def main(path: str, patterns: list[str]) -> None:
    """Read the texts with the tokenizer of a file."""
    try:
        import resource
    except ImportError:  # Windows; the caller limits the time
        pass
    else:
        for kind, most in ((resource.RLIMIT_CPU, _SECONDS), (resource.RLIMIT_AS, _MEMORY)):
            _, hard = resource.getrlimit(kind)
            with suppress(ValueError, OSError):  # macOS does not limit memory so
                resource.setrlimit(kind, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_padding()
    for text in texts_for(patterns):
        tokenizer.encode(text)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8")))
