"""transformers: Hugging Face's own code, for encoders that ses has no architecture for, such as DeBERTa or ELECTRA.

A `config.json` is not to be trusted: it can name code, kernels and quantizers to fetch. Of it only plain settings are
kept, for a class that the library itself has.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from corpora.documents import read_json
from corpora.errors import InputError, UnavailableError
from corpora.installed import extra, needing
from corpora.lazy import np
from encoders.architectures.registry import TRANSFORMERS
from encoders.models.card import ModelCard
from encoders.models.folder import check_dimensions, check_limits
from encoders.models.formats import Precision
from encoders.runtimes.pooling import read_pooling, write_pooling
from encoders.runtimes.registry import RuntimeSource, Session

_WEIGHTS, _CONFIG = "model.safetensors", "config.json"

_NO_SETTINGS = (
    *("auto_map", "quantization_config", "attn_implementation", "experts_implementation", "use_kernels"),
    *("dtype", "torch_dtype", "transformers_version"),
)

_LABELS = ("num_labels", "id2label", "label2id")

_ALIKE: Mapping[Precision, float] = {"fp32": 1e-3, "bf16": 0.1}
"""How much a text's states may differ between alone and padded, as a share of the largest: by rounding only."""


def plain_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a `config.json` says of the network alone, without what could load code or change its numbers."""
    return {
        key: plain_settings(value) if isinstance(value, Mapping) else value
        for key, value in config.items()
        if not key.startswith("_") and key not in _NO_SETTINGS
    }


def configuration(path: Path, config: Mapping[str, Any]) -> Any:
    """Return transformers' own configuration of an encoder of texts; `InputError` if it has none such."""
    family = str(config.get("model_type"))
    auto = _library(path, family).models.auto
    if family not in auto.CONFIG_MAPPING:
        raise InputError(
            f"{path} has the model type {family}, which neither ses nor this version of transformers knows; "
            "choose another model."
        )
    check_limits(path, config)
    kind = auto.CONFIG_MAPPING[family]
    # Encoders learn by filling in masked words; decoders, and models of images or sounds, don't.
    masked = family in auto.modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES
    try:
        # For a number of labels, the library would make as many names.
        settings = {key: value for key, value in plain_settings(config).items() if key not in _LABELS}
        made = kind(**settings) if masked else kind()
    except Exception as error:
        # Its checks raise errors of several libraries.
        raise InputError(f"{path} is not a configuration of {family} ({_first_line(error)}).") from error
    if made.is_encoder_decoder:
        raise InputError(f"{path} has the model type {family}, which is an encoder-decoder; ses needs an encoder.")
    if not masked or getattr(made, "is_decoder", False):
        raise InputError(f"{path} has the model type {family}, which is no encoder of texts; ses needs an encoder.")
    return made


def prepare(source: RuntimeSource, precision: Precision, folder: Path) -> None:
    """Write weights, configuration and pooling into a folder, after a trial of them."""
    import ml_dtypes
    from safetensors.numpy import save_file

    card, facts = source.card, source.card.network
    if card.architecture != TRANSFORMERS:
        raise InputError(f"{card.name} is a {card.family} model, which ses runs itself", "leave out <runtime>")
    check_dimensions(card.name, facts.options["config"], source.weights)
    kind = ml_dtypes.bfloat16 if precision == "bf16" else np.float32
    weights = {name: np.ascontiguousarray(array, dtype=kind) for name, array in source.weights.items()}
    save_file(weights, folder / _WEIGHTS, metadata={"format": "pt"})
    (folder / _CONFIG).write_text(json.dumps(dict(facts.options["config"])), encoding="utf-8")
    write_pooling(source, precision, folder)
    model, report = _model(folder, precision)
    _check_weights(card, model, set(weights), report)
    _check_positions(card, model)
    try:
        _check_padding(source, _states(model), _ALIKE[precision])
    except (LookupError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"transformers can't run {card.name} at {precision} ({_first_line(error)})", "choose another <precision>"
        ) from error


def load(folder: Path, threads: int) -> Session:
    """Load what `prepare` wrote; `InputError` if it is damaged, `UnavailableError` if a package is missing."""
    try:
        pooling = read_pooling(folder)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{folder} holds an incomplete model of transformers; delete it to create it again."
        ) from error
    model, _ = _model(folder, pooling.precision)
    states = _states(model)

    def run(ids: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
        if threads:
            import torch

            torch.set_num_threads(threads)
        return pooling.vectors(states(ids, mask), mask)

    return Session(run)


def _model(folder: Path, precision: Precision) -> tuple[Any, Mapping[str, Any]]:
    """Load the network, and the library's report of the weights that it missed or did not use."""
    try:
        content = read_json(folder / _CONFIG)
        config = configuration(folder / _CONFIG, content)
        transformers = _library(folder, str(config.model_type))
        import torch

        model, report = transformers.AutoModel.from_pretrained(
            folder,
            config=config,
            dtype=torch.bfloat16 if precision == "bf16" else torch.float32,
            local_files_only=True,
            output_loading_info=True,
            trust_remote_code=False,
            use_safetensors=True,
        )
    except (InputError, UnavailableError):
        raise
    except Exception as error:
        raise InputError(f"transformers can't load the model ({_first_line(error)}); fetch it again.") from error
    return model.eval(), report


def _states(model: Any) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Return what runs a batch: ids and mask to the last hidden states, float32 (texts, tokens, width)."""
    import torch

    padding = model.config.pad_token_id if isinstance(model.config.pad_token_id, int) else 0

    def states(ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
        # Some networks tell padding by its id.
        """Return the last hidden states, float32 (texts, tokens, width)."""
        tokens, kept = torch.tensor(ids), torch.tensor(mask)
        with torch.inference_mode():
            out = model(input_ids=tokens.masked_fill(kept == 0, padding), attention_mask=kept)
        found: np.ndarray = out[0].float().numpy()
        return found

    return states


def _library(path: Path, family: str) -> Any:
    with needing(f"{path} is of the model type {family}, which ses runs by transformers", extra("train")):
        import torch  # noqa: F401 - the library can be imported without it, and run nothing
        import transformers
    logging.getLogger("transformers").setLevel(logging.ERROR)  # what it reports of weights is checked here
    transformers.utils.logging.disable_progress_bar()
    return transformers


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _check_weights(card: ModelCard, model: Any, names: set[str], report: Mapping[str, Any]) -> None:
    """Raise `InputError` unless weights and `config.json` fit, by what the library missed or did not use."""
    missing = [name for name in report["missing_keys"] if "pooler" not in name]  # no vector depends on a pooler
    if missing:
        raise InputError(f"The weights of {card.name} don't fit its config.json: they lack {', '.join(missing[:5])}.")
    # What stands beside the encoder's own prefix is a task's head. Without that prefix all should be the encoder's.
    prefix = f"{model.base_model_prefix}."
    bare = not any(name.startswith(prefix) for name in names)
    surplus = [
        name
        for name in sorted(report["unexpected_keys"])
        if (bare or name.startswith(prefix) or f"{prefix}{name}" in names)
        and not any(part in name for part in ("pooler", "position_ids"))
    ]
    if surplus:
        raise InputError(f"The weights of {card.name} don't fit its config.json: they hold {', '.join(surplus[:5])}.")


def _check_positions(card: ModelCard, model: Any) -> None:
    """Raise `InputError` unless the longest text has a row of the position table for each token."""
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            kept = 0 if module.padding_idx is None else module.padding_idx + 1
            longest = module.num_embeddings - kept
            if longest < card.max_tokens:
                raise InputError(
                    f"{card.name} takes {longest} tokens, not {card.max_tokens}; "
                    f'put {{"max_tokens": {longest}}} into a ses_card.json in its folder.'
                )


def _check_padding(source: RuntimeSource, states: Callable[[np.ndarray, np.ndarray], np.ndarray], alike: float) -> None:
    """Raise `InputError` if a text's states depend on others of its batch, as some networks don't mask padding."""
    shortest = source.samples[-1]
    length = min(int(shortest.mask[-1].sum()), source.card.max_tokens - 1)
    ids, mask = shortest.ids[-1:, :length], np.ones((1, length), dtype=np.int64)
    padding = ((0, 0), (0, min(7, source.card.max_tokens - length)))
    alone, padded = states(ids, mask), states(np.pad(ids, padding), np.pad(mask, padding))[:, :length]
    if not np.abs(padded - alone).max() < alike * max(1.0, float(np.abs(alone).max())):
        raise InputError(
            f"{source.card.name} gives a text other vectors beside longer texts than alone: {source.card.family} "
            "models have no mask for padding, or draw by chance; choose another model."
        )
