"""Whether the machine has a GPU that CUDA runs on."""

from __future__ import annotations


def has_device() -> bool:
    """Return whether NVIDIA's driver is installed and sees a GPU.

    The driver's management library is asked: torch takes seconds to import, and asking CUDA itself would leave
    processes that are forked later without it.
    """
    import ctypes

    for name in ("libnvidia-ml.so.1", "nvml.dll"):
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        count = ctypes.c_uint(0)
        if driver.nvmlInit_v2() == 0:
            driver.nvmlDeviceGetCount_v2(ctypes.byref(count))
            driver.nvmlShutdown()
        return count.value > 0
    return False
