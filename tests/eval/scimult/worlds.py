"""Folders of SciMult's files."""

from __future__ import annotations

from tests.eval.vectors_by_hand import write_lines


def paper(name, **more):
    return {"paper": name, "title": f"title {name}", "abstract": f"abstract {name}", **more}


def write_fine(folder, gold, matched=None, labels=()):
    """A set of papers with several labels, the papers named p0, p1 and so on."""
    folder.mkdir(exist_ok=True)
    write_lines(folder / "Toy_papers_test.json", [paper(f"p{i}", label=list(one)) for i, one in enumerate(gold)])
    described = [{"label": name, "name": [f"name {name}", "other"], "definition": f"means {name}"} for name in labels]
    write_lines(folder / "Toy_label.json", described)
    if matched is not None:
        write_lines(folder / "Toy_matched.json", [{"candidate": list(one)} for one in matched])
    return folder
