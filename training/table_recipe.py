"""Recipes of tables for queries: `trains = "query-table"`. They have keys of their own, since no network is trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError

from corpora.cleaning import text_of
from corpora.documents import read_toml
from corpora.errors import InputError
from training.data.guard import make_guard, read_papers
from training.query_table import TableLoss, TableSettings, texts_of, train_table
from training.strict import ended, explained

if TYPE_CHECKING:
    from encoders.models.model import Model
    from encoders.text_encoder import TextEncoder
    from training.preparing import Say

QUERY_TABLE = "query-table"


class TableRecipe(TableSettings):
    """Everything that decides which table is trained.

    Attributes:
        base: The model that the table stands in for: a name, a folder or a hub id.
        trains: `query-table`.
        papers: Files of papers, JSON lines, relative to the recipe.
        guard: Evaluation data whose titles are refused, in addition to the papers that the suites test on.
    """

    base: str
    trains: Literal["query-table"]
    papers: tuple[Path, ...] = Field(min_length=1)
    guard: tuple[Path, ...] = ()


def read_table_recipe(path: Path, data: Path | None = None) -> TableRecipe | None:
    """Return the recipe of a table, with absolute paths; None if a file is another recipe.

    Paths in it are relative to `data`, or to the recipe. Raises `InputError` if a key is wrong, or a file is missing.
    """
    try:
        content: Mapping[str, Any] = read_toml(path) if path.suffix == ".toml" else {}
    except (OSError, ValueError) as error:
        raise InputError(f"The recipe {path} can't be read ({error}); correct it.") from error
    if content.get("trains") != QUERY_TABLE:
        return None
    try:
        recipe = TableRecipe.model_validate(content)
    except ValidationError as error:
        raise InputError(ended(f"The recipe {path}: {explained(error, {}, TableRecipe)}")) from error
    folder = data or path.parent
    named = {key: tuple(folder / one for one in getattr(recipe, key)) for key in ("papers", "guard")}
    if missing := next((one for one in (*named["papers"], *named["guard"]) if not one.exists()), None):
        raise InputError(f"The recipe {path} names {missing}, and there is no such file or folder.")
    return recipe.model_copy(update=named)


def run_table_recipe(recipe: TableRecipe, model: Model, encoder: TextEncoder, folder: Path, say: Say) -> TableLoss:
    """Train the table of a recipe into a folder, and measure what it loses; errors as of `train_table`."""
    texts = texts_of(_papers(recipe), recipe.texts, recipe.seed)
    return train_table(encoder, model.folder, texts, folder, recipe, say=say)


def _papers(recipe: TableRecipe) -> Iterator[tuple[str, str]]:
    for record in read_papers(recipe.papers, make_guard(recipe.guard), Counter()):
        yield text_of(record.get("title")), text_of(record.get("abstract"))
