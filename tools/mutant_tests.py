"""Run the tests against every mutant that mutmut made. Started by `tools/mutants.py` in the folder of the mutants.

All tests are collected once. Each mutant has a process of its own, forked from there, which runs the tests that reach
the changed function, the quickest first, until one fails. That costs some hundredths of a second a mutant, where a
start of pytest for each costs ten times as much.

Arguments: how many processes run beside each other, then patterns of names of mutants, then `--` and those of pytest.
"""

from __future__ import annotations

import fnmatch
import gc
import json
import os
import resource
import signal
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from _pytest.tmpdir import tmppath_result_key

NOTICED, SURVIVED, UNTESTED, WENT_WRONG = 1, 0, 33, 35  # as mutmut writes them
SLOW, LEAST_SECONDS = 5, 10  # a mutant may take so many times what the tests take, and never less than this


class Verdicts:
    """The mutants of all files, each with how its tests ended; None where it is still to be run."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.files = {
            path: json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path("src").rglob("*.meta"))
        }
        self.place = {name: path for path, kept in self.files.items() for name in kept["exit_code_by_key"]}
        self.open = [
            name
            for pattern in patterns or ["*"]
            for name, path in self.place.items()
            if fnmatch.fnmatch(name, pattern) and self.files[path]["exit_code_by_key"][name] is None
        ]

    def write(self, name: str, code: int) -> None:
        self.files[self.place[name]]["exit_code_by_key"][name] = code

    def save(self) -> None:
        for path in {self.place[name] for name in self.open}:
            path.write_text(json.dumps(self.files[path], indent=4), encoding="utf-8")


class Judge:
    """A pytest plugin that runs the collected tests against mutants."""

    def __init__(self, beside: int, patterns: Sequence[str]) -> None:
        self.beside, self.patterns = beside, patterns
        self.status = WENT_WRONG
        self.running: dict[int, str] = {}
        self.failures: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self.failed, self.fails = os.pipe()
        self.spoken: dict[int, int] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            return False
        verdicts = Verdicts(self.patterns)
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all processes
        reach, seconds = reached(session.items)
        gc.freeze()
        try:
            for done, name in enumerate(dict.fromkeys(verdicts.open)):
                function = function_of(name)
                before = self.failures[function]
                tests = sorted(reach[function], key=lambda i: (-before[i], seconds[i]))
                if not tests:
                    verdicts.write(name, UNTESTED)
                    continue
                while len(self.running) >= self.beside:
                    self.wait(verdicts)
                self.start(name, tests, session.items, sum(seconds[i] for i in tests))
                if done % 100 == 99:
                    verdicts.save()
                    print(f"{done + 1} of {len(verdicts.open)} mutants are run", file=sys.__stderr__, flush=True)
            while self.running:
                self.wait(verdicts)
        finally:
            verdicts.save()
        self.status = 0
        return True

    def start(self, name: str, tests: Sequence[int], items: Sequence[pytest.Item], seconds: float) -> None:
        """A process that runs tests against a mutant, and says which test fails."""
        child = os.fork()
        if child:
            self.running[child] = name
            return
        code = WENT_WRONG
        try:
            most = int(LEAST_SECONDS + SLOW * seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
            signal.alarm(30 * most)  # one that waits
            os.environ["MUTANT_UNDER_TEST"] = name
            code = SURVIVED
            for i, fault in zip(tests, faults([items[i] for i in tests]), strict=True):
                if fault is not None:
                    os.write(self.fails, f"{os.getpid()} {i}\n".encode())
                    code = NOTICED
                    break
        finally:
            os._exit(code)

    def wait(self, verdicts: Verdicts) -> None:
        """Wait until a process ends, and keep how. A test that failed goes first for the next of the same function."""
        child, status = os.wait()
        name = self.running.pop(child)
        code = os.waitstatus_to_exitcode(status)
        verdicts.write(name, code)
        if code == NOTICED:
            self.failures[function_of(name)][self.said(child)] += 1

    def said(self, child: int) -> int:
        """The test that failed in a process."""
        while child not in self.spoken:
            for line in os.read(self.failed, 1 << 16).decode().splitlines():
                one, test = map(int, line.split())
                self.spoken[one] = test
        return self.spoken.pop(child)


def function_of(name: str) -> str:
    """The function that a mutant is one of."""
    return name.partition("__mutmut_")[0]


def reached(items: Sequence[pytest.Item]) -> tuple[defaultdict[str, list[int]], dict[int, float]]:
    """The tests that reach each function, and what each test takes; all of them must pass."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        with os.fdopen(write, "w", encoding="utf-8") as out:
            for i, hits, seconds, failed in walked(items):
                out.write(json.dumps([i, hits, seconds, failed]) + "\n")
        os._exit(0)
    os.close(write)
    reach: defaultdict[str, list[int]] = defaultdict(list)
    taken = {}
    with os.fdopen(read, encoding="utf-8") as lines:
        for line in lines:
            i, hits, taken[i], failed = json.loads(line)
            if failed:
                raise pytest.UsageError(f"a test fails without any mutant: {items[i].nodeid}\n{failed}")
            for name in hits:
                reach[name].append(i)
    os.waitpid(child, 0)
    if len(taken) != len(items):
        raise pytest.UsageError("the tests ended before all were run")
    return reach, taken


def walked(items: Sequence[pytest.Item]) -> Iterator[tuple[int, list[str], float, str]]:
    """Each test without a mutant: the functions that it calls, what it takes, and how it fails."""
    from mutmut.mutation import trampoline

    hits: set[str] = set()
    trampoline.record_trampoline_hit = lambda name, caller=None: hits.add(name)  # type: ignore[assignment]
    os.environ["MUTANT_UNDER_TEST"] = "stats"
    start = time.process_time()
    for i, failed in enumerate(faults(items)):
        end = time.process_time()
        yield i, sorted(hits), end - start, "" if failed is None else repr(failed)
        start = end
        hits.clear()


def faults(items: Sequence[pytest.Item]) -> Iterator[BaseException | None]:
    """What each test raises. No report is made of it: mutated files are so long that one takes seconds."""
    warnings.simplefilter("error")
    for item, following in zip(items, [*items[1:], None], strict=True):
        item._initrequest()  # type: ignore[attr-defined]
        item.stash[tmppath_result_key] = {}
        fault: BaseException | None = None
        try:
            item.ihook.pytest_runtest_setup(item=item)
            item.ihook.pytest_runtest_call(item=item)
        except pytest.skip.Exception:
            pass
        except BaseException as error:
            fault = error
        try:
            item.ihook.pytest_runtest_teardown(item=item, nextitem=following)
        except BaseException as error:
            fault = error
        yield fault


def main() -> int:
    end = sys.argv.index("--")
    beside, *patterns = sys.argv[1:end]
    sys.path.insert(0, str(Path("src").absolute()))
    os.environ["MUTANT_UNDER_TEST"] = ""
    judge = Judge(int(beside), patterns)
    pytest.main(sys.argv[end + 1 :], plugins=[judge])
    return judge.status


if __name__ == "__main__":
    sys.exit(main())
