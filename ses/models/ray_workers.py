"""Workers on a Ray cluster: plain tasks, which Ray places on its machines; vectors go to the shared folder."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from corpora.errors import InputError, UnavailableError, require
from corpora.installed import extra, needing
from encoders.runtimes.registry import RUNTIMES
from indexer.tasks import BlockResult, BlockTask
from indexer.workers import WorkerEndedError
from ses.models.workers import WorkerSettings, settings_of_worker, work_on
from ses.settings import Settings

_PATIENCE = 10
"""How long a cluster may take to answer (seconds)."""
_NODE = "ray.io/node-id"
"""A label that Ray gives each node."""


@contextmanager
def ray_pool(address: str, settings: Settings) -> Iterator[RayPool]:
    """Provide the workers of a Ray cluster; a connection that the program has already is used, and stays.

    The address is `auto`, for the cluster that this machine is in, or `HOST:PORT` of its head. A worker takes as many
    cores as the settings have threads, one if they say nothing. Raises `InputError` if the address is one of Ray
    Client, and `UnavailableError` if Ray is not installed, or there is no cluster.
    """
    require(
        "//" not in address,
        f"Workers can't be reached by ray://{address.rpartition('//')[2]}, since Ray Client passes all data through "
        "one connection",
        "run this on a machine of the cluster with <workers=ray>, or by `ray job submit`",
    )
    with needing("Workers of Ray need the package ray", extra("scale")):
        import ray
    connected = ray.is_initialized()
    if not connected:
        try:
            _knock(address)
            ray.init(address, log_to_driver=False, logging_level="ERROR")
        except (OSError, RuntimeError, ValueError) as error:
            raise UnavailableError(
                f"There is no Ray cluster at {address} ({error})",
                "start one by `ray start --head`, or name its head with <workers=ray:HOST:PORT>",
            ) from error
    try:
        yield RayPool(settings)
    finally:
        if not connected:
            ray.shutdown()


def _knock(address: str) -> None:
    """Raise `OSError` if nobody answers at `HOST:PORT`: Ray itself would try again for minutes."""
    import socket

    host, colon, port = address.rpartition(":")
    if colon:
        socket.create_connection((host, int(port)), _PATIENCE).close()


class RayPool:
    """The workers of the cluster that this process is connected to, as `indexer.workers.WorkerPool`.

    Args:
        settings: Settings of the library.
    """

    def __init__(self, settings: Settings) -> None:
        import ray

        runtime = RUNTIMES.get(settings.runtime or "")
        threads = settings.threads or 1
        gpus = 1 if runtime and runtime.device == "cuda" else 0
        self._settings = settings_of_worker(settings, threads)
        # We retry ourselves. By default, Ray ends a process that has used a GPU, and the model would be loaded again.
        self._task = ray.remote(num_cpus=threads, num_gpus=gpus, max_retries=0, max_calls=0)(_work)
        there = ray.cluster_resources()
        self.workers = max(1, int(there.get("GPU", 0) if gpus else there.get("CPU", 0) // threads))

    def run(self, task: BlockTask, without: Collection[str]) -> BlockResult:
        """Run a task on a machine that is not among some, if another one is alive."""
        import ray

        alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]} if without else set()
        placing: dict[str, Any] = {}
        if alive - set(without):
            placing["label_selector"] = {_NODE: f"!in({','.join(without)})"}
        try:
            result: BlockResult = ray.get(self._task.options(**placing).remote(task, self._settings))
        except ray.exceptions.RayTaskError as error:
            raise InputError(
                f"A worker can't run ses ({error.cause})", "install the same ses on all machines"
            ) from error
        except ray.exceptions.RayError as error:
            raise WorkerEndedError(str(error).partition("\n")[0]) from error
        return result


def _work(task: BlockTask, settings: WorkerSettings) -> BlockResult:
    import ray

    return work_on(task, settings, ray.get_runtime_context().get_node_id())
