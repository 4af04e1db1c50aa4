"""Reads variants: several recipes in one file, each with some keys of its own.

    [[variants]]
    name = "last-layers"
    trains = "last"
    options = {layers = 2}
    each_task = {objective = "contrastive"}

A key of a variant replaces the recipe's key completely; the keys in `each_task` replace those of every task.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corpora.errors import InputError
from training.recipe import Recipe, make_recipe, read_content
from training.strict import ended, nearest
from training.train import MODEL

_VARIANT = "variant:"
_NAME, _EACH_TASK = "name", "each_task"
_KEYS = (_NAME, _EACH_TASK, *Recipe.model_fields)


def read_variants(path: Path, names: Sequence[str] = (), data: Path | None = None) -> dict[str, Recipe]:
    """Read a recipe file.

    Args:
        path: A TOML file.
        names: The variants to read; if none, all.
        data: Folder that the paths in it are relative to; if none, the recipe's own.

    Returns:
        The recipes by name, in the order of the file; a file without variants gives one, by the empty name.

    Raises:
        InputError: If the file cannot be read, any variant is wrong, or one that is asked for is missing.
    """
    folder = data or path.parent
    content = read_content(path, folder)
    given = content.pop("variants", None)
    if given is None:
        variants = {"": content}
    else:
        tables: list[Any] = given if isinstance(given, list) and given else [None]
        variants = {_named(path, table): _merged(path, content, table) for table in tables}
        if len(variants) < len(tables):
            raise InputError(f"The recipe {path}: two variants have the same name; name each differently.")
    if unknown := set(names) - set(variants):
        told = ", ".join(name for name in variants if name) or "none"
        raise InputError(f"The recipe {path} has no variant {unknown.pop()!r}; its variants are: {told}.")
    # All variants are checked, even those not asked for, so that mistakes show before the first is trained.
    recipes = {name: _made(path, folder, name, merged) for name, merged in variants.items()}
    return {name: recipe for name, recipe in recipes.items() if not names or name in names}


def _named(path: Path, table: Any) -> str:
    name = table.get(_NAME) if isinstance(table, dict) else None
    # It names a folder.
    if not isinstance(name, str) or not re.fullmatch(r"\w[\w.-]*", name, re.ASCII):
        raise InputError(
            f"The recipe {path}: each of its [[variants]] needs a name of letters, digits, '.', '_' and '-'."
        )
    return name


def _merged(path: Path, content: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    if unknown := next((key for key in table if key not in _KEYS), None):
        told = f"The recipe {path}, variant {table[_NAME]}: the key {unknown} is unknown; {nearest(unknown, _KEYS)}"
        raise InputError(ended(told))
    own = {key: value for key, value in table.items() if key not in {_NAME, _EACH_TASK}}
    merged, each = {**content, **own}, table.get(_EACH_TASK, {})
    if not isinstance(each, dict):
        raise InputError(f"The recipe {path}, variant {table[_NAME]}: each_task is not a table of keys.")
    if isinstance(merged.get("tasks"), list):
        merged["tasks"] = [task | each if isinstance(task, dict) else task for task in merged["tasks"]]
    return merged


def _made(path: Path, folder: Path, name: str, content: Mapping[str, Any]) -> Recipe:
    try:
        return make_recipe(content, path, folder)
    except InputError as error:
        raise InputError(f"The variant {name}: {error.sentence}" if name else error.sentence, error.hint) from error


def started(recipe: Recipe, folder: Path) -> Recipe:
    """Return a variant's recipe with the base that it is trained from.

    Args:
        recipe: Its base may be `variant:NAME`: the model of another variant, such as the adapters that are to be fused.
        folder: Of the runs of all variants.

    Returns:
        The recipe, with the folder of that model as its base.

    Raises:
        InputError: If that variant has no model yet.
    """
    if not recipe.base.startswith(_VARIANT):
        return recipe
    name = recipe.base.removeprefix(_VARIANT)
    model = folder / name / MODEL
    if not model.is_dir():
        raise InputError(f"The recipe starts from the variant {name}, which has no model in {model}; train it first.")
    return recipe.model_copy(update={"base": str(model)})
