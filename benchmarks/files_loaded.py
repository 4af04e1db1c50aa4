"""How many files of ses each of four jobs has imported at its end, in a process of its own.

Packages whose `__init__.py` is a docstring are counted apart, since they hold no code.

Run: python -m benchmarks.files_loaded [NAMES], where NAMES prints the names too
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.tiny import make_model, papers, write_jsonl

ROOT = Path(__file__).parent.parent
OURS = ("ses", "corpora", "encoders", "indexer", "search_plugin", "eval", "products", "training")
_AT_END = "import atexit, sys; atexit.register(lambda: print('\\nMODULES', *sys.modules));"
_COMMAND = f"{_AT_END} import runpy; sys.argv = ['ses', *sys.argv[1:]]; runpy.run_module('ses', run_name='__main__')"
_REQUEST = f"""{_AT_END}
from starlette.testclient import TestClient
import ses
from ses.service.app import make_app
from ses.service.service import Service
from ses.service.settings import ServiceSettings
reply = TestClient(make_app(Service(ses.open(), ServiceSettings()))).get("/v1/search", params=dict(query="virus"))
assert reply.status_code == 200, reply.text
"""


def loaded(code: str, *arguments: str, folder: Path) -> list[str]:
    """Return the modules of ses that a process has imported at its end."""
    given = {"SES_DATA_DIR": str(folder / "data"), "SES_MODEL": str(folder / "model")}
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, env={**os.environ, **given}, check=True, capture_output=True, text=True)
    names = done.stdout.rpartition("MODULES")[2].split()
    return sorted(name for name in names if name.partition(".")[0] in OURS and not name.startswith("ses.__main__"))


def has_code(name: str) -> bool:
    """Return whether a module is more than the docstring of a package."""
    package = ROOT.joinpath(*name.split("."), "__init__.py")
    return not package.exists() or len(ast.parse(package.read_text(encoding="utf-8")).body) > 1


def main() -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_model(folder / "model")
        corpus = write_jsonl(folder / "corpus.jsonl", papers(20))
        beir = folder / "beir"
        (beir / "qrels").mkdir(parents=True)
        rows = [json.dumps({"_id": one.id, "title": one.title, "text": one.abstract}) for one in papers(20)]
        (beir / "corpus.jsonl").write_text("\n".join(rows))
        (beir / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "virus"}))
        (beir / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tp00001\t1\n")
        jobs = {
            "index": (_COMMAND, "index", "--corpus", "jsonl", "--path", f"{corpus}", "--index", "papers"),
            "search": (_COMMAND, "search", "virus lung"),
            "HTTP request": (_REQUEST,),
            "evaluation": (_COMMAND, "eval", "retrieval", "--data", f"{beir}"),
        }
        for name, (code, *arguments) in jobs.items():
            modules = loaded(code, *arguments, folder=folder)
            held = [one for one in modules if has_code(one)]
            print(f"{name:<14} {len(modules):4}, of which {len(modules) - len(held)} are packages without code")
            if sys.argv[1:]:
                print("  " + "\n  ".join(modules))


if __name__ == "__main__":
    main()
