"""The nodes and constants of an ONNX graph that is being written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class Nodes:
    """Collects nodes and constants; each value is known by its name."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.arrays: dict[str, Any] = {}

    def constant(self, values: Sequence[Any]) -> str:
        import numpy as np

        array = np.array(values, dtype=np.int64)
        return self._store(f"ints_{array.shape}_{array.ravel().tolist()}".replace(" ", ""), array)

    def output(self, value: str, name: str) -> None:
        """Give a value the name under which the graph returns it."""
        from onnx import helper

        self.nodes.append(helper.make_node("Identity", [value], [name]))

    def _op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        return self._ops(kind, *inputs, outputs=1, **attributes)[0]

    def _ops(self, kind: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        from onnx import helper

        names = [f"{kind.lower()}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=names[0], **attributes))
        return names

    def _store(self, name: str, array: Any) -> str:
        self.arrays.setdefault(name, array)
        return name

    def _ints(self, *values: int) -> str:
        return self.constant(values)

    def _scalar(self, value: int) -> str:
        import numpy as np

        return self._store(f"int_{value}", np.array(value, dtype=np.int64))

    def _float(self, value: float) -> str:
        import numpy as np

        return self._store(f"float_{value}", np.array(value, dtype=np.float32))
