"""From the name a user gives to a model folder on disk: an installed package, a local folder or a hub id."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from corpora.errors import InputError, require
from encoders.layouts.registry import read_model
from encoders.layouts.sentence_modules import DENSE_FILES
from encoders.models.formats import Format
from encoders.models.hub import cached, fetch, is_hub_id
from encoders.models.known import KNOWN_MODELS, KnownModel
from encoders.models.model import Model
from encoders.models.weights import SAFETENSORS, TORCH, weights_file

DEFAULT_MODEL = "ses-minilm"

_SETS = {known.adapters[Format.PRX]: name for name, known in KNOWN_MODELS.items() if known.adapters}
"""Sets of adapters by the hub id of the first of them, by which people call the whole: `allenai/specter2`."""


def find_model(name: str) -> Model:
    """Find a model and check its weights.

    Args:
        name: A key of `KNOWN_MODELS`, the path of a folder, or a hub id, `org/model` or `org/model@revision`;
            `allenai/specter2` is SPECTER2 with its base and all its adapters.

    Returns:
        The folder and what it declares.

    Raises:
        InputError: If the folder is no model, or known weights have another SHA-256 than published.
        UnavailableError: If the model can't be fetched.
    """
    return _find(name, (), None)


def is_here(name: str) -> bool:
    """Return whether a known model's files are on this machine; the hub is not asked."""
    known = KNOWN_MODELS[name]
    if _packaged(known):
        return True
    parts = (cached(adapter, "adapter_config.json") for adapter in known.adapters.values())
    return cached(known.hub_id) is not None and all(parts)


def _find(name: str, within: tuple[Path, ...], fetched: Path | None) -> Model:
    """Find a model that is a part of those in some folders, of which one was fetched, or none."""
    name = _SETS.get(name, name)
    known = KNOWN_MODELS.get(name)
    if known:
        folder = _packaged(known) or fetch_model(known.hub_id, hint=known.install)
    elif local := local_folder(name):
        if fetched and not local.is_relative_to(fetched.resolve()):
            raise InputError(f"{fetched} was fetched from the hub and names {name!r} on this machine; don't trust it.")
        # By its whole path, since an index keeps the name and may be searched from another folder.
        folder, name = local, str(local)
    elif is_hub_id(name):
        folder = fetched = fetch_model(name)
    else:
        raise InputError(
            f"There is no model {name!r}: give one of {', '.join(KNOWN_MODELS)}, the folder of a BERT-family model, "
            "or a hub id such as allenai/specter2_base."
        )
    require(folder not in within, f"{folder} is made of itself; correct its ses_card.json.")
    # The base of adapters is found again by its own name, not by the name of the whole.
    own = known.hub_id if known and known.adapters else name
    model = read_model(folder, own, lambda part: _find(part, (*within, folder), fetched))
    if not known:
        return model
    if known.sha256 and model.card.weights_sha256 != known.sha256:
        raise InputError(
            f"{weights_file(folder)} is not the published {name}: its SHA-256 is {model.card.weights_sha256}, "
            f"not {known.sha256}; fetch it again."
        )
    if known.adapters:
        from encoders.layouts.adapter_kinds import FILES
        from encoders.layouts.adapterhub import compose

        folders = {task_format: fetch(hub_id, FILES) for task_format, hub_id in known.adapters.items()}
        model = compose(name, model, folders, {})
    return replace(model, card=known.completed(model.card, folder))


def local_folder(name: str) -> Path | None:
    """Return the whole path of the folder or checkpoint that a name names on this machine, None if it names none."""
    try:
        folder = Path(name).expanduser()
        return (
            folder.resolve() if name and (folder.is_dir() or (folder.suffix == ".ckpt" and folder.is_file())) else None
        )
    except (OSError, RuntimeError, ValueError):  # a name too long, an unknown ~user, a null byte
        return None


def _packaged(known: KnownModel) -> Path | None:
    from importlib.util import find_spec

    # The package is only looked at, never imported: its code is not needed to read its files.
    spec = find_spec(known.package) if known.package else None
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0]) / "model"
    return folder if folder.is_dir() else None


def fetch_model(hub_id: str, hint: str = "") -> Path:
    """Fetch the files of a model from the hub; `hint` and errors as of `encoders.models.hub.fetch`."""
    from encoders.layouts.adapter_kinds import FILES

    described = ["*.json", "vocab.txt", "merges.txt", "*.model"]  # the last of sentencepiece, to tell what is missing
    # Sparse models have further files.
    described += ["query_token_weights.txt", f"query_*/{SAFETENSORS}", f"document_*/{SAFETENSORS}"]
    described += [f"*/{file}" for file in FILES]  # of adapters in folders of their own
    folder = fetch(hub_id, [*described, *DENSE_FILES, SAFETENSORS], hint)
    return folder if (folder / SAFETENSORS).exists() else fetch(hub_id, [*described, *DENSE_FILES, TORCH], hint)
