"""Our engines behind MTEB's search protocol: `mteb.evaluate(MtebSearch(engine, encoder, folder), retrieval_tasks)`.

Written against mteb 2.26: the class is what its `SearchProtocol` asks for. In this way lexical and hybrid search can be
measured on MTEB's tasks, by the same index and the same search as a user's. MTEB asks for 1,000 documents per query,
and the legs return as many. `eval.retrieval` takes 100, so scores normalised by min-max differ a little. The first
sentence of a document without a title becomes its title, as in a BEIR folder. `MtebEncoder` does not do this.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpora.errors import InputError, require
from encoders.text_encoder import TextEncoder
from eval.files.text import write_json_lines
from eval.mteb.model import model_meta, plain, refuse_precision, runtime_of
from eval.retrieval.protocol import Protocol, run_queries
from search_plugin.contract.engine import EVALUATION, Engine, Index
from search_plugin.fusion.fusions import DEFAULT_FUSION
from search_plugin.fusion.search_settings import SearchSettings
from search_plugin.request import MAX_WINDOW, Mode

_KINDS = {"lexical": "sparse", "vector": "dense", "hybrid": "hybrid"}
"""MTEB's names of the modes."""

_NO_RERANKING = "An engine can't rerank given documents; evaluate MtebEncoder on reranking tasks."


@dataclass(slots=True)
class MtebSearch:
    """A search mode over an engine, as MTEB's retrieval tasks call it: `index` once a corpus, then `search`.

    Attributes:
        engine: Engine with an index per corpus, model and runtime, named `eval-mteb-...`; the next run finds it there.
        encoder: Model that makes the vectors.
        state_dir: Folder for lists of rejected papers.
        mode: Lexical, vector or hybrid.
        fusion: Name of the fusion of the hybrid mode, as `search_plugin.fusion.fusions.fusion_of` takes it.
        weights: Weights of the legs, in the hybrid mode.
        options: Other options of the searches, as `search_plugin.request.make_request` takes them.
    """

    engine: Engine
    encoder: TextEncoder
    state_dir: Path
    mode: Mode = "hybrid"
    fusion: str = DEFAULT_FUSION
    weights: Mapping[str, float] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    _index: Index | None = None
    _product: str = ""

    @property
    def mteb_model_meta(self) -> Any:
        """MTEB's keys of stored results: the model with mode and fusion in its name; the engine and the weights."""
        model = model_meta(self.encoder)
        if not self._product:
            found = self.engine.diagnose()
            self._product = f"{found.product} {found.version}"
        settings = {**model.experiment_kwargs, "engine": self._product, **self.options}
        how: str = self.mode
        if self.mode == "hybrid":
            how = f"{self.mode}-{self.fusion}"
            settings |= {"weights": dict(self.weights)} if self.weights else {}
        named = {"name": f"{model.name}-{how}", "model_type": [_KINDS[self.mode]], "experiment_kwargs": settings}
        return model.model_copy(update=named)

    def index(
        self,
        corpus: Iterable[Mapping[str, Any]],
        *,
        task_metadata: Any,
        hf_split: str,
        hf_subset: str,
        encode_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,  # noqa: ARG002 - the signature is MTEB's
    ) -> None:
        """Index a corpus of documents with `id`, `text` and perhaps `title`, or bring its index up to date.

        The name of the task is part of the index's; the split and subset are not heeded. Raises `InputError` if the
        task is one of reranking, or another precision is asked for.
        """
        from corpora.registry import get_corpus
        from indexer.job import IndexJob
        from indexer.pipeline import index_corpus

        refuse_precision(encode_kwargs or {})
        require(not str(task_metadata.type).endswith("Reranking"), _NO_RERANKING)
        made_by = f"{self.encoder.card.fingerprint[:8]}-{runtime_of(self.encoder)}"
        name = plain(f"{EVALUATION}mteb-{made_by}-{task_metadata.name}-{hf_subset}-{hf_split}")
        with tempfile.TemporaryDirectory(prefix="ses-mteb-") as scratch:
            records = (
                {"_id": document["id"], "title": document.get("title") or "", "text": document["text"]}
                for document in corpus
            )
            write_json_lines(Path(scratch) / "corpus.jsonl", records)
            job = IndexJob(
                # Read in the same way as a BEIR folder, so that MTEB's figures equal those of `ses eval retrieval`.
                records=lambda: get_corpus("beir").read(Path(scratch), {}),
                source=name,
                index=name,
                card=self.encoder.card,
                encoder=lambda: self.encoder,
                state_dir=self.state_dir,
                prune=True,
            )
            report = index_corpus(job, self.engine)
        if report.rejected:
            logging.getLogger("ses").warning(
                "%s documents of %s could not be indexed, and can't be found.", report.rejected, task_metadata.name
            )
        self._index = self.engine.open(name)

    def search(
        self,
        queries: Iterable[Mapping[str, Any]],
        *,
        top_k: int,
        top_ranked: Mapping[str, list[str]] | None = None,
        **kwargs: Any,  # noqa: ARG002 - the signature is MTEB's
    ) -> dict[str, dict[str, float]]:
        """Search for every query; return the score of each of its best documents, by query.

        A query has an `id`, a `text` and perhaps an `instruction`, which is appended to the text as in MTEB. Raises
        `InputError` if nothing was indexed, the task is one of reranking (`top_ranked`), or a query is a conversation.
        """
        if self._index is None:
            raise InputError("MTEB searched before it indexed; call index first.")
        require(top_ranked is None, _NO_RERANKING)
        texts = {str(query["id"]): _text(query) for query in queries}
        runnable = {query: text for query, text in texts.items() if text.strip()}
        protocol = Protocol(
            (self.mode,),
            (self.fusion,),
            depth=min(top_k, MAX_WINDOW),
            tuned=SearchSettings(weights=self.weights, bm25=self._index.schema.bm25),
            options=self.options,
        )
        (run,) = run_queries(runnable, self._index, self.encoder, protocol).values()
        return {query: run.scores(query) for query in texts}


def _text(query: Mapping[str, Any]) -> str:
    text, instruction = query["text"], query.get("instruction")
    if not isinstance(text, str):
        raise InputError("An engine can't search for a conversation; evaluate MtebEncoder on this task.")
    return f"{text} {instruction}" if instruction else text
