"""What the vectors of words in a cluster lose beside the model's, and what they cost a front end.

The package of `javascript/` makes the vector of each query in node, as a front end does: by `_mget`, without a process
of ses. The same printed request (`--join engine`) ranks by them, by the model's vectors, and by words alone:
nDCG@10 of the test queries, with the paired interval of the difference from the model. The printed program that joins
the legs itself is run for each query, in Python, and compared with the default search of ses. The milliseconds for a
query are of node's processor, its requests included.

Needs the extra eval, node and an OpenSearch or Elasticsearch, in which the indexes are made and stay.
Run: python -m benchmarks.query_words URL FOLDER...   (folders in BEIR's form)
"""

from __future__ import annotations

import contextlib
import io
import json
import runpy
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ses
from encoders.models.formats import Format
from eval.measures.metrics import evaluate
from eval.retrieval.beir import BeirFolder
from eval.statistics.pairs import compare_values
from eval.trec.runs import Run
from search_plugin.engines.cluster.frontends.http import Parameter, replaced
from ses.indexes.open_index import OpenIndex

MEASURE = "nDCG@10"
ROOT = Path(__file__).parents[1]
_NODE = """
import {readFileSync} from "node:fs";
import {directionOf, vectorsOf} from "ROOT/javascript/query-vector.js";
const [url, texts] = [process.argv[1], JSON.parse(readFileSync(0, "utf8"))];
const headers = {"Content-Type": "application/json"};
let requests = 0, bytes = 0;
const mget = async (ids) => {
  const reply = await fetch(url, {method: "POST", headers, body: JSON.stringify({ids})});
  if (!reply.ok) throw new Error(await reply.text());
  const text = await reply.text();
  requests += 1;
  bytes += text.length;
  return JSON.parse(text);
};
const vectors = [];
const before = process.cpuUsage();
for (const text of texts) vectors.push(directionOf(await vectorsOf(text, mget)));
const {user, system} = process.cpuUsage(before);
console.log(JSON.stringify({vectors, requests, bytes, taken: (user + system) / 1000 / texts.length}));
"""


def main() -> None:
    url, *folders = sys.argv[1:]
    with ses.open(url) as library:
        for folder in map(Path, folders):
            _measure(library, folder)


def _measure(library: ses.Library, folder: Path) -> None:
    """Print the rows of a data set."""
    beir = BeirFolder(folder)
    name = folder.name
    if name not in library:
        library.index(name, folder, corpus="beir")
    library.cluster.install(name, query_words=True)
    index: Any = library[name].index
    judged = beir.judged("test")
    texts = list(judged.texts.values())
    made = _made(f"{index.cluster.url}/ses-{name}-words/_mget?filter_path=docs._id,docs._source", texts)
    by_model = ses.load_model(index.schema.model).encode(texts, Format.QRY).tolist()
    ways: dict[str, Sequence[Any]] = {"model": by_model, "words": made["vectors"], "none": [None] * len(texts)}
    runs = {way: _run(library, name, way, judged.texts, vectors) for way, vectors in ways.items()}
    runs |= {"ses": _searched(library[name], judged.texts), "program": _printed(library, name, judged.texts)}
    found = {way: evaluate(run, judged.qrels, [MEASURE]) for way, run in runs.items()}
    print(f"{name}, {index.cluster.product.kind}: {len(texts)} queries")
    for way, scores in found.items():
        beside = "ses" if way == "program" else "model"
        (pair,) = compare_values({beside: found[beside].per_query, "other": scores.per_query})
        told = f"{pair.difference.mean:+.4f} ({pair.difference.low:+.4f} to {pair.difference.high:+.4f})"
        print(f"{way:8}{scores.means[MEASURE]:.4f}  {told if way not in ('model', 'ses') else ''}", flush=True)
    each = {what: made[what] / len(texts) for what in ("requests", "bytes")}
    print(f"{each['requests']:.2f} requests, {each['bytes'] / 1000:.0f} kB, {made['taken']:.1f} ms of node's processor")


def _made(url: str, texts: Sequence[str]) -> Any:
    """Return what node makes of queries: their vectors, and what these took."""
    code = _NODE.replace("ROOT", str(ROOT))
    command = ["node", "--input-type=module", "-e", code, "--", url]
    done = subprocess.run(command, input=json.dumps(texts), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _searched(opened: OpenIndex, texts: Mapping[str, str]) -> Run:
    """Return the ranking of each query by the default search of ses."""
    found = {query: opened.search(text, size=10) for query, text in texts.items()}
    return Run("ses", {query: [(hit.id, hit.score) for hit in page] for query, page in found.items()})


def _printed(library: ses.Library, name: str, texts: Mapping[str, str]) -> Run:
    """Return the ranking of each query by the program that `ses cluster request --vector words --as python` prints."""
    index: Any = library[name].index
    text = library.cluster.request(next(iter(texts.values())), index=name, vector="words", size=10).text("python")
    # Several versions of this client are installed beside each other, under names of their own.
    text = text.replace("from elasticsearch import", f"from elasticsearch{index.cluster.product.version[0]} import")
    ranked = {}
    with TemporaryDirectory() as folder:
        program = Path(folder) / "search.py"
        program.write_text(text, encoding="utf-8")
        for query, words in texts.items():
            sys.argv = [str(program), words]
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                runpy.run_path(str(program))
            hits = json.loads(printed.getvalue())["hits"]["hits"]
            ranked[query] = [(str(hit["_id"]), float(hit["_score"])) for hit in hits]
    return Run("program", ranked)


def _run(
    library: ses.Library, name: str, way: str, texts: Mapping[str, str], vectors: Sequence[Sequence[float] | None]
) -> Run:
    """Return the ranking of each query, by the printed request with a vector, or without one by words."""
    given: dict[str, Any] = {"index": name, "verbatim": True, "literal": True, "size": 10}
    given |= {"mode": "lexical"} if way == "none" else {"join": "engine", "parameters": ["vector"]}
    # Words have the vectors of the table, which count less beside BM25 than the model's.
    given |= {"query_encoder": "table"} if way == "words" else {}
    index: Any = library[name].index
    ranked = {}
    for (query, text), vector in zip(texts.items(), vectors, strict=True):
        (asked,) = library.cluster.request(text, **given).requests
        body = replaced(asked.body, lambda part, own=vector: own if isinstance(part, Parameter) else part)
        hits = index.cluster.call("POST", asked.path, body)["hits"]["hits"]
        ranked[query] = [(str(hit["_id"]), -float(place)) for place, hit in enumerate(hits)]
    return Run(way, ranked)


if __name__ == "__main__":
    main()
