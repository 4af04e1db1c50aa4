"""Invented papers for the documentation: enough of them to learn from, with subjects, venues and citations.

`python -m tests.invented papers.jsonl` writes them.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

SUBJECTS = {
    "Virology": ("virus", "infection", "vaccine", "antibodies", "masks", "outbreak"),
    "Oncology": ("tumour", "cancer", "chemotherapy", "metastasis", "biopsy", "radiation"),
    "Astronomy": ("galaxy", "star", "telescope", "black hole", "dark matter", "spectrum"),
    "Ecology": ("forest", "soil", "river", "species", "biodiversity", "drought"),
    "Robotics": ("robot", "gripper", "sensor", "navigation", "motor", "humanoid"),
}
BROADER = {"Virology": "Medicine", "Oncology": "Medicine"}
VENUES = ("Journal of Invented Results", "Annals of Examples")
FORMS = (
    "On {} and {}",
    "A model of {} with {}",
    "A survey of {} and {}",
    "A study of {} and {}",
    "From {} to {}: a review",
)
YEARS = range(2015, 2025)


def invented(count: int = 300, seed: int = 7) -> list[dict]:
    """Return papers as JSON objects; papers on galaxies and robots are cited more often."""
    chance = random.Random(seed)
    papers = []
    for number in range(count):
        subject = chance.choice(list(SUBJECTS))
        first, second, third = chance.sample(SUBJECTS[subject], 3)
        if chance.random() < 0.4:
            second = chance.choice(SUBJECTS[chance.choice(list(SUBJECTS))])
        often = 12 if subject in ("Astronomy", "Robotics") else 3
        papers.append(
            {
                "id": f"n{number:03}",
                "title": chance.choice(FORMS).format(first, second),
                "abstract": f"We describe {third} in {chance.randint(3, 90)} cases.",
                "year": YEARS[number % len(YEARS)],
                "venue": VENUES[number // len(YEARS) % len(VENUES)],
                "headings": [subject] if number % 6 else [],
                "cited": int(often * chance.lognormvariate(0, 0.8)),
            }
        )
    return papers


def write_invented(path: Path) -> None:
    """Write the papers as JSON lines."""
    path.write_text("".join(f"{json.dumps(paper)}\n" for paper in invented()), encoding="utf-8")


if __name__ == "__main__":
    write_invented(Path(sys.argv[1]))
