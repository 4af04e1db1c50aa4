"""The CPU is known by name, count and features, and how it multiplies bytes by a trial."""

from __future__ import annotations

import os
import platform
from types import SimpleNamespace

import numpy as np
import onnxruntime
import pytest

from encoders.runtimes import hardware as module
from encoders.runtimes.hardware import TRIAL, Processor, processor, products_saturate


@pytest.mark.parametrize(
    ("features", "sets"),
    [
        ("fpu sse2 avx avx2 fma", ("avx2",)),
        ("avx2 avx_vnni", ("avx2", "vnni")),
        ("avx2 avx512f avx512_bf16 avx512_vnni amx_int8", ("avx2", "avx512", "vnni", "amx", "bf16")),
        ("fp asimd asimddp sve i8mm bf16", ("neon", "dotprod", "i8mm", "bf16")),
        ("avx2_0 avx512vnni amx_bf16", ("avx2", "vnni", "bf16")),
        ("avx512_vnni amx_int8 amx_tile", ("vnni", "amx")),
        ("AdvSIMD FEAT_DotProd FEAT_I8MM FEAT_BF16", ("neon", "dotprod", "i8mm", "bf16")),
        ("neon avx512_bf16", ("neon", "bf16")),
        ("avx512 avx2x xneon", ()),
        ("", ()),
    ],
)
def test_those_that_matter_are_named(features, sets):
    assert Processor("any", 2, features).instruction_sets == sets


def test_macos_is_asked_by_sysctl(monkeypatch):
    said = {
        "machdep.cpu.brand_string": "Apple M2\n",
        "hw.optional": "hw.optional.AdvSIMD: 1\nhw.optional.arm.FEAT_I8MM: 1\nhw.optional.arm.FEAT_BF16: 0\n",
    }
    monkeypatch.setattr(platform, "system", lambda: "Darwin")

    def run(command, **options):
        asked.append(command)
        assert options == {"capture_output": True, "text": True, "check": False}
        return SimpleNamespace(stdout=said[command[-1]])

    asked = []
    monkeypatch.setattr(module.subprocess, "run", run)
    found = processor()
    assert found == ("Apple M2", os.cpu_count(), "AdvSIMD FEAT_I8MM")
    assert found.instruction_sets == ("neon", "i8mm")
    asked.sort(key=len)
    sysctl = "/usr/sbin/sysctl"
    assert asked == [[sysctl, "hw.optional"], [sysctl, "-n", "machdep.cpu.brand_string"]]


def test_a_macos_without_sysctl_tells_nothing(monkeypatch):
    def run(command, **options):
        raise FileNotFoundError

    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(module.subprocess, "run", run)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processor() == ("", 1, "")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ("processor\t: 0\nmodel name\t: Xeon: 8\nflags\t\t: avx2 fma\n", ("Xeon: 8", 3, "avx2 fma")),
        ("processor\t: 0\nFeatures\t: asimd i8mm\n\nCPU part\t: 0xd4f\n", ("Neoverse", 3, "asimd i8mm")),
        ("", ("Neoverse", 3, "")),
        (None, ("Neoverse", 3, "")),
    ],
)
def test_linux_is_asked_by_its_file(told, expected, tmp_path, monkeypatch):
    if told is not None:
        (tmp_path / "cpuinfo").write_text(told)
    opened = []
    monkeypatch.setattr(module, "Path", lambda name: opened.append(name) or tmp_path / "cpuinfo")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "processor", lambda: "Neoverse")
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert processor() == expected
    assert opened == ["/proc/cpuinfo"]


def test_a_processor_without_a_name_has_that_of_its_kind(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "Path", lambda name: tmp_path / "none")
    for name, known in {"system": "Windows", "processor": "", "machine": "AMD64"}.items():
        monkeypatch.setattr(platform, name, lambda known=known: known)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert processor() == ("AMD64", 1, "")


def test_a_system_that_tells_nothing_has_a_name_and_cores(monkeypatch):
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setattr(module, "_sysctl", lambda *arguments: "")
    assert processor()[1:] == (os.cpu_count(), "")


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
