"""int8 on an x86-64 processor without VNNI, which qemu emulates, gives the vectors that this processor gives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from encoders.encoder import load_encoder
from encoders.runtimes.sessions import sample_texts

pytestmark = pytest.mark.emulation


def vectors(cache_dir):
    """That of a text of two sentences, float32 (1, 384): qemu takes ten times as long for twelve."""
    encoder = load_encoder("all-MiniLM-L6-v2", cache_dir=cache_dir, precision="int8", threads=1)
    return encoder.encode([sample_texts()[1]])


@pytest.mark.slow
def test_int8_gives_the_same_vectors_without_vnni(shared_cache, tmp_path):
    here = vectors(shared_cache)
    code = (
        "import sys, numpy; from pathlib import Path; from tests.encoders.test_older_processor import vectors\n"
        "from encoders.runtimes.hardware import products_saturate; assert products_saturate()\n"
        "numpy.save(sys.argv[1], vectors(Path(sys.argv[2])))"
    )
    command = ["qemu-x86_64", "-cpu", "Haswell", sys.executable, "-c", code, tmp_path / "there.npy", shared_cache]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])})
    assert (here * np.load(tmp_path / "there.npy")).sum(axis=1).min() > 1 - 1e-4
