"""One invented paper as other programs export it, and the table of the docs of what is read of each.

`python -m tests.corpora.programs` writes the table into docs/guide/corpora.md. The files in `exports` have the forms
that the programs document or write; all values in them are our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.names import parse_name
from corpora.paper import Accepted, Paper
from corpora.publication import PARTS, Publication
from corpora.registry import get_corpus

FOLDER = Path(__file__).parent / "exports"
PAGE = Path(__file__).parents[2] / "docs" / "guide" / "corpora.md"
HEADING = "## Exports of other programs\n"


@dataclass(frozen=True, slots=True)
class Export:
    """A file of a program: what the program calls its format, its reader, and the fields that the format has not."""

    program: str
    form: str
    corpus: str
    file: str
    lacks: tuple[str, ...] = ()

    def papers(self) -> list[Paper]:
        """The papers of the file."""
        records = list(get_corpus(self.corpus).read(FOLDER / self.file, {}))
        assert all(isinstance(one, Accepted) for one in records), records
        return [one.paper for one in records]


NO_ISSN = ("publisher", "issn")
EXPORTS = (
    Export("Cochrane Library", "RIS", "ris", "cochrane-library.ris"),
    Export("Covidence", "CSV", "csv", "covidence.csv", NO_ISSN),
    Export("Crossref", "JSON", "crossref", "crossref.json"),
    Export("Dimensions", "CSV", "csv", "dimensions.csv"),
    Export("EBSCO", "RIS", "ris", "ebsco.ris"),
    Export("EndNote", "Refer", "ris", "endnote.enw"),
    Export("EndNote", "XML", "ris", "endnote.xml"),
    Export("Google Scholar", "BibTeX", "bibtex", "google-scholar.bib", ("abstract", "doi", "issn")),
    Export("Google Scholar", "CSV", "csv", "google-scholar.csv", ("abstract", "doi", "issn")),
    Export("Mendeley", "BibTeX", "bibtex", "mendeley.bib"),
    Export("Mendeley", "RIS", "ris", "mendeley.ris"),
    Export("Ovid", "RIS", "ris", "ovid.ris"),
    Export("PubMed", "CSV", "csv", "pubmed.csv", ("abstract", "given names", *NO_ISSN)),
    Export("PubMed", "PubMed", "ris", "pubmed.nbib", ("publisher",)),
    Export("PubMed", "XML", "pubmed", "pubmed.xml", ("publisher",)),
    Export("Rayyan", "CSV", "csv", "rayyan.csv"),
    Export("Scopus", "CSV", "csv", "scopus.csv"),
    Export("Scopus", "RIS", "ris", "scopus.ris"),
    Export("The Lens", "CSV", "csv", "the-lens.csv", ("family names", "given names")),
    Export("Web of Science", "BibTeX", "bibtex", "web-of-science.bib"),
    Export("Web of Science", "plain text", "ris", "web-of-science.txt"),
    Export("Web of Science", "tab-delimited", "csv", "web-of-science.tsv"),
    Export("Wiley Online Library", "RIS", "ris", "wiley-online-library.ris"),
    Export("Zotero", "BibTeX", "bibtex", "zotero.bib"),
    Export("Zotero", "CSL JSON", "zotero", "zotero.json"),
    Export("Zotero", "CSV", "csv", "zotero.csv"),
    Export("Zotero", "RIS", "ris", "zotero.ris"),
)

EXPECTED: dict[str, Any] = {
    "title": "Sleep of field bees in cold winters",
    "abstract": "Bees sleep in 50% of hives. They wake in spring.",
    "family names": ["van den Berg", "Rodríguez García"],
    "given names": ["Anna", "José"],
    "year": 2021,
    "venue": "Journal of Invented Insects",
    "doi": "10.5555/bees.2021.7",
    "volume": "12",
    "issue": "3",
    "pages": "45-51",
    "publisher": "Invented Press",
    "issn": ("1234-5679",),
}
"""What the paper is, by field in the order of the table."""


def fields_of(paper: Paper) -> dict[str, Any]:
    """Return the values of a paper's fields, without those that it lacks."""
    names, publication = [parse_name(one) for one in paper.authors], paper.publication or Publication()
    dois = [one.removeprefix("doi:") for one in paper.identifiers if one.startswith("doi:")]
    values = {
        "title": paper.title.removesuffix("."),  # PubMed's titles end with one
        "abstract": paper.abstract,
        "family names": [one.family for one in names],
        "given names": [one.given for one in names],
        "year": paper.year,
        "venue": paper.venue,
        "doi": " ".join(dois),
        **{name: getattr(publication, name) for name in PARTS},
    }
    return {name: value for name, value in values.items() if value}


def with_table(page: str) -> str:
    """Return the page with the table at the end of its section."""
    head, heading, rest = page.partition(HEADING)
    text, _, after = rest.partition("\n| program | format |")
    rows = ["program | format | `--corpus` | " + " | ".join(EXPECTED), " | ".join(["---"] * (3 + len(EXPECTED)))]
    for one in EXPORTS:
        marks = ("" if name in one.lacks else "✓" for name in EXPECTED)
        rows.append(f"{one.program} | {one.form} | `{one.corpus}` | {' | '.join(marks)}")
    table = "".join(f"| {row} |\n" for row in rows)
    return f"{head}{heading}{text}\n{table}\n{after[after.index('## ') :]}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
