"""The same as `opensearch`, with sentence-transformers' ONNX backend and int8, which its documentation calls fastest.

The model is exported and quantized for processors with VNNI first, which counts as a part of making the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.whole.base import Answer, Read, installed, model_folder
from benchmarks.whole.opensearch import connected, made_by, server

KIND = "avx512_vnni"


def versions() -> dict[str, str]:
    return installed("opensearch-py", "sentence-transformers", "optimum-onnx", "onnxruntime") | server()


def made(papers: Sequence[Read], folder: Path) -> Answer:
    connected()
    from sentence_transformers import SentenceTransformer, export_dynamic_quantized_onnx_model

    exported = SentenceTransformer(model_folder(), backend="onnx")
    exported.save_pretrained(str(folder / "model"))
    export_dynamic_quantized_onnx_model(exported, KIND, str(folder / "model"))
    file = {"file_name": f"model_qint8_{KIND}.onnx"}
    return made_by(SentenceTransformer(str(folder / "model"), backend="onnx", model_kwargs=file), papers)
