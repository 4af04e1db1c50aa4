"""All layouts. A new one needs one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any

from corpora.documents import LARGEST
from corpora.errors import InputError
from encoders.layouts.own_card import CARD_FILE, COMPOSED, read_own, with_own_card
from encoders.models.model import Find, Model


@dataclass(frozen=True, slots=True)
class Layout:
    """A way to store models on disk.

    Its module is imported when a path may be such a model. The module's function `read` takes the path, the model's
    name and a function that finds the models it is made of, and returns the model. It raises `InputError` if files are
    missing, damaged or don't go together, and `UnavailableError` if something can't be fetched.

    Attributes:
        module: The name of its module in this package.
        architectures: Architectures in a `ses_card.json` that make a folder such a model.
        files: Patterns of files of such a model; where one is there, the module's function `recognizes` decides.
        marks: Words by file, for files that other layouts have too: `recognizes` decides if the file holds one of them.
        settings: Its own settings in a `ses_card.json`, beside those of all models.
    """

    module: str
    architectures: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    settings: tuple[str, ...] = ()

    def recognizes(self, path: Path, architecture: str | None) -> bool:
        """Return whether a path is such a model, given the architecture that its own card names, if it names one."""
        if architecture in self.architectures:
            return True
        held = (path.match(pattern) if path.is_file() else any(path.glob(pattern)) for pattern in self.files)
        marked = (_holds(path / file, words) for file, words in self.marks.items())
        return any(chain(held, marked)) and bool(self.imported().recognizes(path))

    def imported(self) -> Any:
        """Return the module."""
        return import_module(f"encoders.layouts.{self.module}")


def _holds(path: Path, words: tuple[str, ...]) -> bool:
    """Return whether a file holds one of some words; if it can't be read, that is for the module to say."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST)
    except OSError:
        return True
    return any(word.encode() in content for word in words)


LAYOUTS: tuple[Layout, ...] = (
    Layout("composed", architectures=("ensemble", "routes"), settings=("members", "combine")),
    Layout("exported", files=("ses_export.json",)),
    Layout(
        "adapterhub",
        architectures=("adapters", "fusion"),
        files=("adapter_config.json",),
        settings=("base", "adapters", "fusions"),
    ),
    Layout("scirepeval", files=("model", "adapters", "*_fusion", "../tokenizer"), settings=("base",)),
    Layout("adapter_folders", files=("*/adapter_config.json", "*/*/adapter_config.json"), settings=("base",)),
    Layout("shared_codes", architectures=("shared-codes",), settings=("base",)),
    Layout("pals", marks={"config.json": ('"mult"', '"houlsby"', '"top"', '"lhuc"')}, settings=("tasks",)),
    Layout("experts", files=(CARD_FILE,), settings=("experts",)),
    Layout("biencoders", files=("*.ckpt",), settings=("experts", "instructions")),
    Layout(
        "unipr", architectures=("instructions", "instruction-encoder"), settings=("base", "instructions", "instructor")
    ),
    Layout("cross_encoders", architectures=("pairs",)),
    Layout(
        "sparse",
        architectures=("sparse",),
        files=("idf.json", "query_token_weights.txt"),
        marks={"modules.json": ("Router", "SpladePooling")},
    ),
    Layout(
        "static",
        architectures=("static",),
        marks={"modules.json": ("StaticEmbedding",), "config.json": ("model2vec",)},
        settings=("stands_in_for",),
    ),
    Layout("huggingface", files=("config.json",)),
)
"""The first that recognizes a path reads it."""


def read_model(path: Path, name: str, find: Find) -> Model:
    """Read a model folder or checkpoint, with what a `ses_card.json` beside it sets; errors as of `Layout`."""
    folder = path if path.is_dir() else path.parent
    architecture = read_own(path).get("architecture") if path.is_dir() else None
    for layout in LAYOUTS:
        if layout.recognizes(path, architecture):
            model: Model = layout.imported().read(path, name, find)
            _check_settings(folder, layout, model)
            return replace(model, card=with_own_card(model.card, folder))
    raise InputError(f"{path} is not a model: it holds no config.json, ses_card.json or checkpoint that ses can read.")


def _check_settings(folder: Path, layout: Layout, model: Model) -> None:
    """Check that every setting of a folder's own card is used."""
    own, path = read_own(folder), folder / CARD_FILE
    named = own.pop("architecture", model.card.architecture)
    # Adapters with fusions are fusion, whichever of the two a card asks for.
    if named not in (model.card.architecture, "adapters" if model.card.architecture == "fusion" else None):
        known = (
            "adapters, fusion, experts, instructions, instruction-encoder, shared-codes, sparse, static, ensemble, "
            "routes"
        )
        raise InputError(f"{path} asks for the architecture {named!r}; it may ask for one of {known}.")
    if surplus := sorted(set(own) & set(COMPOSED) - set(layout.settings)):
        raise InputError(
            f"{path} sets {', '.join(surplus)}, which a model of the architecture {model.card.architecture} does not "
            "have; take that out, or name another architecture (docs/encoders.md)."
        )
