"""Workers that fail by the papers they get: encoders of other processes are told so by a module that Python imports.

`make_failing(folder)` returns the environment of such processes. A title with one of these words has an effect on all
papers that are encoded with it, in every process with that environment:

- `poison`: the encoder raises an error;
- `deadly`: the process ends at once;
- `slow`: the encoder waits for a second.

Each block that is encoded is noted in the file `encoded` of the folder: `counted(folder)` returns how often, by its
first text. What is encoded alone is not noted.
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
    if any("slow" in text for text in texts):
        time.sleep(1)
    if any("deadly" in text for text in texts):
        os._exit(9)
    if any("poison" in text for text in texts):
        raise RuntimeError("poisoned")
    made = whole(self, texts, formats, *more)
    if len(texts) > 1:
        note = os.open({noted!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(note, (texts[0][:60] + "\\n").encode())
        os.close(note)
    return made

module.Encoder.encode_formats = encode_formats
"""


def make_failing(folder: Path) -> dict[str, str]:
    """Write the module, and return the environment of processes that import it."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_MODULE.format(noted=str(folder / "encoded")))
    root = Path(__file__).parents[1]
    return {"PYTHONPATH": os.pathsep.join(map(str, (folder, root)))}


def counted(folder: Path) -> Counter[str]:
    """Return how often each block was encoded by processes that fail."""
    noted = folder / "encoded"
    return Counter(noted.read_text().splitlines()) if noted.exists() else Counter()
