"""All layouts. A new one needs one file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from corpora.errors import InputError
from encoders.layouts import (
    adapterhub,
    biencoders,
    composed,
    experts,
    exported,
    huggingface,
    pals,
    scirepeval,
    shared_codes,
    unipr,
)
from encoders.layouts.own_card import CARD_FILE, COMPOSED, read_own, with_own_card
from encoders.models.model import Find, Model


@dataclass(frozen=True, slots=True)
class Layout:
    """A way to store models on disk.

    Attributes:
        recognizes: Whether a path is such a folder or file.
        read: Reads it, under a name; finds the models that it is made of, if it is.
        settings: Of its own that a `ses_card.json` may have for it, beside those that every model's may.
    """

    recognizes: Callable[[Path], bool]
    read: Callable[[Path, str, Find], Model]
    settings: tuple[str, ...] = ()


LAYOUTS: tuple[Layout, ...] = (
    Layout(composed.recognizes, composed.read, ("members", "combine")),
    Layout(exported.recognizes, exported.read),
    Layout(adapterhub.recognizes, adapterhub.read, ("base", "adapters", "fusions")),
    Layout(scirepeval.recognizes, scirepeval.read, ("base",)),
    Layout(shared_codes.recognizes, shared_codes.read, ("base",)),
    Layout(pals.recognizes, pals.read, ("tasks",)),
    Layout(experts.recognizes, experts.read, ("experts",)),
    Layout(biencoders.recognizes, biencoders.read, ("experts", "instructions")),
    Layout(unipr.recognizes, unipr.read, ("base", "instructions", "instructor")),
    Layout(huggingface.recognizes, huggingface.read),
)
"""The first that recognizes a path reads it."""


def read_model(path: Path, name: str, find: Find) -> Model:
    """Read a model folder or checkpoint.

    Args:
        path: Where it is.
        name: What to call it.
        find: Finds the models that it is made of, if it is.

    Returns:
        The model, with what a `ses_card.json` beside it sets.

    Raises:
        InputError: If it is no model, or damaged.
    """
    for layout in LAYOUTS:
        if layout.recognizes(path):
            model = layout.read(path, name, find)
            folder = path if path.is_dir() else path.parent
            _check_settings(folder, layout, model)
            return replace(model, card=with_own_card(model.card, folder))
    raise InputError(f"{path} is not a model: it holds no config.json, ses_card.json or checkpoint that ses can read.")


def _check_settings(folder: Path, layout: Layout, model: Model) -> None:
    """Check that every setting of a folder's own card is used."""
    own, path = read_own(folder), folder / CARD_FILE
    asked = own.pop("architecture", model.card.architecture)
    # Adapters with fusions are fusion, whichever of the two a card asks for.
    if asked not in (model.card.architecture, "adapters" if model.card.architecture == "fusion" else None):
        known = "adapters, fusion, experts, instructions, instruction-encoder, shared-codes, ensemble, routes"
        raise InputError(f"{path} asks for the architecture {asked!r}; it may ask for one of {known}.")
    if surplus := sorted(set(own) & set(COMPOSED) - set(layout.settings)):
        raise InputError(
            f"{path} sets {', '.join(surplus)}, which a model of the architecture {model.card.architecture} does not "
            "have; take that out, or name another architecture (docs/encoders.md)."
        )
