"""ses in MTEB (Muennighoff et al., EACL 2023): an encoder as a model, and an engine behind its search protocol.

`mteb.evaluate(MtebEncoder(encoder), tasks)` and `mteb.evaluate(MtebSearch(engine, encoder, folder), retrieval_tasks)`.
Written against mteb 2.26: the classes are what its `EncoderProtocol` and `SearchProtocol` ask for.

By `MtebSearch`, lexical and hybrid search can be measured on MTEB's tasks, by the same index and the same search as a
user's. MTEB asks for 1,000 documents per query, and the legs return as many. `eval.retrieval` takes 100, so scores
normalised by min-max differ a little. The first sentence of a document without a title becomes its title, as in a BEIR
folder. `MtebEncoder` does not do this.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from corpora.errors import InputError, require
from corpora.installed import optional
from encoders.models.card import ModelCard
from encoders.models.formats import Format
from encoders.text_encoder import TextEncoder
from eval.embedder import Text, by_encoder
from eval.files.text import write_json_lines
from eval.measures.similarity import PAIRWISE, SIMILARITIES
from eval.retrieval.protocol import Protocol, run_queries
from search_plugin.contract.engine import EVALUATION, Engine, Index
from search_plugin.fusion.fusions import DEFAULT_FUSION
from search_plugin.fusion.search_settings import SearchSettings
from search_plugin.request import MAX_WINDOW, Mode

_BY_PROMPT = {"query": Format.QRY, "document": Format.PRX, "passage": Format.PRX}
_BY_TASK = {"Classification": Format.CLF, "MultilabelClassification": Format.CLF, "Regression": Format.RGN}
_SCORING = {"cosine": "cosine", "dot": "dot", "l2": "euclidean"}

LONGEST_NAME = 60
"""Most characters that `plain` returns: an index's name may have 64."""


def format_of(prompt_type: object, task_type: str, card: ModelCard) -> Format:
    """Return the format of a text: QRY for queries, PRX for documents, otherwise CLF or RGN by the task, or PRX.

    `prompt_type` is `query` or `document` where the task tells them apart, or None. CLF and RGN are taken where the
    model has them.
    """
    if prompt_type is not None:
        return _BY_PROMPT[str(getattr(prompt_type, "value", prompt_type))]
    by_task = _BY_TASK.get(task_type, Format.PRX)
    return by_task if by_task in card.formats else Format.PRX


class MtebEncoder:
    """An encoder as MTEB calls it.

    Args:
        encoder: Makes the vectors.
    """

    def __init__(self, encoder: TextEncoder) -> None:
        self._encoder = encoder

    @property
    def mteb_model_meta(self) -> Any:
        """MTEB's keys of stored results: `ses/NAME`, the fingerprint as revision, and the model's runtime."""
        return model_meta(self._encoder)

    def encode(
        self,
        inputs: Iterable[Mapping[str, Any]],
        *,
        task_metadata: Any,
        hf_split: str,  # noqa: ARG002 - the signature is MTEB's
        hf_subset: str,  # noqa: ARG002
        prompt_type: object = None,
        **kwargs: Any,
    ) -> np.ndarray:
        """Encode batches of texts.

        Args:
            inputs: Each a mapping with `text`, and for documents `title` and `body`, all lists.
            task_metadata: Of the task; its type decides where the prompt type doesn't.
            hf_split: Not heeded.
            hf_subset: Not heeded.
            prompt_type: Query, document or None.
            **kwargs: MTEB's `encode_kwargs`. A batch size isn't heeded: batches are cut by length here.

        Returns:
            float32 (texts, dimension).

        Raises:
            InputError: If a batch holds no text, or another precision is asked for.
        """
        refuse_precision(kwargs)
        parts = [part for batch in inputs for part in _titles_and_bodies(batch)]
        texts = [Text(str(row), title, body) for row, (title, body) in enumerate(parts)]
        task_format = format_of(prompt_type, str(task_metadata.type), self._encoder.card)
        # In the same blocks as our own protocols, so that the vectors are equal to the last bit.
        return by_encoder(self._encoder)(texts, task_format).matrix

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Return the similarity of every vector of one side to every vector of the other, a torch tensor."""
        return _tensor(SIMILARITIES[self._encoder.card.similarity](_rows(embeddings1), _rows(embeddings2)))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Return the similarity of the vectors of each pair, a torch tensor."""
        return _tensor(PAIRWISE[self._encoder.card.similarity](_rows(embeddings1), _rows(embeddings2)))


def model_meta(encoder: TextEncoder) -> Any:
    """Return MTEB's description of a model, an `mteb.ModelMeta`; `UnavailableError` if mteb isn't installed.

    MTEB does not repeat a task if it has a result with the same name, revision and `experiment_kwargs`. So one of these
    must differ whenever the vectors differ.
    """
    mteb = optional("mteb.models.model_meta", "Evaluating on MTEB needs mteb", "mteb")
    card = encoder.card
    facts = {
        "name": f"ses/{plain(Path(card.name).name)}",
        "revision": card.fingerprint,
        "max_tokens": card.max_tokens,
        "embed_dim": card.dimension,
        "similarity_fn_name": mteb.ScoringFunction(_SCORING[card.similarity]),
        "experiment_kwargs": {"runtime": runtime_of(encoder)},
    }
    return mteb.ModelMeta.create_empty(facts)


def refuse_precision(encode_kwargs: Mapping[str, Any]) -> None:
    """Raise `InputError` if MTEB asks for vectors of another precision: it would store ours under that precision."""
    require(
        encode_kwargs.get("precision", "float32") == "float32",
        "MTEB's precision of vectors has no effect: leave it out of encode_kwargs, and load the model with the "
        "precision you want.",
    )


def runtime_of(encoder: TextEncoder) -> str:
    """Return the runtime of a model, or of the parts of a composed one, such as `onnx-int8`."""
    return "+".join(dict.fromkeys(_runtimes(encoder)))


def _runtimes(encoder: TextEncoder) -> list[str]:
    from encoders.composed import Ensemble, FormatRouter
    from encoders.encoder import Encoder

    match encoder:
        case Encoder(runtime=runtime, long_text=long_text):
            return [runtime if long_text == "start" else f"{runtime}-{long_text}"]
        case Ensemble(members=members):
            return [runtime for member in members for runtime in _runtimes(member)]
        case FormatRouter(members=members):
            return [runtime for member in members.values() for runtime in _runtimes(member)]
    return [type(encoder).__name__]


def _titles_and_bodies(batch: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    if "title" in batch and "body" in batch:
        pairs = zip(batch["title"], batch["body"], strict=True)
        return [((title or "").strip(), (body or "").strip()) for title, body in pairs]
    require("text" in batch, "The task's inputs aren't texts; this model reads texts only.")
    return [(text or "", None) for text in batch["text"]]


def _rows(vectors: Any) -> np.ndarray:
    return np.atleast_2d(np.asarray(vectors, dtype=np.float32))


def _tensor(values: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(values)


def plain(name: str) -> str:
    """Return a name as lower-case letters, digits and hyphens; a long one is cut, and a hash of it appended."""
    kept = "".join(char if char.isascii() and char.isalnum() else "-" for char in name.lower()).strip("-") or "data"
    if len(kept) <= LONGEST_NAME:
        return kept
    return f"{kept[: LONGEST_NAME - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


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
