"""Workers that fail by the papers they get: encoders of other processes are told so by a module that Python imports.

`make_failing(folder)` returns the environment of such processes. A title with one of these words has an effect on all
papers that are encoded with it, in every process with that environment:

- `poison`: the encoder raises an error;
- `deadly`: the process ends at once;
- `slow`: the encoder waits for a second.

A process with `SES_TEST_LATE` waits so many seconds before each block.

Each block that is encoded is noted in the file `encoded` of the folder: `counted(folder)` returns how often, by its
first text, and `counted(folder, "late")` those of late processes. What is encoded alone is not noted.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

_MODULE = """
import os, time
import encoders.encoder as module

whole = module.Encoder.encode_formats

def encode_formats(self, texts, formats, *more):
    late = os.environ.get("SES_TEST_LATE")
    if late and len(texts) > 1:
        time.sleep(float(late))
    if any("slow" in text for text in texts):
        time.sleep(1)
    if any("deadly" in text for text in texts):
        os._exit(9)
    if any("poison" in text for text in texts):
        raise RuntimeError("poisoned")
    made = whole(self, texts, formats, *more)
    if len(texts) > 1:
        for name in ("encoded", "late") if late else ("encoded",):
            note = os.open(os.path.join({folder!r}, name), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(note, (texts[0][:60] + "\\n").encode())
            os.close(note)
    return made

module.Encoder.encode_formats = encode_formats
"""


def make_failing(folder: Path) -> dict[str, str]:
    """Write the module, and return the environment of processes that import it."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_MODULE.format(folder=str(folder)))
    root = Path(__file__).parents[1]
    return {"PYTHONPATH": os.pathsep.join(map(str, (folder, root)))}


def counted(folder: Path, name: str = "encoded") -> Counter[str]:
    """Return how often each block was encoded by processes that fail, or by those that are late."""
    noted = folder / name
    return Counter(noted.read_text().splitlines()) if noted.exists() else Counter()
