"""Files from the Hugging Face hub, with a pinned revision where one is named, and from its cache without a network."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from corpora.errors import InputError, UnavailableError


def is_hub_id(name: str) -> bool:
    """Return whether a name looks like `org/model` or `org/model@revision`."""
    return name.count("/") == 1 and not name.startswith((".", "~", "/"))


def fetch(hub_id: str, patterns: Sequence[str], hint: str = "") -> Path:
    """Fetch some files of a repository on the hub.

    Args:
        hub_id: `org/model` or `org/model@revision`.
        patterns: Of the files' names.
        hint: A command that gets them otherwise, if there is one.

    Returns:
        A folder that holds them, in the hub's cache.

    Raises:
        InputError: If the id is none.
        UnavailableError: If the hub can't be reached and they are not in its cache, or there is no such repository.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    repository, _, revision = hub_id.partition("@")
    if repository != repository.strip():  # which older versions of the library let through
        raise _no_id(hub_id)
    try:
        return Path(snapshot_download(repository, revision=revision or None, allow_patterns=list(patterns)))
    except HFValidationError as error:
        raise _no_id(hub_id) from error
    except Exception as error:
        # Besides OSError, what the hub's HTTP library raises on a broken connection; its versions differ in that.
        advice = f"run `{hint}`" if hint else "check the name and the network, or give <model> a local folder"
        raise UnavailableError(f"The model {hub_id} can't be fetched from the hub", advice) from error


def _no_id(hub_id: str) -> InputError:
    return InputError(f"{hub_id!r} is not a hub id; one looks like allenai/specter2_base.")
