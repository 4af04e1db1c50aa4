"""The products. A line here makes `library.NAME`, `ses NAME` and `/v1/NAME` of the folder `products/NAME`.

Each is a file in the folder, and is imported when it is used: `api.py` with the function `room`, which returns what the
library holds; `command.py` with a click command; and `routes.py` with a `router`, where the service offers the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Generic, TypeVar, cast

if TYPE_CHECKING:
    from products.feeds.api import Feeds
    from products.forecasts.api import Forecasts
    from products.reviewers.api import Reviewers
    from products.screening.api import Screening
    from products.tags.api import Tags
    from ses.library_parts import LibraryParts

T = TypeVar("T")


class LibraryProduct(Generic[T]):
    """A product, and the attribute of a library that holds it.

    Args:
        summary: What its command does: the beginning of the help.
        command: Name of its command; that of the product if empty.
    """

    def __init__(self, summary: str, command: str = "") -> None:
        self.summary, self.command = summary, command
        self.__doc__ = summary

    def __set_name__(self, owner: type, name: str) -> None:
        self.name, self.command = name, self.command or name

    def __get__(self, library: Products | None, owner: type) -> T:
        """Return what a library holds of the product; of the class, this description."""
        if library is None:
            return cast("T", self)
        return cast("T", import_module(f"products.{self.name}.api").room(library._parts))


class Products:
    """The products of a library, by name."""

    tags: LibraryProduct[Tags] = LibraryProduct("Tag papers by linear models on their vectors: train, apply, measure.")
    forecasts: LibraryProduct[Forecasts] = LibraryProduct("Forecast citations from vectors: train, apply, measure.")
    feeds: LibraryProduct[Feeds] = LibraryProduct(
        "Recommend new papers by what a reader likes, or by a saved query.", command="feed"
    )
    screening: LibraryProduct[Screening] = LibraryProduct(
        "Screen the papers of a systematic review, the most relevant first.", command="screen"
    )
    reviewers: LibraryProduct[Reviewers] = LibraryProduct("Find reviewers for submissions.")

    @property
    def _parts(self) -> LibraryParts:
        """What products use of this library."""
        raise NotImplementedError


class FunctionProducts:
    """Products that are functions of `ses`, of a library or of an index, by name."""

    authors = LibraryProduct[None]("Group papers under one name by author.")
    maps = LibraryProduct[None]("Place the papers of a search by meaning, with topics.")
    support = LibraryProduct[None]("Find papers with sentences near in meaning to a sentence.")
    topics = LibraryProduct[None]("Cluster the papers of an index into topics.")


def products() -> list[LibraryProduct[object]]:
    """Return all products."""
    held = [*vars(Products).values(), *vars(FunctionProducts).values()]
    return [one for one in held if isinstance(one, LibraryProduct)]


def product_commands() -> dict[str, tuple[str, str]]:
    """Return where each product's command is, and the beginning of its help, by name."""
    return {one.command: (f"products.{one.name}.command:{one.command}", one.summary) for one in products()}


def product_routers() -> Iterator[tuple[str, str]]:
    """Yield the name of each product that has routes, and where these are."""
    for one in products():
        if files("products").joinpath(one.name, "routes.py").is_file():
            yield one.name, f"products.{one.name}.routes:router"
