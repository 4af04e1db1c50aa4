"""Training: by a recipe (`ses.train`), and formats of one's own by the papers of an index (`library.formats`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from corpora.errors import InputError
from encoders.models.formats import parse_format
from ses.argument_validation import checked, checked_methods

if TYPE_CHECKING:
    from encoders.models.model import Model
    from encoders.text_encoder import TextEncoder
    from search_plugin.contract.engine import Index
    from training.own.queries import OwnQueries
    from training.own.run import OwnFormat
    from training.train import Trained


@checked
def train(
    recipe: str | Path,
    folder: str | Path,
    *,
    data: str | Path | None = None,
    variant: str | None = None,
    minutes: float | None = None,
    resume: bool = False,
    say: Callable[[Mapping[str, Any]], None] = lambda _: None,
) -> Trained:
    """Train a model with a recipe (docs/training.md).

    Args:
        recipe: A TOML file of one recipe, or of variants.
        folder: Folder of the run: states, log and model. Each variant has its own folder in it.
        data: Folder that the paths in the recipe are relative to; the recipe's own if None.
        variant: Name of the variant to train, where a recipe has several.
        minutes: Time limit.
        resume: Resume the run in the folder.
        say: Receives a report of each step.

    Returns:
        The result; its `folder` is the model's, for `load_model`.

    Raises:
        InputError: If the recipe or the data can't be used, or a variant must be chosen.
        UnavailableError: If the memory or the disk is full, or torch is not installed.
    """
    from training.processes import joined
    from training.recipe import read_variants
    from training.train import train_variants

    variants = read_variants(Path(recipe), (variant,) if variant else (), Path(data) if data else None)
    if len(variants) > 1:
        raise InputError(f"The recipe {recipe} has the variants {', '.join(variants)}", "choose one with <variant>")
    with joined() as processes:
        ((_, trained),) = train_variants(
            variants,
            Path(folder),
            minutes=minutes,
            resume=resume,
            report=lambda _: nullcontext(say),
            processes=processes,
        )
    return trained


@checked_methods
@dataclass(frozen=True, slots=True)
class Formats:
    """Trains formats and queries by what an index holds; made by `library.formats`.

    Attributes:
        open: Returns a published index.
        load: Loads a model with the runtime and the cache of the library.
    """

    open: Callable[[str], Index]
    load: Callable[[Model], TextEncoder]

    def train(
        self,
        index: str,
        labels: str,
        folder: str | Path,
        *,
        format: str = "",  # noqa: A002 - the option's name
        minutes: float = 20.0,
        say: Callable[[Mapping[str, Any]], None] = lambda _: None,
    ) -> OwnFormat:
        """Train a format by a field of an index, and measure whether it is worth using (docs/training.md).

        Args:
            index: Index that holds the papers.
            labels: Field of labels or numbers to learn from.
            folder: Folder of the run: papers, recipe, log and model.
            format: Format to train, `clf` by labels and `rgn` by numbers; that of the field if empty.
            minutes: About how long it may take, the report included.
            say: Receives a report of each step.

        Returns:
            The model's folder, what it was trained on, and how it compares with what the index has already.

        Raises:
            InputError: If the field or the model of the index can't be used so, or the folder holds a recipe already.
            UnavailableError: If torch or scikit-learn is not installed, or the disk is full.
            StoppedError: If the user stopped it.
        """
        from training.own.run import train_format

        return train_format(
            self.open(index),
            labels,
            Path(folder),
            wanted=parse_format(format) if format else None,
            minutes=minutes,
            load=self.load,
            say=say,
        )

    def train_queries(
        self,
        index: str,
        topics: Any,
        qrels: Any,
        folder: str | Path,
        *,
        minutes: float = 20.0,
        say: Callable[[Mapping[str, Any]], None] = lambda _: None,
    ) -> OwnQueries:
        """Train the encoder of queries by judgments, and measure whether it is worth using; papers stay as they are.

        Args:
            index: Index that holds the papers.
            topics: Queries as `ses.experiment` takes them.
            qrels: Their judgments, as `ses.measure` takes them.
            folder: Folder of the run: target vectors, recipe, log and model.
            minutes: About how long it may take, the report included.
            say: Receives a report of each step.

        Returns:
            The folder of a model that asks the index as it is, and how searches by it compare with those of before.

        Raises:
            InputError: If the queries can't be read or are too few, or the folder holds a recipe already.
            UnavailableError: If torch is not installed, or the disk is full.
            StoppedError: If the user stopped it.
        """
        from ses.evaluation.retrieval import judged_of
        from training.own.queries import train_queries

        judged, _ = judged_of("", "", topics, qrels)
        opened = self.open(index)
        return train_queries(opened, judged, Path(folder), minutes=minutes, load=self.load, say=say)
