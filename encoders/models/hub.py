"""Files from the Hugging Face hub, of a pinned commit where one is known, and from its cache without a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from corpora.errors import InputError, UnavailableError
from encoders.models.hub_lock import check_same, commit_of

PINNED = {
    "allenai/specter2_base": "3447645e1def9117997203454fa4495937bfbd83",
    "allenai/specter2": "2081559630a80fc5851d8f798a05ba81e9468089",
    "allenai/specter2_adhoc_query": "3f4448817028388648a74349ece07af4518ec5bd",
    "malteos/scincl": "ebc5348d184ba2fc9beee69b4e394263fce57b2e",
    "sentence-transformers/all-MiniLM-L6-v2": "1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
}
"""Commits of repositories that ses knows; a commit fixes the content of every file. Others are those first used."""


def is_hub_id(name: str) -> bool:
    """Return whether a name looks like `org/model` or `org/model@revision`."""
    return name.count("/") == 1 and not name.startswith((".", "~", "/"))


def fetch(hub_id: str, patterns: Sequence[str], hint: str = "") -> Path:
    """Fetch some files of a repository on the hub.

    Without a revision, the commit is the pinned one, else that of the first use on this machine.

    Args:
        hub_id: `org/model` or `org/model@revision`.
        patterns: Of the files' names.
        hint: A command that gets them otherwise, if there is one.

    Returns:
        A folder that holds them, in the hub's cache.

    Raises:
        InputError: If the id is none, or the files are not those of the first use.
        UnavailableError: If the hub can't be reached and they are not in its cache, or there is no such repository.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    repository, _, revision = hub_id.partition("@")
    if repository != repository.strip():  # which older versions of the library let through
        raise _no_id(hub_id)
    chosen = revision or PINNED.get(repository) or commit_of(hub_id)
    try:
        folder = Path(snapshot_download(repository, revision=chosen or None, allow_patterns=list(patterns)))
    except HFValidationError as error:
        raise _no_id(hub_id) from error
    except Exception as error:
        # Besides OSError, what the hub's HTTP library raises on a broken connection; its versions differ in that.
        advice = f"run `{hint}`" if hint else "check the name and the network, or give <model> a local folder"
        raise UnavailableError(f"The model {hub_id} can't be fetched from the hub", advice) from error
    held = (path for pattern in patterns for path in folder.rglob(pattern) if path.is_file())
    check_same(hub_id, folder, sorted({path.relative_to(folder).as_posix() for path in held}))
    return folder


def _no_id(hub_id: str) -> InputError:
    return InputError(f"{hub_id!r} is not a hub id; one looks like allenai/specter2_base.")
