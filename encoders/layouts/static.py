"""Folders of tables, which make a text the mean of its tokens' rows: of ses, sentence-transformers and model2vec.

ses's own have a `ses_card.json` of the architecture `static`, which may say under `stands_in_for` whose vectors the
table imitates: the name of a model, and its fingerprint. So an index that this model made takes the table's queries.
A folder of ses's own without a tokenizer has that of the model.
In sentence-transformers, `modules.json` names the module `StaticEmbedding`, and in model2vec, `config.json` the type.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.checksums import sha256_of, sha256_of_text
from corpora.errors import InputError, require
from corpora.lazy import np
from encoders.architectures.network import Network
from encoders.architectures.registry import STATIC
from encoders.layouts.huggingface import HEAD, read_prompts, read_similarity
from encoders.layouts.own_card import CARD_FILE, read_own
from encoders.layouts.sentence_modules import listed_modules
from encoders.models.card import ModelCard
from encoders.models.folder import inside, read_json
from encoders.models.formats import Format
from encoders.models.model import Find, Model
from encoders.models.weights import SAFETENSORS, read_as_stored, read_shapes

ROWS, CODES, CENTROIDS, WEIGHTS, MAPPING = "rows", "codes", "centroids", "weights", "mapping"
"""Names of the arrays of a table; a mapping gives the row of each token, if several tokens share one."""

NO_UNKNOWN = "without_unknown"
"""Option of a network of rows: the token for unknown words counts for nothing, as in model2vec."""

_MODULE, _NORMALIZE = "StaticEmbedding", "Normalize"
_MODEL2VEC = "model2vec"
_OTHERS = {"embedding.weight": ROWS, "embeddings": ROWS}
"""Names of the rows in files of others."""

_MOST_TOKENS = 1 << 16
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")


def recognizes(path: Path) -> bool:
    """Return whether a folder is one of sentence-transformers or model2vec."""
    if any(one.kind == _MODULE for one in listed_modules(path)[:1]):
        return True
    return bool(read_json(path / "config.json", dict, missing={}).get("model_type") == _MODEL2VEC)


def read(folder: Path, name: str, find: Find) -> Model:
    """Read a model folder; see `Layout`."""
    own = read_own(folder).get("architecture") == STATIC
    place, settings, kinds = folder, dict[str, Any](), set[str]()
    if not own:
        settings, modules = read_json(folder / "config.json", dict, missing={}), listed_modules(folder)
        place, kinds = inside(folder, modules[0].path) if modules else folder, {one.kind for one in modules}
        if unknown := sorted(kinds - {_MODULE, _NORMALIZE}):
            raise InputError(f"{folder} has modules after its table that ses can't run: {', '.join(unknown)}.")
    path = place / SAFETENSORS
    require(path.is_file(), f"{folder} holds no weights: put {SAFETENSORS} there.")
    rows, dimension = _size(path)
    model2vec = settings.get("model_type") == _MODEL2VEC
    normalize = own or bool(settings.get("normalize")) or _NORMALIZE in kinds
    words = _words(place)
    if own and words is None:
        words = _words(_imitated(folder, find).folder)
    card = ModelCard(
        name=name,
        architecture=STATIC,
        family="bert",
        dimension=dimension,
        max_tokens=_MOST_TOKENS,
        similarity=read_similarity(folder) or "cosine",
        separator="",
        empty_parts="dropped",
        lowercase=True,
        licence="",
        prompts=read_prompts(folder),
        heads=dict.fromkeys((Format.QRY,) if own else tuple(Format), HEAD),
        network=_network(rows, dimension, {NO_UNKNOWN: True} if model2vec else {}, normalize=normalize),
        weights_sha256=sha256_of(path),
        settings_sha256=sha256_of_text(sha256_of(words)) if words else "",
        papers_by=stands_in_for(folder)[1] if own else "",
    )
    return Model(card, words.parent if words else place, functools.partial(_arrays, path))


def _words(folder: Path) -> Path | None:
    """Return the file of a folder that describes its tokenizer, None if it has none."""
    return next((folder / name for name in ("tokenizer.json", "vocab.txt") if (folder / name).is_file()), None)


def _imitated(folder: Path, find: Find) -> Model:
    """Return the model that a table imitates; `InputError` if another one has its name."""
    name, fingerprint = stands_in_for(folder)
    found = find(name)
    require(
        found.card.fingerprint == fingerprint,
        f"The table {folder} needs the tokenizer of the model {name} ({fingerprint}), and the model of this name is "
        f"another one ({found.card.fingerprint}); put its tokenizer.json into the folder.",
    )
    return found


def stands_in_for(folder: Path) -> tuple[str, str]:
    """Return the name and the fingerprint of the model whose vectors a table imitates; `InputError` if it says none."""
    given = read_own(folder).get("stands_in_for")
    told = given if isinstance(given, Mapping) else {}
    name, fingerprint = (str(told.get(key, "")) for key in ("model", "fingerprint"))
    if not name or not _FINGERPRINT.fullmatch(fingerprint):
        raise InputError(
            f'{folder / CARD_FILE} must say whose vectors the table imitates, as {{"stands_in_for": {{"model": "NAME", '
            '"fingerprint": "16 hex digits"}}.'
        )
    return name, fingerprint


def _network(rows: int, dimension: int, options: Mapping[str, Any], *, normalize: bool) -> Network:
    return Network(
        layers=0,
        attention_heads=0,
        width=dimension,
        vocabulary=rows,
        positions=_MOST_TOKENS,
        first_position=0,
        epsilon=0.0,
        shared_layers=0,
        pooling="mean",
        normalize=normalize,
        options=options,
    )


def _size(path: Path) -> tuple[int, int]:
    """Return the rows of a table, and the numbers of one; `InputError` if a file holds no table."""
    shapes = {_OTHERS.get(name, name): shape for name, shape in read_shapes(path).items()}
    codes, centroids = shapes.get(CODES, ()), shapes.get(CENTROIDS, ())
    match (*shapes.get(ROWS, ()),):
        case (rows, dimension):
            return rows, dimension
    match (*codes, *centroids):
        case (rows, parts, _, _, numbers):
            return rows, parts * numbers
    raise InputError(f"{path} holds no table: it has neither rows nor codes with centroids; fetch the model again.")


def _arrays(path: Path) -> dict[str, np.ndarray]:
    arrays = {_OTHERS.get(name, name): array for name, array in read_as_stored(path).items()}
    return {name: array for name, array in arrays.items() if name in (ROWS, CODES, CENTROIDS, WEIGHTS, MAPPING)}
