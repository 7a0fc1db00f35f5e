"""The viewer watches its folder, exports what it shows, and sits behind a reverse proxy."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.refusal import refuses
from support.view_help import make_week
from support.viewer import TOKEN, Answer, Server, evaluate, run_id

import steelyard as sy
from steelyard.view import runs as watching
from steelyard.view.folder import Folder
from steelyard.view.runs import Index, Watcher


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("watched")
    make_week(root, 2)
    return root


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    made = Server(folder)
    yield made
    made.close()


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


# --- the folder


def test_a_file_that_is_being_written_is_not_shown(tmp_path: Path, folder: Path) -> None:
    whole = (folder / "small_1.json").read_text()
    clock, file = Clock(1000.0), tmp_path / "new.json"
    index = Index(Folder(tmp_path), clock)
    file.write_text(whole[: len(whole) // 2])
    os.utime(file, (1000.0, 1000.0))
    assert index.entries() == []
    clock.now += watching.SETTLING - 0.1
    assert index.entries() == []
    clock.now += 0.2  # nobody writes it any more: it is broken
    assert [bool(entry.problem) for entry in index.entries()] == [True]
    file.write_text(whole)
    os.utime(file, (clock.now, clock.now))
    assert [(entry.title, entry.problem) for entry in index.entries()] == [("small", "")]


def test_a_long_file_is_not_shown_before_its_end(tmp_path: Path, folder: Path) -> None:
    """The head is there, and the last byte is a brace: the whole text counts."""
    data = json.loads((folder / "small_1.json").read_text())
    data["details"] = {"much": [{"x": "y" * 50}] * 3000}
    whole, file = json.dumps(data), tmp_path / "long.json"
    file.write_text(whole[: whole.rindex("},")] + "}")
    os.utime(file, (50.0, 50.0))
    assert Index(Folder(tmp_path), lambda: 50.5).entries() == []
    file.write_text(whole)
    os.utime(file, (51.0, 51.0))
    assert [entry.title for entry in Index(Folder(tmp_path), lambda: 51.0).entries()] == ["small"]


def test_the_folder_is_looked_at_once_for_many_pages(tmp_path: Path, folder: Path) -> None:
    clock, looks = Clock(0.0), []
    index = Index(Folder(tmp_path), lambda: 1e12)

    class Counted:
        def entries(self) -> list[watching.Entry]:
            looks.append(clock.now)
            return index.entries()

    watcher = Watcher(Counted(), clock)  # type: ignore[arg-type]
    first = watcher.state()
    (tmp_path / "r.json").write_text((folder / "small_1.json").read_text())
    assert [watcher.state() for _ in range(50)] == [first] * 50
    clock.now += watching.LOOKS_APART
    second = watcher.state()
    assert (first[1], second[1]) == (0, 1)
    assert first[0] != second[0]
    assert looks == [0.0, watching.LOOKS_APART]


def test_the_state_is_that_of_the_page(server: Server) -> None:
    state = json.loads(server.get("/state").text)
    page = server.get("/").text
    assert state["runs"] == 4
    assert f'data-version="{state["version"]}" data-count="4"' in page
    assert f'data-state="/{TOKEN}/state"' in page
    assert '<p id="news" class="news" role="status" aria-live="polite"></p>' in page


# --- files


def test_the_list_as_csv_and_json(server: Server, folder: Path) -> None:
    answer = server.get("/export/csv?model=small&sort=name")
    assert answer.headers["content-disposition"] == 'attachment; filename="runs.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [(row["model"], row["file"], row["tag lr"]) for row in rows] == [
        ("small", "small_1.json", "1e-4"),
        ("small", "small_2.json", "2e-4"),
    ]
    score = sy.load(folder / "small_1.json")["mae"]
    ends = [float(rows[0][name]) for name in ("mae", "mae low", "mae high")]
    assert ends == [score.value, *score.interval]
    plain = json.loads(server.get("/export/json?model=small&sort=-name").text)
    assert [row["file"] for row in plain] == ["small_2.json", "small_1.json"]
    assert plain[1]["scores"]["mae"] == {"value": ends[0], "low": ends[1], "high": ends[2]}
    assert plain[0]["date"] == "2026-03-02T00:00:00Z"
    assert server.get("/export/pdf").status == 404


def test_the_list_as_a_page(server: Server) -> None:
    page = server.get("/export/html?metric=mae&model=small").text
    assert "<h1>2 runs</h1>" in page
    assert page.count('class="name"') == 2
    assert 'class="plot wide"' in page
    assert page.count('<g class="c0">') == 6  # two runs in three sizes, in their colour
    assert not re.search(r"<(a|form|input|button|script)\b(?! class=\"skip\")", page)


def test_cells_that_a_spreadsheet_would_run(tmp_path: Path, folder: Path) -> None:
    data = json.loads((folder / "small_1.json").read_text())
    data["body"]["request"]["tags"] = {"model": "=HYPERLINK(1)", "@note": "+1"}
    data["body"]["scores"]["bias"]["value"] = -2.5
    (tmp_path / "r.json").write_text(json.dumps(data))
    running = Server(tmp_path)
    try:
        (row,) = csv.DictReader(io.StringIO(running.get("/export/csv").text))
        assert (row["model"], row["tag @note"], float(row["bias"])) == ("'=HYPERLINK(1)", "'+1", -2.5)
    finally:
        running.close()


def test_a_comparison_as_files(server: Server, folder: Path) -> None:
    runs = "&".join(f"run={run_id(name)}" for name in ("small_1.json", "large_1.json", "small_2.json"))
    data = json.loads(server.get(f"/compare?{runs}&as=json").text)
    assert (data["kind"], len(data["body"]["comparisons"])) == ("lineup", 2)
    table = list(csv.DictReader(io.StringIO(server.get(f"/compare?{runs}&as=csv").text)))
    assert table
    answer = server.get(f"/compare?{runs}&as=html")
    assert answer.headers["content-disposition"] == 'attachment; filename="comparison.html"'
    assert TOKEN not in answer.text
    page = server.get(f"/compare?{runs}").text
    for link in ("as=csv", "as=json", "as=html", "as=table", "/beside?"):
        assert link in page, link


# --- pictures side by side


def test_four_models_and_a_threshold(tmp_path: Path) -> None:
    """Two objects, and detections with scores 0.9 and 0.4: those shown depend on the threshold in the address."""
    truth = {
        "images": [{"id": 1, "file_name": "a.jpg", "width": 100, "height": 80}],
        "annotations": [
            {"id": i + 1, "image_id": 1, "category_id": 1, "bbox": [10 + 40 * i, 10, 20, 20], "area": 400, "iscrowd": 0}
            for i in range(2)
        ],
        "categories": [{"id": 1, "name": "cup"}],
    }
    (tmp_path / "truth.json").write_text(json.dumps(truth))
    for place, model in enumerate("abcd"):
        boxes = [
            {"image_id": 1, "category_id": 1, "bbox": [10, 10, 20, 20 - place], "score": 0.9},
            {"image_id": 1, "category_id": 1, "bbox": [50, 10, 20, 20], "score": 0.4 + 0.01 * place},
        ][: 2 - place % 2]
        (tmp_path / f"{model}.csv.json").write_text(json.dumps(boxes))
        evaluate(tmp_path, "boxes", "truth.json", f"{model}.csv.json", f"r_{model}.json", ["f1"], tags={"model": model})
    running = Server(tmp_path)
    try:
        runs = "&".join(f"run={run_id(f'r_{model}.json')}" for model in "abcd")
        page = running.get(f"/beside/0?{runs}&score=0.3").text
        assert re.findall(r"<h2><a [^>]*>(\w)</a></h2>", page) == list("abcd")
        assert page.count('<rect class="truth"') == 8
        assert page.count('<rect class="prediction"') == 6
        assert "from 0.3" in page
        assert 'name="score" min="0" max="1" step="any" value="0.3"' in page
        assert running.get(f"/beside/0?{runs}").text.count('<rect class="prediction"') == 4  # from 0.5 on
        alone = running.get(f"/run/{run_id('r_a.json')}/unit/0?score=0.95").text
        assert alone.count('<rect class="prediction"') == 0
        for bad in ("score=2", "score=-1", "score=x", "score=nan", "by=zzz"):
            assert running.get(f"/beside/0?{runs}&{bad}").status == 404, bad
        five = f"{runs}&run={run_id('truth.json')}"
        assert running.get(f"/beside?{five}").status == 404
        assert running.get(f"/beside?run={run_id('r_a.json')}").status == 404
        listed = running.get(f"/beside?{runs}").text
        assert "What differs most" in listed
    finally:
        running.close()


# --- behind a proxy


@pytest.fixture(scope="module")
def proxied(folder: Path) -> Iterator[Server]:
    made = Server(folder, hosts=["eval.example.org"], prefix="/team/eval")
    yield made
    made.close()


def asked(server: Server, path: str, *, token: str | None = TOKEN, method: str = "GET", more: str = "") -> Answer:
    sent = "" if token is None else f"Authorization: Bearer {token}\r\n"
    return server.ask(path, host="eval.example.org", more=sent + more, method=method)


def test_the_token_in_a_header(proxied: Server) -> None:
    page = asked(proxied, "/team/eval/")
    assert page.status == 200
    assert TOKEN not in page.text
    links = re.findall(r'(?:href|action|formaction|data-state)="([^"#]*)"', page.text)
    assert len(links) > 10
    assert all(link.startswith("/team/eval/") for link in links), links
    assert asked(proxied, "/team/eval/state").status == 200
    assert asked(proxied, f"/team/eval/run/{run_id('small_1.json')}").status == 200
    moved = asked(proxied, "/team/eval/?q=&task=").headers["location"]
    assert moved == "/team/eval/"


def test_the_token_in_the_path_below_a_prefix(proxied: Server) -> None:
    page = asked(proxied, f"/team/eval/{TOKEN}/", token=None)
    assert page.status == 200
    links = re.findall(r'(?:href|action|formaction)="([^"#]*)"', page.text)
    assert all(link.startswith(f"/team/eval/{TOKEN}/") for link in links)


@pytest.mark.parametrize(
    ("path", "token"),
    [
        ("/team/eval/", None),
        ("/team/eval/", "wrong-token-of-the-tests"),
        ("/team/eval/", TOKEN.lower()),
        ("/team/eval/", f"{TOKEN}x"),
        ("/team/eval/", ""),
        ("/", TOKEN),
        (f"/{TOKEN}/", None),
        ("/team/evalx/", TOKEN),
        ("/team/eval/wrong-token/", None),
    ],
)
def test_refused_without_the_token_or_the_prefix(path: str, token: str | None, proxied: Server) -> None:
    answer = asked(proxied, path, token=token)
    assert answer.status == 403
    assert "small" not in answer.text
    assert "set-cookie" not in answer.headers


def test_hosts_and_methods_behind_a_proxy(proxied: Server) -> None:
    sent = f"Authorization: Bearer {TOKEN}\r\n"
    for host, status in (
        ("eval.example.org", 200),
        ("EVAL.example.org", 200),
        (f"127.0.0.1:{proxied.port}", 200),
        ("evil.example.org", 403),
        ("eval.example.org.evil.example", 403),
        ("eval.example.org:81", 403),
    ):
        assert proxied.ask("/team/eval/", host=host, more=sent).status == status, host
    forwarded = "X-Forwarded-Host: evil.example\r\nX-Forwarded-Prefix: /evil\r\nX-Forwarded-For: 10.0.0.1\r\n"
    assert "evil" not in asked(proxied, "/team/eval/", more=forwarded).text.replace("/team/eval", "")
    assert asked(proxied, "/team/eval/", more=f"Authorization: Bearer {TOKEN}\r\n").status == 403  # twice
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        for path in ("/", "/state", "/export/csv", f"/run/{run_id('small_1.json')}"):
            assert asked(proxied, f"/team/eval{path}", method=method).status == 405, (method, path)


def test_a_link_in_a_message_can_be_followed(proxied: Server) -> None:
    followed = "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
    assert asked(proxied, "/team/eval/?metric=mae", more=followed).status == 200
    for more in (
        "",
        "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image\r\n",
        "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n",
    ):
        assert asked(proxied, "/team/eval/", more=f"Sec-Fetch-Site: cross-site\r\n{more}").status == 403


def test_nothing_in_the_folder_is_changed(proxied: Server, folder: Path) -> None:
    def listed() -> list[tuple[str, int, int]]:
        return sorted((path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in folder.iterdir())

    before = listed()
    runs = f"run={run_id('small_1.json')}&run={run_id('large_1.json')}"
    for path in (
        "/",
        "/?metric=mae",
        "/state",
        "/export/html",
        f"/compare?{runs}",
        f"/beside?{runs}",
        f"/beside/0?{runs}",
    ):
        assert asked(proxied, f"/team/eval{path}").status == 200, path
    assert listed() == before


def test_the_command_behind_a_proxy(tmp_path: Path, folder: Path) -> None:
    """It prints the address that browsers use, listens on the address of --host, and takes the token of the file."""
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    command = [sys.executable, "-m", "steelyard", "view", str(folder), "--read-only", "--host", "0.0.0.0"]
    command += ["--server-name", "eval.example.org", "--prefix", "/eval/", "--token-file", str(tmp_path / "token")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().strip() == f"http://eval.example.org/eval/{TOKEN}/"
        match = re.search(r"reaches 0\.0\.0\.0:(\d+)", process.stderr.readline())
        assert match is not None
        for token, expected in ((TOKEN, b"HTTP/1.1 200"), ("x" * 20, b"HTTP/1.1 403")):
            with socket.create_connection(("127.0.0.1", int(match[1])), timeout=60) as wire:
                head = f"GET /eval/state HTTP/1.1\r\nHost: eval.example.org\r\nAuthorization: Bearer {token}\r\n"
                wire.sendall(f"{head}Connection: close\r\n\r\n".encode())
                assert wire.recv(100).startswith(expected)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        process.kill()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()


@pytest.mark.parametrize(
    "options",
    [
        ("--host", "0.0.0.0"),
        ("--host", "0.0.0.0", "--read-only"),
        ("--prefix", "eval"),
        ("--prefix", "/a/../b"),
        ("--server-name", "a b"),
        ("--token-file", "short"),
    ],
)
def test_settings_that_are_refused(options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from steelyard.cli.view import view

    monkeypatch.chdir(tmp_path)
    Path("short").write_text("abc\n")
    with refuses("E-invalid-setting"):
        view.main([".", *options], standalone_mode=False)
