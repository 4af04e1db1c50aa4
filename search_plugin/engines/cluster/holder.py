"""Who holds a lease, and whether the holder is still running."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def here() -> str:
    """Return this machine and its process namespace: each container numbers its own processes."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        numbering = Path("/proc/self/ns/pid").stat().st_ino
    except OSError:
        return socket.gethostname()
    return f"{socket.gethostname()} {boot} {numbering}"


def place_of(holder: Mapping[str, Any]) -> str:
    """Return where a holder runs, for messages."""
    machine = str(holder.get("host", "")).partition(" ")[0]
    return f"process {holder.get('process')} on {machine}" if machine else "it has just begun"


def keeper_of(holder: str) -> str:
    """Return the name of the thread that renews a holder's lease."""
    return f"lease {holder}"


def seen_dead(holder: Mapping[str, Any]) -> bool:
    """Return whether a holder ran on this machine and has ended, even if it renewed a moment ago."""
    process = holder.get("process")
    if holder.get("host") != here() or not isinstance(process, int) or os.name != "posix":
        return False
    if process == os.getpid():
        keeper = keeper_of(str(holder.get("holder")))
        return all(thread.name != keeper for thread in threading.enumerate())
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def silent(holder: Mapping[str, Any], seconds: float) -> bool:
    """Return whether a holder's last renewal is older than that, by this machine's clock."""
    renewed = holder.get("renewed")
    return not isinstance(renewed, int | float) or abs(time.time() - renewed) >= seconds
