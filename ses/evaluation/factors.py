"""Where the vectors of a factor of paper-reviewer matching come from: a file, or a model's format or instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.errors import InputError
from encoders.models.formats import Format
from ses.evaluation.retrieval import model_of
from ses.evaluation.vectors import VectorSource, model_source, vector_source

if TYPE_CHECKING:
    from encoders.models.model import Model
    from eval.embedder import Text, Vectors
    from products.reviewers.rules import Matching
    from ses.settings import Settings


@dataclass(frozen=True, slots=True)
class Factor:
    """The vectors that represent a factor.

    Attributes:
        source: Source of the vectors.
        facts: Model with its fingerprint, and format or instruction; or the file.
        task_format: The format to request from the source.
    """

    source: VectorSource
    facts: Mapping[str, str]
    task_format: Format = Format.PRX

    def embed(self, texts: Sequence[Text]) -> Vectors:
        """Return the vectors of texts."""
        return self.source.embed(texts, self.task_format)


def find_factors(
    matching: Matching,
    instructions: Mapping[str, str],
    embeddings: Sequence[str],
    named: Sequence[str],
    settings: Settings,
    *,
    model_named: bool = False,
) -> dict[str, Factor]:
    """Find the vectors of the factors: of all, or of those that are named.

    Args:
        matching: A paper's rules, with more than one factor.
        instructions: Instruction of each factor, which a checkpoint of UniPR reads.
        embeddings: `FACTOR=FILE` each.
        named: `FACTOR=FORMAT` each, or `FACTOR` for the model's own instruction.
        settings: Settings that name the model, the default one if none is named.
        model_named: Whether the user named a model, which is an error where it would not be used.

    Returns:
        The vectors by factor, in the matching's order.

    Raises:
        InputError: If a factor is unknown or named twice, the model lacks what stands for one, or two factors would
            have the same vectors.
        UnavailableError: If the model isn't there.
    """
    from encoders.layouts.unipr import factor_models

    files, formats = _by_factor(matching, embeddings, "--embeddings"), _by_factor(matching, named, "--factor")
    if twice := sorted(files.keys() & formats.keys()):
        raise InputError(f"The factor {twice[0]} has both --embeddings and --factor; keep one of them.")
    if missing := [factor for factor, file in files.items() if not file]:
        raise InputError(f"--embeddings {missing[0]} names no file: write --embeddings {missing[0]}=FILE.")
    if files and not formats and model_named:
        raise InputError("With --embeddings alone no model is used: leave --model out, or give --factor FACTOR=FORMAT.")
    found = {factor: _of_file(Path(file), settings) for factor, file in files.items()}
    if formats or not files:
        model = model_of(settings)
        instructed = factor_models(model, instructions)
        for factor, name in (formats or dict.fromkeys(matching.factors, "")).items():
            if name:
                found[factor] = _of_format(model, name, settings)
            elif factor in instructed:
                facts = {"instruction": instructions[factor], **_facts(instructed[factor])}
                found[factor] = Factor(model_source(instructed[factor], settings), facts)
            else:
                raise InputError(
                    f"{model.card.name} has no vectors made for the factor {factor}: name the format that stands for "
                    f"it, as in --factor {factor}={model.card.formats[0]}, or give --embeddings {factor}=FILE; factors "
                    "that aren't named are left out."
                )
    _require_different(found)
    return {factor: found[factor] for factor in matching.factors if factor in found}


def _by_factor(matching: Matching, given: Sequence[str], option: str) -> dict[str, str]:
    parts = [text.partition("=")[::2] for text in given]
    names = [factor for factor, _ in parts]
    if wrong := [factor for factor in names if factor not in matching.factors or names.count(factor) > 1]:
        raise InputError(
            f"{option} names {wrong[0]!r}; name each of the factors {', '.join(matching.factors)} once at most, "
            f"as in {option} {matching.factors[0]}=..."
        )
    return dict(parts)


def _of_file(file: Path, settings: Settings) -> Factor:
    return Factor(vector_source([str(file)], settings), {"file": str(file)})


def _of_format(model: Model, name: str, settings: Settings) -> Factor:
    if name not in list(Format):
        raise InputError(f"There is no format {name!r}; choose one of {', '.join(Format)}.")
    task_format = Format(name)
    model.card.head(task_format)  # reports a missing format before papers are encoded
    return Factor(model_source(model, settings), {"format": name, **_facts(model)}, task_format)


def _facts(model: Model) -> dict[str, str]:
    return {"model": model.card.name, "fingerprint": model.card.fingerprint}


def _require_different(factors: Mapping[str, Factor]) -> None:
    seen: dict[object, str] = {}
    for name, factor in factors.items():
        card, task_format = factor.source.card, factor.task_format
        same: object = factor.facts["file"] if card is None else (card.fingerprint, card.origin(task_format))
        if same in seen:
            raise InputError(
                f"The factors {seen[same]} and {name} would have the same vectors ({factor.source.name}): leave one of "
                "them out, or name another format or file."
            )
        seen[same] = name
