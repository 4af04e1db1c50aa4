"""Vectors that a protocol measures, from a model or from files, and its results with the facts about them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from encoders.models.formats import Format
from ses.evaluation.retrieval import model_of

if TYPE_CHECKING:
    from encoders.models.card import ModelCard
    from encoders.models.formats import Similarity
    from encoders.models.model import Model
    from eval.embedder import Embedder, Text, Vectors
    from eval.reports.results import Results
    from ses.settings import Settings


@dataclass(frozen=True, slots=True)
class VectorSource:
    """A source of vectors.

    Attributes:
        embed: Makes them; a model is loaded when it is first needed.
        files: Embedding files, by task format or `all`.
        card: Card of the model, if there is one.
        runtime: Returns the model's runtime, after it has run.
    """

    embed: Embedder
    files: Mapping[str, Path]
    card: ModelCard | None = None
    runtime: Callable[[], str] = str

    @property
    def name(self) -> str:
        """The model's name, or the files'."""
        return self.card.name if self.card else ", ".join(map(str, self.files.values()))

    @property
    def similarity(self) -> Similarity | None:
        """How the model compares vectors; None where all come from files."""
        return self.card.similarity if self.card else None

    @property
    def facts(self) -> dict[str, Any]:
        """Facts to show with the results."""
        model = {"model": self.card.name, "fingerprint": self.card.fingerprint} if self.card else {}
        return {"embeddings": {name: str(path) for name, path in self.files.items()}, **model}


def vector_source(embeddings: Sequence[str], settings: Settings, *, model_named: bool = False) -> VectorSource:
    """Return the source of a protocol's vectors.

    Args:
        embeddings: Files of vectors, each as `FILE` or for one task format as `FORMAT=FILE`; other formats are the
            model's.
        settings: Settings that name the model, the default one if none is named.
        model_named: Whether the user named a model, which is an error where it would not be used.

    Returns:
        The source.

    Raises:
        InputError: If a file isn't one of embeddings, a format is unknown or named twice, or a model is named that
            would not be used.
        UnavailableError: If the model isn't there.
    """
    from encoders.files.embeddings import read_embeddings
    from eval.embedder import by_file, by_format

    files = _files(embeddings)
    named = {str(task_format or "all"): path for task_format, path in files.items()}
    embedders = {task_format: by_file(read_embeddings(path)) for task_format, path in files.items()}
    by_name = {name: one for name, one in embedders.items() if name}
    if None in files:
        if model_named:
            raise InputError("With --embeddings FILE for all formats no model is needed: leave --model out.")
        return VectorSource(by_format(by_name, embedders[None]), named)
    made = model_source(model_of(settings), settings)
    return replace(made, embed=by_format(by_name, made.embed), files=named)


def model_source(model: Model, settings: Settings) -> VectorSource:
    """Return a model as a source of vectors; it is loaded when the first are asked for."""
    from encoders.encoder import Encoder
    from eval.embedder import by_encoder
    from ses.models.loaded_model import make_encoder

    encoder = functools.cache(functools.partial(make_encoder, settings, model))

    def encode(texts: Sequence[Text], task_format: Format) -> Vectors:
        return by_encoder(encoder())(texts, task_format)

    def runtime() -> str:
        made = encoder()
        return made.runtime if isinstance(made, Encoder) else settings.runtime or ""

    return VectorSource(encode, {}, model.card, runtime)


def own_formats(source: VectorSource) -> tuple[Format, ...]:
    """Return PRX, and the formats whose vectors differ from it; raise `InputError` if there are none."""
    card = source.card
    others = [
        one
        for one in (Format.CLF, Format.RGN)
        if one.value in source.files or (card and one in card.distinct([Format.PRX, one]))
    ]
    if not others:
        raise InputError(
            f"{source.name} has the same vectors for all formats, so there is nothing to compare",
            "name a model with formats as <model>, or vectors of a format as <embeddings> FORMAT=FILE",
        )
    return (Format.PRX, *others)


@dataclass(frozen=True, slots=True)
class VectorResults:
    """What a protocol measured of vectors.

    Attributes:
        results: The table.
        sources: Sources of the vectors.
        about: More facts; paths among the values are those of data, and `factors` has the source of each factor.
    """

    results: Results
    sources: Sequence[VectorSource]
    about: Mapping[str, Any]

    @property
    def facts(self) -> dict[str, Any]:
        """Facts to show with the results, as JSON values; with several sources, only their names."""
        plain = {name: str(value) if isinstance(value, Path) else value for name, value in self.about.items()}
        several = {"vectors": [source.name for source in self.sources]}
        return {**plain, **(self.sources[0].facts if len(self.sources) == 1 else several)}

    @property
    def factors(self) -> dict[str, str]:
        """What stands for each factor of matching, in words."""
        described: Mapping[str, Mapping[str, str]] = self.about.get("factors", {})
        return {factor: ", ".join(f"{name} {value}" for name, value in of.items()) for factor, of in described.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return facts, table and the values of all units as plain values, ready for JSON."""
        units = {label: outcome.per_unit for label, outcome in self.results.outcomes.items()}
        return {**self.facts, **self.results.as_dict(), "per_unit": units}

    def write_report(self, path: Path, title: str) -> None:
        """Write a report; `on` and the names of the data follow its title."""
        from eval.reports.forms import write_report
        from eval.reports.report import gather_provenance
        from eval.reports.results import results_report

        data = [value for value in self.about.values() if isinstance(value, Path)]
        rest = {name: value for name, value in self.about.items() if name != "factors" and value not in data}
        provenance = gather_provenance(
            data=dict.fromkeys([*data, *(file for source in self.sources for file in source.files.values())]),
            cards=[source.card for source in self.sources if source.card],
            runtime=", ".join(dict.fromkeys(filter(None, (source.runtime() for source in self.sources)))),
            settings={name: str(value) for name, value in rest.items() if value}
            | {f"factor {name}": described for name, described in self.factors.items()},
        )
        where = ", ".join(one.name for one in data) or "the hub"
        write_report(results_report(f"{title} on {where}", self.results, provenance), path)


def _files(given: Sequence[str]) -> dict[Format | None, Path]:
    known = [task_format.value for task_format in Format]
    files: dict[Format | None, Path] = {}
    for text in given:
        name, equals, path = text.partition("=")
        task_format = Format(name) if equals and name in known else None
        if equals and task_format is None and not Path(text).exists():
            forms = f"FILE, or {', '.join(f'{name}=FILE' for name in known)}"
            raise InputError(f"There is no format {name!r} and no file {text}; --embeddings takes {forms}.")
        if task_format in files:
            raise InputError(f"--embeddings names two files for {task_format or 'all formats'}; keep one of them.")
        files[task_format] = Path(path if task_format else text)
    return files
