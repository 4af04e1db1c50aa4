"""The trial that tells whether products of bytes saturate."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from encoders.runtimes.saturation import TRIAL, products_saturate


@pytest.mark.parametrize(("sum_", "saturates"), [(64_770, False), (32_767, True)])
def test_two_of_the_largest_products_are_added(sum_, saturates, monkeypatch):
    class Session:
        def __init__(self, graph, options, providers):
            assert (graph, options.intra_op_num_threads, providers) == (TRIAL, 1, ["CPUExecutionProvider"])

        def run(self, names, given):
            assert names is None
            assert (given["a"].tolist(), given["a"].dtype) == ([[255, 255]], np.uint8)
            assert (given["b"].tolist(), given["b"].dtype) == ([[127], [127]], np.int8)
            return [np.array([[sum_]], np.int32)]

    monkeypatch.setattr(onnxruntime, "InferenceSession", Session)
    assert products_saturate.__wrapped__() is saturates


def test_onnxruntime_runs_it():
    assert products_saturate() in (False, True)
