"""nginx before a service, as docs/serving.md sets it up."""

from __future__ import annotations

import re
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.front_ends.clusters import wait_for
from tests.guide import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def nginx_lines(prefix: str) -> str:
    """Return the lines of docs/serving.md for nginx, which serve ses under another path."""
    page = (ROOT / "docs" / "serving.md").read_text(encoding="utf-8")
    return re.findall(r"```nginx\n(.*?)```", page, re.DOTALL)[0].replace("/ses", prefix)


@contextmanager
def nginx(folder: Path, lines: str, service: str, port: int) -> Iterator[None]:
    """Run nginx before a service, with the lines of docs/serving.md."""
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/errors; events {{}}"
        f"http {{ access_log off; {temporary} server {{ listen 127.0.0.1:{port}; "
        f"{lines.replace('127.0.0.1:8765', service)} }} }}"
    )
    process = subprocess.Popen([str(shutil.which("nginx")), "-p", str(folder), "-c", str(folder / "nginx.conf")])
    try:
        wait_for(port)
        yield
    finally:
        process.terminate()
        process.wait()
