"""The products. A line here makes `library.NAME`, `ses NAME` and `/v1/NAME` of the folder `products/NAME`.

Each is a file in the folder, and is imported when it is used: `api.py` with the function `room`, which returns what the
library holds; `command.py` with a click command; and `routes.py` with a `router`, where the service offers the product.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Generic, TypeVar, cast

if TYPE_CHECKING:
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

    @property
    def _parts(self) -> LibraryParts:
        """What products use of this library."""
        raise NotImplementedError


def products() -> list[LibraryProduct[object]]:
    """Return all products."""
    return [one for one in vars(Products).values() if isinstance(one, LibraryProduct)]


def product_commands() -> dict[str, tuple[str, str]]:
    """Return where each product's command is, and the beginning of its help, by name."""
    return {one.command: (f"products.{one.name}.command:{one.command}", one.summary) for one in products()}


def product_routers() -> Iterator[str]:
    """Yield where the routes are of each product that has some."""
    for one in products():
        module = f"products.{one.name}.routes"
        if find_spec(module):
            yield f"{module}:router"
