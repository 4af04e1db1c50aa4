"""torch, on CPUs and on NVIDIA GPUs: for those who have it installed, and for bf16.

Its folder holds the weights in safetensors and a description of the network in JSON; it is untrusted input.
torch has no number of threads for a model, only one for whatever a caller's thread does: a session with a number of
its own sets it at each call, and it stays so afterwards. bf16 is fast only where the CPU has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.errors import InputError, UnavailableError
from corpora.lazy import np
from encoders.architectures.registry import ARCHITECTURES
from encoders.models.card import ModelCard
from encoders.models.formats import Precision
from encoders.ops.torch import TorchOps, import_torch
from encoders.runtimes.registry import Device, RuntimeSource, Session

_WEIGHTS, _NETWORK = "model.safetensors", "network.json"

Forward = Callable[[Any, Any], list[Any]]


@dataclass(frozen=True, slots=True)
class _Network:
    """The network of the weights: the model's card, and the heads whose vectors it gives."""

    card: ModelCard
    heads: tuple[str, ...]


def prepare(source: RuntimeSource, precision: Precision, folder: Path, device: Device = "cpu") -> None:
    """Write weights and network into a folder, after a trial of them."""
    torch = _torch(device)
    from safetensors.torch import save_file  # only now, since it imports torch too

    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    weights = {name: torch.tensor(array, dtype=kind) for name, array in source.weights.items()}
    network = _Network(source.card, source.heads)
    try:
        _try_out(weights, network)
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(
            f"The weights of {source.card.name} don't fit its config.json ({reason}); fetch the model again."
        ) from error
    save_file(weights, folder / _WEIGHTS)
    (folder / _NETWORK).write_bytes(_json().dump_json(network))


def load(folder: Path, threads: int, device: Device = "cpu") -> Session:
    """Load what `prepare` wrote; `InputError` if it is damaged, `UnavailableError` if torch or a GPU is missing."""
    torch = _torch(device)
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        network = _json().validate_json((folder / _NETWORK).read_bytes())
        weights = load_file(folder / _WEIGHTS)
        _try_out(weights, network)
    except (ArithmeticError, LookupError, OSError, RuntimeError, SafetensorError, TypeError, ValueError) as error:
        raise InputError(f"{folder} holds an incomplete torch model; delete it, and it is created again.") from error
    forward = _forward({name: tensor.to(device) for name, tensor in weights.items()}, network)

    def run(ids: np.ndarray, mask: np.ndarray) -> list[np.ndarray]:
        if threads:
            torch.set_num_threads(threads)
        with torch.inference_mode():
            vectors = forward(torch.tensor(ids, device=device), torch.tensor(mask, device=device))
            return [vector.cpu().numpy() for vector in vectors]

    return Session(run)


def _forward(weights: Mapping[str, Any], network: _Network) -> Forward:
    facts, architecture = network.card.network, ARCHITECTURES[network.card.architecture]
    ops = TorchOps(weights, facts.epsilon)
    return lambda ids, mask: architecture(ops, facts, ids, mask, network.heads)


def _try_out(weights: Mapping[str, Any], network: _Network) -> None:
    """Run a network once, on the CPU, where a wrong index is an error and not the end of CUDA in this process."""
    torch, card, facts = import_torch(), network.card, network.card.network
    if facts.first_position < 0 or facts.first_position + card.max_tokens > facts.positions:
        raise ValueError(f"{facts.positions} positions for {card.max_tokens} tokens from {facts.first_position} on")
    if facts.layers > len(weights):
        raise ValueError(f"{len(weights)} weights for {facts.layers} layers")
    if unknown := set(network.heads) - set(card.heads.values()):
        raise ValueError(f"no head {min(unknown)}")
    with torch.inference_mode():
        texts = torch.zeros((1, 2), dtype=torch.int64)
        vectors = _forward(weights, network)(texts, torch.ones_like(texts))
    shape = (1, 2, card.dimension) if facts.pooling == "tokens" else (1, card.dimension)
    if any(vector.shape != shape for vector in vectors):
        raise ValueError(f"vectors of {vectors[0].shape[-1]} numbers, not {card.dimension}")


def _torch(device: Device) -> Any:
    torch = import_torch()
    if device == "cuda" and not torch.cuda.is_available():
        raise UnavailableError(
            "torch finds no GPU",
            "install NVIDIA's driver and a torch that is built for CUDA, or choose <runtime=torch>",
        )
    return torch


def _json() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(_Network)
