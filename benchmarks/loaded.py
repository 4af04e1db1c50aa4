"""Memory that a loaded model takes, against the size of its files: after loading, and after encoding texts.

The memory of the runtime's library is subtracted: a network of one layer is loaded before. Each is a process of
its own. Run: python -m benchmarks.loaded
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from benchmarks.common import texts_of_length
from encoders.encoder import load_encoder
from tests.tiny import make_model

MODEL = "all-MiniLM-L6-v2"
TEXTS = 64
TOKENS = 200


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        measure(*sys.argv[2:4], Path(sys.argv[4]))
        return
    kinds = [("onnx", "int8"), ("onnx", "fp32")]
    if find_spec("openvino"):
        kinds += [("openvino", "int8")]
    print(f"{'':14} {'files, MiB':>12} {'loaded, MiB':>12} {'x files':>8} {'encoding, MiB':>14}")
    with tempfile.TemporaryDirectory() as cache:
        for runtime, precision in kinds:
            for _ in range(2):  # the first builds the files, which takes memory of its own
                command = [sys.executable, "-m", "benchmarks.loaded", "--one", runtime, precision, cache]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
            print(done.stdout, end="", flush=True)


def measure(runtime: str, precision: str, cache: Path) -> None:
    tiny = load_encoder(str(make_model(cache / "tiny")), cache_dir=cache, runtime=runtime, precision=precision)
    tiny.encode(["virus"])
    before = resident()
    encoder = load_encoder(MODEL, cache_dir=cache, runtime=runtime, precision=precision)
    encoder.sessions(tuple(dict.fromkeys(encoder.card.heads.values())))
    loaded = resident() - before
    encoder.encode(texts_of_length(TEXTS, TOKENS))
    encoding = resident() - before - loaded
    (folder,) = (cache / "graphs").glob(f"{encoder.card.fingerprint}-*{runtime}-{precision}*")
    files = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) >> 20
    print(f"{runtime + ' ' + precision:14} {files:12} {loaded:12} {loaded / files:8.2f} {encoding:14}")


def resident() -> int:
    """MiB that the process holds in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 >> 20


if __name__ == "__main__":
    main()
