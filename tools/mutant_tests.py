"""Run the tests against mutants that mutmut made. Started by `tools/mutants.py` in the folder of the mutants.

All tests are collected once. Each mutant has a process of its own, forked from there, which runs the tests that reach
the changed function until one fails: first those that failed for another mutant of the function or of its file, then
the quickest case of each test, then the next. That costs some hundredths of a second per mutant, where a start of
pytest for each costs ten times as much. Which tests reach a function is kept until the sources change, or the file of
the test.

A test that runs commands judges too: each of them is a process forked from the test's own, so that the change is in
it. Tests that take more than `SLOWEST` seconds do not judge; and a mutant that tests of `ENOUGH` seconds have not
noticed has survived.

Arguments: how many processes run beside each other, the file with the names of the mutants, then those of pytest.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.tmpdir import tmppath_result_key
from _pytest.warnings import catch_warnings_for_item

NOTICED, SURVIVED, UNTESTED, WENT_WRONG = 1, 0, 33, 35  # as mutmut writes them
SLOW, LEAST_SECONDS = 5, 10  # a mutant may take so many times what the tests take, and never less than this
SLOWEST, ENOUGH = 2.0, 5.0  # seconds
AT_ONCE = 100  # tests that a process walks through
MOST_FAILING = 80  # tests without any mutant, which do not judge: they start programs of the project
SOURCES = Path("..") / "src"
KEPT = Path("reached.json")
HITS: set[str] = set()  # the functions that the test being walked has called


class Verdicts:
    """How the tests of mutants ended, in the files that mutmut keeps."""

    def __init__(self, names: Sequence[str]) -> None:
        self.files = {
            path: json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path("src").rglob("*.meta"))
        }
        place = {name: path for path, kept in self.files.items() for name in kept["exit_code_by_key"]}
        self.place = {name: place[name] for name in names}

    def write(self, name: str, code: int) -> None:
        self.files[self.place[name]]["exit_code_by_key"][name] = code

    def leave(self, name: str) -> None:
        """No test reaches a mutant: it keeps the verdict that it has."""
        codes = self.files[self.place[name]]["exit_code_by_key"]
        codes[name] = UNTESTED if codes[name] is None else codes[name]

    def save(self) -> None:
        for path in set(self.place.values()):
            path.write_text(json.dumps(self.files[path], indent=4), encoding="utf-8")


class Judge:
    """A pytest plugin that runs the collected tests against mutants."""

    def __init__(self, beside: int, names: Sequence[str]) -> None:
        self.beside, self.names = beside, names
        self.status = WENT_WRONG
        self.running: dict[int, str] = {}
        self.failures: defaultdict[str, Counter[int]] = defaultdict(Counter)
        self.failed, self.fails = os.pipe()
        self.spoken: dict[int, int] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            return False
        verdicts = Verdicts(self.names)
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]  # one for all processes
        run_commands_here()
        reach, seconds = reached(session.items, self.beside)
        kinds = [item.nodeid.partition("[")[0] for item in session.items]
        gc.freeze()
        try:
            for done, name in enumerate(self.names):
                tests = self.tests(name, reach[function_of(name)], seconds, kinds)
                if not tests:
                    verdicts.leave(name)
                    continue
                while len(self.running) >= self.beside:
                    self.wait(verdicts)
                self.start(name, tests, session.items, sum(seconds[i] for i in tests))
                if done % 100 == 99:
                    verdicts.save()
                    print(f"{done + 1} of {len(self.names)} mutants are run", file=sys.__stderr__, flush=True)
            while self.running:
                self.wait(verdicts)
        finally:
            verdicts.save()
        self.status = 0
        return True

    def tests(self, name: str, reaching: Sequence[int], seconds: dict[int, float], kinds: Sequence[str]) -> list[int]:
        """The tests that judge a mutant, in their order."""
        near, around, turns = self.failures[function_of(name)], self.failures[module_of(name)], Counter[str]()
        queue = []
        for i in sorted(reaching, key=lambda i: seconds[i]):
            queue.append((-near[i], -around[i], turns[kinds[i]], seconds[i], i))
            turns[kinds[i]] += 1
        judging, spent = [], 0.0
        for *_, i in sorted(queue):
            if seconds[i] <= SLOWEST and spent < ENOUGH:
                judging.append(i)
                spent += seconds[i]
        return judging

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
            test = self.said(child)
            self.failures[function_of(name)][test] += 1
            self.failures[module_of(name)][test] += 1

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


def module_of(name: str) -> str:
    """The module that a mutant is in."""
    return name.rpartition(".")[0]


def reached(items: Sequence[pytest.Item], beside: int) -> tuple[defaultdict[str, list[int]], dict[int, float]]:
    """The tests that reach each function, and what each test takes."""
    kept, failing = known(items), set()
    new = [item for item in items if item.nodeid not in kept["tests"]]
    with tempfile.TemporaryDirectory() as folder:
        running: set[int] = set()
        for start in range(0, len(new), AT_ONCE):
            if len(running) >= beside:
                running.discard(os.wait()[0])
            child = os.fork()
            running.add(child)
            if child == 0:
                try:
                    rows = walked(new[start : start + AT_ONCE])
                    (Path(folder) / str(start)).write_text(
                        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
                    )
                finally:
                    os._exit(0)
        while running:
            running.discard(os.wait()[0])
        lines = [line for out in Path(folder).iterdir() for line in out.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        test, hits, seconds, failed = json.loads(line)
        if failed:
            failing.add(test)
            print(f"fails without any mutant: {test}: {failed:.300}", file=sys.__stderr__, flush=True)
        else:
            kept["tests"][test] = [hits, seconds]
    KEPT.write_text(json.dumps(kept), encoding="utf-8")
    if len(failing) > MOST_FAILING:
        raise pytest.UsageError(f"{len(failing)} tests fail without any mutant")
    reach: defaultdict[str, list[int]] = defaultdict(list)
    taken = {}
    for i, item in enumerate(items):
        if item.nodeid in failing:
            continue
        if item.nodeid not in kept["tests"]:
            raise pytest.UsageError("the tests ended before all were run")
        hits, taken[i] = kept["tests"][item.nodeid]
        for name in hits:
            reach[name].append(i)
    return reach, taken


def known(items: Sequence[pytest.Item]) -> dict[str, Any]:
    """What an earlier run found of tests whose files are the same."""
    helpers = [path for path in Path("tests").rglob("*.py") if not path.name.startswith("test_")]
    sources = digest(*sorted(SOURCES.rglob("*.py")), *sorted(helpers))
    files = {path: digest(Path(path)) for path in dict.fromkeys(file_of(item.nodeid) for item in items)}
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    if kept.get("sources") != sources:
        return {"sources": sources, "files": files, "tests": {}}
    changed = {path for path, now in files.items() if kept["files"].get(path) != now}
    tests = {test: row for test, row in kept["tests"].items() if file_of(test) not in changed}
    return {"sources": sources, "files": {**kept["files"], **files}, "tests": tests}


def file_of(test: str) -> str:
    """The file that a test stands in, by the test's id."""
    return test.partition("::")[0]


def digest(*paths: Path) -> str:
    """A digest of files."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def walked(items: Sequence[pytest.Item]) -> Iterator[tuple[str, list[str], float, str]]:
    """Each test without a mutant: the functions that it calls, what it takes, and how it fails."""
    from mutmut.mutation import trampoline

    trampoline.record_trampoline_hit = lambda name, caller=None: HITS.add(name)  # type: ignore[assignment]
    os.environ["MUTANT_UNDER_TEST"] = "stats"
    start = used()
    for item, failed in zip(items, faults(items), strict=True):
        end = used()
        yield item.nodeid, sorted(HITS), end - start, "" if failed is None else repr(failed)
        start = end
        HITS.clear()


def used() -> float:
    """CPU seconds of this process and of the commands that it ran."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def run_commands_here() -> None:
    """Let tests run their commands in processes that are forked from their own."""
    sys.path.insert(0, str(Path("tests").absolute()))
    from hostile import child
    from support import forked

    child.load()
    perform = child.perform
    hits = Path()

    def perform_and_keep_hits(args: list[str], python: str) -> None:
        try:
            perform(args, python)
        finally:
            hits.write_text(json.dumps(sorted(HITS)), encoding="utf-8")

    def run(line: Any, args: list[str], cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        nonlocal hits
        with tempfile.TemporaryDirectory() as kept:
            asked = {**forked.request(args, cwd, env, kept), "alone": True}
            hits = Path(kept) / "hits"
            ended = child.Worker().run(json.dumps(asked) + "\n", asked["deadline"])
            HITS.update(json.loads(hits.read_text(encoding="utf-8")) if hits.exists() else [])
            return forked.completed(asked, ended)

    child.perform = perform_and_keep_hits
    forked.CommandLine.run = run  # type: ignore[method-assign]


def faults(items: Sequence[pytest.Item]) -> Iterator[BaseException | None]:
    """What each test raises. No report is made of it: mutated files are so long that one takes seconds."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item._initrequest()  # type: ignore[attr-defined]
        item.stash[tmppath_result_key] = {}
        fault: BaseException | None = None
        with catch_warnings_for_item(config=item.config, ihook=item.ihook, when="runtest", item=item):
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
    beside, names, *arguments = sys.argv[1:]
    sys.path.insert(0, str(Path("src").absolute()))
    os.environ["MUTANT_UNDER_TEST"] = ""
    judge = Judge(int(beside), json.loads(Path(names).read_text(encoding="utf-8")))
    pytest.main(arguments, plugins=[judge])
    return judge.status


if __name__ == "__main__":
    sys.exit(main())
