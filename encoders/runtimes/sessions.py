"""Sessions that run a model for some of its heads: built and stored in the cache folder, or taken from an export."""

from __future__ import annotations

import logging
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.checksums import sha256_of_text
from corpora.errors import InputError, UnavailableError
from corpora.lazy import np
from encoders.architectures.registry import TRANSFORMERS
from encoders.models.card import ModelCard
from encoders.models.formats import Precision
from encoders.models.model import Exported, Model, read_checked
from encoders.runtimes.registry import GRAPH_VERSION, Runtime, RuntimeSource, Session, get_runtime
from encoders.tokens.batching import batches
from encoders.tokens.tokenizer import tokenized

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_SENTENCES = (
    "We measured the binding affinity of twelve small molecules to the receptor by surface plasmon "
    "resonance (n = 3, p < 0.01).",
    "Patients older than 65 years received either 5 mg of the drug or a placebo once a day for 26 weeks.",
    "Deep convolutional networks trained on 1.2 million images transfer poorly to X-ray data without fine-tuning.",
    "The mean annual temperature of the basin rose by 0.8 degrees between 1961 and 2010, and snow cover "
    "shrank accordingly.",
    "BACKGROUND: Hospital-acquired infections remain a leading cause of death. METHODS: We reviewed 14,302 admissions.",
    "A lower bound of order n log n is proved for comparison-based sorting with partial information.",
    "Expression of IL-6 and TNF-alpha was up-regulated in knock-out mice, whereas CD4+ T cells were unchanged.",
    "Students who explained each step aloud solved twice as many transfer problems as those who only "
    "read the solution.",
    "The perovskite film, annealed at 150 °C, reached a power conversion efficiency of 22.4% under one sun.",
    "Is a Mediterranean diet associated with a lower risk of stroke? A systematic review and "
    "meta-analysis of 31 cohorts.",
    "We introduce a probabilistic model of citation that separates topic, venue and age, and fit it by "
    "variational inference.",
    "SARS-CoV-2 RNA was detected in 37 of 112 wastewater samples, on average six days before the first reported case.",
    "Spectra of the quasar show absorption lines at redshift z = 3.17, consistent with a damped Lyman-alpha system.",
    "Trade liberalisation raised wages in exporting firms, but within-region inequality increased; the "
    "net effect is small.",
    "No significant differences were found between the groups (odds ratio 1.04, 95% CI 0.87-1.25).",
    "The shear modulus of the hydrogel can be tuned from 0.2 to 40 kPa by varying the density of cross-links.",
    "Federated search over heterogeneous digital libraries needs score normalisation; rank fusion avoids "
    "it altogether.",
    "Field trials on wheat in three provinces showed that intercropping with clover reduced nitrogen "
    "leaching by a third.",
    "CASE REPORT: A 43-year-old woman presented with fever, arthralgia and a rash two weeks after "
    "travelling to Brazil.",
    "Our parser handles unbounded recursion, Unicode identifiers and error recovery in linear time.",
    "Zebrafish embryos exposed to 10 nM of the compound developed pericardial oedema within 48 h post fertilisation.",
    "Interviews with nurses revealed four themes: workload, recognition, communication and moral distress.",
    "The turbulent boundary layer over a flat plate at Mach 2.5 was resolved by direct numerical simulation.",
    "Taken together, these results suggest that sleep consolidates spatial memory through hippocampal replay.",
)


def sample_texts() -> list[str]:
    """Return 72 texts of one to twelve sentences: titles, short and long abstracts, the same on every machine."""
    count = len(_SENTENCES)
    texts = []
    for i in range(3 * count):
        length = (1, 2, 4, 7, 9, 12)[i % 6]
        texts.append(" ".join(_SENTENCES[(i + 5 * j) % count] for j in range(length)))
    return texts


_ALIKE = 0.98
"""If the cosine of int8 vectors of two machines is below this value, the difference is not rounding."""

_ADVICE = "free some disk, or set SES_CACHE_DIR to a folder that can be written"

DEFAULT_RUNTIME = "onnx"

Sessions = Callable[[tuple[str, ...]], Session]
"""Gives what runs a batch for some heads."""


def make_sessions(
    model: Model, tokenizer: Tokenizer, cache_dir: Path, runtime: str | None, precision: Precision | None, threads: int
) -> tuple[str, Sessions]:
    """Return what runs a model, such as `onnx-int8`, and its sessions; `InputError` if the runtime can't run it."""
    exported = model.exported
    if exported is None:
        foreign = model.card.architecture == TRANSFORMERS
        chosen = get_runtime(runtime or (TRANSFORMERS if foreign else DEFAULT_RUNTIME), precision)
        kind = precision or chosen.precisions[0]
        return f"{chosen.name}-{kind}", BuiltSessions(model, chosen, kind, cache_dir, tokenizer, threads)
    made_for = f"{exported.runtime}-{exported.precision}"
    if runtime not in (None, exported.runtime) or precision not in (None, exported.precision):
        raise InputError(
            f"{model.folder} was exported for {exported.runtime} at {exported.precision}",
            "leave out <runtime> and <precision>, or use the model it was made from",
        )
    return made_for, ExportedSessions(model, exported, tokenizer, threads)


class BuiltSessions:
    """Loads what runs a model for some heads when it is first asked for, building it if it never was."""

    def __init__(
        self, model: Model, runtime: Runtime, precision: Precision, cache_dir: Path, tokenizer: Tokenizer, threads: int
    ) -> None:
        self._model, self._runtime, self._precision = model, runtime, precision
        self._folder, self._tokenizer, self._threads = cache_dir / "graphs", tokenizer, threads
        self._scratch: Path | None = None
        self._loaded: dict[tuple[str, ...], Session] = {}
        self._lock = threading.Lock()

    def __call__(self, heads: tuple[str, ...]) -> Session:
        """Return what runs the model for some heads."""
        with self._lock:
            if heads not in self._loaded:
                self._loaded[heads] = self._runtime.load(self._built(heads), self._threads)
            return self._loaded[heads]

    def _built(self, heads: tuple[str, ...]) -> Path:
        card = self._model.card
        marks = sha256_of_text("\0".join(heads))[:8]
        version = self._runtime.version(self._precision, self._threads)
        runtime = "-".join(part for part in (self._runtime.name, self._precision, version) if part)
        folder = self._folder / f"{card.fingerprint}-{runtime}-{marks}-v{GRAPH_VERSION}"
        if not folder.exists():
            source = replace(make_source(self._model, self._tokenizer, heads), threads=self._threads)
            try:
                _build(folder, self._runtime, self._precision, source)
            except OSError as error:
                return self._built_for_now(folder.name, source, error)
        return folder

    def _built_for_now(self, name: str, source: RuntimeSource, reason: OSError) -> Path:
        """Build in a temporary folder, which goes with this object, because the cache can't be written."""
        problem = f"The model's graph can't be kept in {self._folder} ({reason})"
        try:
            if self._scratch is None:
                self._scratch = Path(tempfile.mkdtemp(prefix="ses-graphs-"))
                weakref.finalize(self, shutil.rmtree, self._scratch, ignore_errors=True)
            folder = self._scratch / name
            folder.mkdir()
            self._runtime.prepare(source, self._precision, folder)
        except OSError as error:
            raise UnavailableError(f"{problem}, nor in the folder for temporary files ({error})", _ADVICE) from error
        logging.getLogger("ses").warning("%s, so each run builds it again; %s.", problem, _ADVICE)
        return folder


class ExportedSessions:
    """Loads what runs an exported model, and checks that it gives the same vectors here as on the exporting machine."""

    def __init__(self, model: Model, exported: Exported, tokenizer: Tokenizer, threads: int) -> None:
        self._model, self._exported, self._tokenizer, self._threads = model, exported, tokenizer, threads
        self._loaded: dict[tuple[str, ...], Session] = {}
        self._lock = threading.Lock()

    def __call__(self, heads: tuple[str, ...]) -> Session:
        """Return what runs the model for some heads: a graph that has just them, or more, or several graphs."""
        with self._lock:
            graphs = sorted(self._exported.graphs, key=len)
            whole = next((graph for graph in graphs if set(graph) >= set(heads)), None)
            if whole is not None:
                return _picked(self._session(whole), [whole.index(head) for head in heads])
            parts = []
            for head in heads:
                graph = next((graph for graph in graphs if head in graph), None)
                if graph is None:
                    raise InputError(f"{self._model.folder} was exported without {head}; export the model again.")
                parts.append(_picked(self._session(graph), [graph.index(head)]))
        return Session(lambda ids, mask: [part(ids, mask)[0] for part in parts], parts[0].at_once)

    def _session(self, graph: tuple[str, ...]) -> Session:
        if graph not in self._loaded:
            runtime = get_runtime(self._exported.runtime, self._exported.precision)
            session = runtime.load(self._exported.graphs[graph], self._threads)
            self._check(session, graph)
            self._loaded[graph] = session
        return self._loaded[graph]

    def _check(self, session: Session, graph: tuple[str, ...]) -> None:
        found = run_texts(session, self._tokenizer, self._model.card, self._exported.texts)
        for head, rows in zip(graph, found, strict=True):
            expected = np.asarray(self._exported.vectors.get(head), dtype=np.float32)
            if rows.shape != expected.shape or (nearest := _cosines(rows, expected).min()) < _ALIKE:
                difference = (
                    f"a cosine of {nearest:.3f} to those" if rows.shape == expected.shape else "of another shape"
                )
                raise InputError(
                    f"{self._model.folder} gives other vectors here than where it was exported ({difference}); "
                    "export the model again on this machine."
                )


def make_source(model: Model, tokenizer: Tokenizer, heads: tuple[str, ...]) -> RuntimeSource:
    """Return what a runtime makes its files from; `InputError` if the weights or the tokenizer don't fit."""
    card = model.card
    if max(tokenizer.get_vocab().values()) >= card.network.vocabulary:
        raise InputError(f"The tokenizer in {model.folder} knows tokens that the model doesn't; fetch the model again.")
    encodings = tokenized(tokenizer, sample_texts())
    samples = list(batches([encoding.ids[: card.max_tokens] for encoding in encodings]))
    return RuntimeSource(read_checked(model, heads), card, heads, samples)


def run_texts(session: Session, tokenizer: Tokenizer, card: ModelCard, texts: Sequence[str]) -> list[np.ndarray]:
    """Return a session's vectors of some texts without prompts, float32 (texts, dimension) for each head."""
    (batch,) = batches([encoding.ids[: card.max_tokens] for encoding in tokenized(tokenizer, texts)], len(texts))
    ordered = batch.rows.argsort()
    return [rows[ordered] for rows in session(batch.ids, batch.mask)]


def _build(folder: Path, runtime: Runtime, precision: Precision, source: RuntimeSource) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Written to a temporary folder and then moved, so that a crash or a second process leaves no half-written graph.
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        part = Path(scratch) / "graph"
        part.mkdir()
        runtime.prepare(source, precision, part)
        try:
            part.rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process was first, with the same graph
                raise


def _picked(session: Session, places: Sequence[int]) -> Session:
    def run(ids: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
        vectors = session(ids, mask)
        return [vectors[place] for place in places]

    return Session(run, session.at_once)


def _cosines(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the cosine of each pair of rows, float32 (rows,)."""
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    cosines: np.ndarray = (first * second).sum(axis=1) / np.maximum(lengths, 1e-12)
    return cosines
