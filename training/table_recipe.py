"""Recipes of tables for queries: `trains = "query-table"`. They have keys of their own, since no network is trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError

from corpora.cleaning import text_of
from corpora.documents import read_toml
from corpora.errors import InputError
from training.data.guard import make_guard, read_papers
from training.query_table import TableSettings, TableWorth, texts_of, train_table
from training.strict import Strict, ended, nearest

if TYPE_CHECKING:
    from encoders.models.model import Model
    from encoders.text_encoder import TextEncoder
    from training.preparing import Say

QUERY_TABLE = "query-table"


class TableRecipe(Strict):
    """Everything that decides which table is trained; see `training.query_table.TableSettings`.

    Attributes:
        base: The model that the table stands in for: a name, a folder or a hub id.
        trains: `query-table`.
        papers: Files of papers, JSON lines, relative to the recipe.
        guard: Evaluation data whose titles are refused, in addition to the papers that the suites test on.
        texts: Most texts to learn from.
        bytes_a_token: Most bytes of a row.
        batch_size: Texts of a step.
        epochs: Passes over the texts.
        learning_rate: Rate of the first step.
        seed: Seed of everything drawn at random.
    """

    base: str
    trains: Literal["query-table"]
    papers: tuple[Path, ...] = Field(min_length=1)
    guard: tuple[Path, ...] = ()
    texts: int = Field(default=TableSettings.texts, ge=1)
    bytes_a_token: int = Field(default=TableSettings.bytes_a_token, ge=1)
    batch_size: int = Field(default=TableSettings.batch_size, ge=1)
    epochs: int = Field(default=TableSettings.epochs, ge=1)
    learning_rate: float = Field(default=TableSettings.learning_rate, gt=0)
    seed: int = TableSettings.seed

    @property
    def settings(self) -> TableSettings:
        """How the table is trained."""
        return TableSettings(**{one.name: getattr(self, one.name) for one in fields(TableSettings)})


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
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        unknown = f"the key {key} is unknown; {nearest(key, TableRecipe.model_fields)}"
        said = unknown if first["type"] == "extra_forbidden" else f"{key} is not valid: {first['msg']}"
        raise InputError(ended(f"The recipe {path}: {said}")) from error
    folder = data or path.parent
    named = {key: tuple(folder / one for one in getattr(recipe, key)) for key in ("papers", "guard")}
    if missing := next((one for one in (*named["papers"], *named["guard"]) if not one.exists()), None):
        raise InputError(f"The recipe {path} names {missing}, and there is no such file or folder.")
    return recipe.model_copy(update=named)


def run_table_recipe(recipe: TableRecipe, model: Model, encoder: TextEncoder, folder: Path, say: Say) -> TableWorth:
    """Train the table of a recipe into a folder, and measure what it loses; errors as of `train_table`."""
    texts = texts_of(_papers(recipe), recipe.texts, recipe.seed)
    return train_table(encoder, model.folder, texts, folder, recipe.settings, say=say)


def _papers(recipe: TableRecipe) -> Iterator[tuple[str, str]]:
    for record in read_papers(recipe.papers, make_guard(recipe.guard), Counter()):
        yield text_of(record.get("title")), text_of(record.get("abstract"))
