"""Engines: who runs the jobs. All have one method, `run`, which gives results as they come.

A job is a function of a module and one argument; it may run twice (its worker died), so it must write whole files under
names that depend on its input alone. A job that ends in an error, or whose worker dies again and again, is a `Failure`.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from types import TracebackType
from typing import Any, Protocol

from steelyard.core.errors import (
    MissingExtra,
    OutOfRange,
    ServerFailure,
    SteelyardError,
    UnknownName,
    Unsupported,
    WriteError,
    nearest,
)
from steelyard.core.frozen import Frozen
from steelyard.engine.threads import use_threads
from steelyard.scale.shards import take_damaged

ENGINES = ("local", "dask", "ray")
ATTEMPTS = 3  # before a job whose worker dies is given up

Job = Callable[[Any], Any]


class Failure(Frozen):
    """Why a job gave no result; `of_data` says whether its input is to blame, not a disk that is full."""

    reason: str
    of_data: bool = True


class Remade(Frozen):
    """A job's result, where it found states damaged and made them again."""

    result: Any
    states: tuple[str, ...]


class Engine(Protocol):
    """Runs jobs and gives (index, result, Remade or Failure) as they end, in any order."""

    workers: int

    def run(self, job: Job, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Run the job for every item."""

    def close(self) -> None:
        """Give back what was started."""


def run_guarded(job: Job, item: Any, threads: int) -> Any:
    """Run a job on a worker; what a user can cause comes back as a Failure."""
    try:
        with use_threads(threads):
            result = job(item)
        states = take_damaged()
        return Remade(result, states) if states else result
    except SteelyardError as error:
        return Failure(str(error), of_data=not isinstance(error, WriteError))
    except (OSError, MemoryError) as error:  # readers name what is wrong with a file: an OSError is the system's
        return Failure(f"{type(error).__name__}: {error}", of_data=not isinstance(error, OSError))


def end_with_parent() -> None:
    """Let this process end when the one that started it is gone, however that ended."""
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, name="end with parent", daemon=True).start()


class Local:
    """Processes of this machine; with one worker, this process. A pool whose worker dies is replaced."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.threads = max(1, (os.cpu_count() or 1) // workers)
        self._pool: ProcessPoolExecutor | None = None

    def run(self, job: Job, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Run the job for every item."""
        if self.workers == 1:
            for index, item in enumerate(items):
                yield index, run_guarded(job, item, self.threads)
            return
        pending = list(range(len(items)))[::-1]
        died = dict.fromkeys(pending, 0)
        flying: dict[Future[Any], int] = {}
        while pending or flying:
            suspects = [index for index in pending if died[index]]
            while pending and len(flying) < (2 * self.workers if not suspects else 1):  # suspects go one at a time
                index = suspects.pop() if suspects else pending[-1]
                pending.remove(index)
                flying[self._submit(job, items[index])] = index
                if died[index]:
                    break
            done, _ = wait(flying, return_when=FIRST_COMPLETED)
            broken = False
            for future in done:
                error = future.exception()
                if isinstance(error, BrokenProcessPool):
                    broken = True
                elif error is not None:
                    raise error
                else:
                    yield flying.pop(future), future.result()
            if broken:  # all that were under way have to run again
                self.close()
                for index in flying.values():
                    died[index] += 1
                    if died[index] > ATTEMPTS:
                        yield index, Failure(f"its worker died {died[index]} times")
                    else:
                        pending.append(index)
                flying = {}

    def _submit(self, job: Job, item: Any) -> Future[Any]:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.workers, mp_context=context, initializer=end_with_parent)
        try:
            return self._pool.submit(run_guarded, job, item, self.threads)
        except BrokenProcessPool as error:
            failed: Future[Any] = Future()
            failed.set_exception(error)
            return failed

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


# Without an address, the scheduler would listen on port 8787, which another scheduler may already use.
NO_DASHBOARD = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}


class Dask:
    """A Dask cluster: the one at `address`, or one on this machine that ends with the run."""

    def __init__(self, workers: int, address: str | None) -> None:
        try:
            import distributed
        except ImportError:
            raise MissingExtra("the engine dask", "dask") from None
        self._distributed = distributed
        self._cluster = None
        try:
            if address is None:
                self._cluster = distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, host="127.0.0.1", scheduler_kwargs=NO_DASHBOARD
                )
            self._client = distributed.Client(self._cluster or address, set_as_default=False, timeout=20)
        except (OSError, ValueError) as error:
            raise ServerFailure(f"no Dask scheduler answers: {error}", where=str(address)) from None
        self.workers = max(1, len(self._client.ncores()))

    def run(self, job: Job, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Run the job for every item; the scheduler runs it again where a worker dies.

        It blames what waited on that worker too: where several are blamed, each runs once more by itself.
        """
        futures = [self._client.submit(run_guarded, job, item, 1, pure=False) for item in items]
        place = {future.key: index for index, future in enumerate(futures)}
        blamed: list[int] = []
        try:
            for future in self._distributed.as_completed(futures, loop=self._client.loop):
                index = place[future.key]
                if self._workers_died(future):
                    blamed.append(index)
                else:
                    yield index, future.result()
            for index in blamed:
                alone = self._client.submit(run_guarded, job, items[index], 1, pure=False) if len(blamed) > 1 else None
                if alone is None or self._workers_died(alone):
                    yield index, Failure("its worker died again and again")
                else:
                    yield index, alone.result()
        finally:
            under_way = [future for future in futures if not future.done()]
            if under_way:
                self._client.cancel(under_way)

    @staticmethod
    def _workers_died(future: Any) -> bool:
        """Whether workers died of a job; another error is raised."""
        error = future.exception()
        if error is not None and type(error).__name__ != "KilledWorker":
            raise error
        return error is not None

    def close(self) -> None:
        """Leave the cluster; end it where this run started it."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()


class Ray:
    """A Ray cluster: the one at `address`, or one on this machine that ends with the run."""

    def __init__(self, workers: int, address: str | None) -> None:
        try:
            import ray
        except ImportError:
            raise MissingExtra("the engine ray", "ray") from None
        self._ray = ray
        try:
            if address is None:
                ray.init(
                    num_cpus=workers, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR,
                    _node_ip_address="127.0.0.1",
                )  # fmt: skip
            else:
                ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ServerFailure(f"no Ray cluster answers: {error}", where=str(address)) from None
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))

    def run(self, job: Job, items: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        """Run the job for every item; Ray runs it again where a worker dies."""
        remote = self._ray.remote(num_cpus=1, max_retries=ATTEMPTS)(run_guarded)
        place = {remote.remote(job, item, 1): index for index, item in enumerate(items)}
        waiting = list(place)
        try:
            while waiting:
                done, waiting = self._ray.wait(waiting, num_returns=1)
                for reference in done:
                    try:
                        yield place[reference], self._ray.get(reference)
                    except (self._ray.exceptions.WorkerCrashedError, self._ray.exceptions.OutOfMemoryError):
                        yield place[reference], Failure("its worker died again and again")
        finally:
            for reference in waiting:
                self._ray.cancel(reference)

    def close(self) -> None:
        """Leave the cluster; end it where this run started it."""
        self._ray.shutdown()


class Started:
    """An engine that is given back at the end of a `with`."""

    def __init__(self, name: str, workers: int | None, address: str | None) -> None:
        if name not in ENGINES:
            raise UnknownName(f"there is no engine '{name}'", remedy=nearest(name, ENGINES))
        if workers is not None and workers < 1:
            raise OutOfRange(f"{workers} workers cannot run anything", remedy="Give at least 1.")
        if name == "local" and address is not None:
            raise Unsupported(
                "the engine local has no address", remedy="Choose `engine='dask'` or `engine='ray'` for a cluster."
            )
        count = workers or os.cpu_count() or 1
        self.engine: Engine
        if name == "dask":
            self.engine = Dask(count, address)
        elif name == "ray":
            self.engine = Ray(count, address)
        else:
            self.engine = Local(count)

    def __enter__(self) -> Engine:
        return self.engine

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.engine.close()
