"""The provenance of a report's numbers: what is needed to reproduce them, or to see why they differ."""

from __future__ import annotations

import platform
import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from corpora.checksums import data_hash
from corpora.installed import installed_version
from corpora.outgoing import in_a_line
from encoders.models.card import ModelCard
from eval.reports.tables import TextTable

PACKAGES = (
    *("ses", "numpy", "scipy", "scikit-learn", "ir-measures", "pytrec-eval-terrier", "rank-bm25", "matplotlib"),
    *("onnxruntime", "openvino", "torch", "tokenizers", "tantivy", "faiss-cpu", "opensearch-py", "elasticsearch8"),
    *("elasticsearch9", "mteb"),
)
"""Packages that may change a number; the installed ones are listed."""

_USERINFO = re.compile(r"(?<=://).*@", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a report was made.

    Attributes:
        command: The command as typed, without the user and password of its URLs.
        date: Date and time in UTC, to the second.
        data: SHA-256 of each file or folder that was read, by its path.
        models: Fingerprint of each model by name; empty where vectors or runs came from files that don't tell.
        engine: Name and version of the search engine; empty if none was used.
        runtime: The model's runtime, such as `onnx-int8`.
        python: Version of Python.
        platform: Operating system and processor.
        packages: Version of each package by name.
        settings: Other settings, such as the seed.
    """

    command: str
    date: str
    data: Mapping[str, str]
    models: Mapping[str, str]
    engine: str
    runtime: str
    python: str
    platform: str
    packages: Mapping[str, str]
    settings: Mapping[str, str]

    def table(self) -> TextTable:
        """Return it as a table; items that don't apply say so."""
        rows = [
            ("command", self.command),
            ("date", self.date),
            *((f"model {name}", f"fingerprint {fingerprint}") for name, fingerprint in self.models.items()),
            *([] if self.models else [("model", "none: the input doesn't tell")]),
            ("runtime", self.runtime or "none: nothing was encoded"),
            ("engine", self.engine or "none: nothing was searched"),
            *((f"data {path}", f"SHA-256 {digest}") for path, digest in self.data.items()),
            *self.settings.items(),
            ("Python", f"{self.python}, {self.platform}"),
            ("packages", ", ".join(f"{name} {number}" for name, number in self.packages.items())),
        ]
        return TextTable("How this was made", ("what", "value"), tuple(rows), text_columns=2)


def gather_provenance(
    *,
    data: Iterable[Path] = (),
    cards: Iterable[ModelCard] = (),
    engine: str = "",
    runtime: str = "",
    settings: Mapping[str, str] | None = None,
    command: Sequence[str] | None = None,
) -> Provenance:
    """Collect how the current numbers were made; `InputError` if data can't be read.

    `data` are the files and folders that were read, `cards` those of the models that made vectors, `engine` the name
    and version of the search engine as `Engine.diagnose` returns them, and `command` the words of the command, by
    default those this process was started with.
    """
    words = ["ses", *sys.argv[1:]] if command is None else command
    return Provenance(
        # An engine's URL may contain a password, and reports are shared.
        command=in_a_line(shlex.join(_USERINFO.sub("***@", word) for word in words)),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
        data={in_a_line(str(path)): data_hash(path) for path in data},
        models={card.name: card.fingerprint for card in cards},
        engine=engine,
        runtime=runtime,
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        packages={name: number for name in PACKAGES if (number := installed_version(name))},
        settings=dict(settings or {}),
    )
