"""The texts of the web page in other languages; `python -m tests.texts` (`make texts`) brings them up to date.

It reads every text of the templates and of the Python code, adds those that are new to each catalogue without a
translation, and takes away those that are gone. `tests/ses/service/web/test_languages.py` checks that none is missing.
"""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

from ses.service.web.languages import LOCALE

SERVICE = Path(__file__).parents[1] / "ses" / "service"
METHODS = [("**.py", "python"), ("web/templates/*.html", "jinja2")]
OPTIONS = {"web/templates/*.html": {"silent": "false"}}
"""A template that can't be read is an error."""


def extracted() -> Catalog:
    """Return the texts of the current sources, without translations."""
    made = Catalog(project="ses", charset="utf-8")
    for path, _line, text, comments, context in extract_from_dir(
        SERVICE, METHODS, OPTIONS, comment_tags=("Translators:",)
    ):
        made.add(text, locations=[(f"ses/service/{path}", 0)], auto_comments=comments, context=context)
    return made


def catalogue(path: Path) -> Catalog:
    """Return the catalogue of a file, whose name is its language."""
    with path.open("rb") as file:
        return read_po(file, locale=path.stem)


def update(path: Path, texts: Catalog) -> list[str]:
    """Bring a catalogue up to date; return the texts that it does not translate."""
    held = catalogue(path)
    held.update(texts, no_fuzzy_matching=True, update_header_comment=False, update_creation_date=False)
    held.obsolete.clear()
    written = BytesIO()
    write_po(written, held, width=0, omit_header=False, no_location=True, sort_output=True, ignore_obsolete=True)
    # Without the version of Babel, which would change the file on other machines.
    lines = [line for line in written.getvalue().splitlines(keepends=True) if not line.startswith(b'"Generated-By:')]
    path.write_bytes(b"".join(lines))
    return [str(one.id) for one in held if one.id and not (all(one.string) if one.pluralizable else one.string)]


def main() -> None:
    """Bring every catalogue up to date, and print what is left to translate."""
    texts = extracted()
    for path in sorted(LOCALE.glob("*.po")):
        missing = update(path, texts)
        sys.stdout.writelines(
            [f"{path.stem}: {len(texts)} texts, {len(missing)} to translate\n", *(f"  {one}\n" for one in missing)]
        )


if __name__ == "__main__":
    main()
