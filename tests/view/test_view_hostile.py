"""The viewer among hostile results, files and clients: nothing outside is opened, and one file blinds no other."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from support.viewer import SAMPLES, SECRET, TOKEN, Server, evaluate, run_id

from steelyard import api
from steelyard.view import connections
from steelyard.view import runs as index
from steelyard.view.entry import moment

BOXES = (SAMPLES / "boxes" / "truth.json").read_text(encoding="utf-8")
PRED = (SAMPLES / "boxes" / "model_a.json").read_text(encoding="utf-8")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "shown"
    folder.mkdir()
    (folder / "t.csv").write_text("dish,item,weight\nA,1,100\nA,2,50\nB,1,200\nB,2,10\n")
    (folder / "p.csv").write_text("dish,item,weight\nA,1,110\nA,2,40\nB,1,150\nB,2,30\n")
    evaluate(folder, "weights", "t.csv", "p.csv", "good.json", ["mae"], confidence=None)
    return folder


@pytest.fixture
def server(place: Path) -> Iterator[Server]:
    running = Server(place)
    yield running
    running.close()


def good(place: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((place / "good.json").read_text())
    return data


def with_score(place: Path, value: str) -> str:
    return json.dumps(good(place)).replace("22.5", value)


HOSTILE = {
    "an array": (lambda place: '[{"format": "steelyard"}]', "where an object is expected"),
    "version 1": (lambda place: '{"schema": "steelyard/report/1"}', "a result of version 1"),
    "a huge score": (lambda place: with_score(place, "1" + "0" * 400), "a finite number or null is expected"),
    "an id of 4,300 digits": (lambda place: with_score(place, "9" * 4300), "a finite number or null is expected"),
    "a number of 5,000 digits": (lambda place: with_score(place, "9" * 5000), "more than 4,300 digits"),
    "a huge count": (
        lambda place: json.dumps(good(place)).replace('"units": 2', f'"units": {"9" * 4000}'),
        "a whole number from 0 up is expected",
    ),
    "deep JSON": (lambda place: '{"format": "steelyard", "b": ' + "[" * 100_000, "nested too deeply"),
    "cut off": (lambda place: json.dumps(good(place))[:300], "not valid JSON"),
    "a kind that is an object": (
        lambda place: '{"format": "steelyard", "version": 2, "kind": {}, "body": {}}',
        "where a text is expected",
    ),
    "not UTF-8": (lambda place: '{"format": "steelyard", "x": "\udcff"}', "is not UTF-8 text"),
}


def test_one_file_blinds_no_other(place: Path, server: Server) -> None:
    for number, (make, _) in enumerate(HOSTILE.values()):
        (place / f"bad{number}.json").write_bytes(make(place).encode("utf-8", "surrogateescape"))
    page = server.get("/")
    assert page.status == 200
    assert "good.json" in page.text
    assert "22.5" in page.text
    for number, (kind, (_, why)) in enumerate(HOSTILE.items()):
        row = next(part for part in page.text.split("<tr>") if f"bad{number}.json" in part)
        assert why in row, kind
        assert server.get(f"/run/{run_id(f'bad{number}.json')}").status == 422, kind
    assert server.get(f"/run/{run_id('good.json')}").status == 200


def test_a_file_that_is_too_large_is_listed(place: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index, "MOST_BYTES", 1 << 20)
    (place / "large.json").write_text(json.dumps(good(place)) + " " * (1 << 20))
    page = server.get("/")
    assert page.status == 200
    assert "large.json: larger than 1 MB" in page.text
    assert "good.json" in page.text


def test_a_time_that_no_calendar_has() -> None:
    assert moment(1e15) == "at an unknown time"
    assert moment(0) == "1970-01-01 00:00 UTC"


def test_a_text_is_no_path(place: Path, server: Server) -> None:
    outside = place.parent / "secret.json"
    data = good(place)
    data["body"]["notes"] = [SECRET]
    outside.write_text(json.dumps(data))
    way = f'{place}/"steelyard/../../secret.json'
    (place / '"steelyard').mkdir()
    (place / "x.json").write_text(json.dumps(way))
    page = server.get("/")
    assert page.status == 200
    assert "good.json" in page.text
    assert SECRET not in page.text
    for name in ("x.json", "good.json"):
        assert SECRET not in server.get(f"/run/{run_id(name)}").text


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Every path that Python opens."""
    import sys

    paths: list[str] = []
    on = [True]

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if on[0] and event == "open" and isinstance(args[0], str | bytes):
            paths.append(os.fsdecode(args[0]))

    sys.addaudithook(hook)
    yield paths
    on[0] = False


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"names": "{out}/names.txt"}, "names another file"),
        ({"truth.names": "{out}/names.txt"}, "names another file"),
        ({"prediction.names": "../names.txt"}, "names another file"),
        ({"images": "{out}"}, "names another file"),
        ({"format": "yolo"}, "looks beside its file"),
        ({"truth.format": "voc"}, "looks beside its file"),
    ],
)
def test_options_open_nothing(
    place: Path, server: Server, opened: list[str], options: dict[str, str], said: str
) -> None:
    (place.parent / "names.txt").write_text(SECRET)
    (place / "t.json").write_text(BOXES)
    (place / "p.json").write_text(PRED)
    evaluate(place, "boxes", "t.json", "p.json", "boxes.json", ["map50"], confidence=None)
    data = json.loads((place / "boxes.json").read_text())
    given = {name: value.format(out=place.parent) for name, value in options.items()}
    data["body"]["request"]["options"] = given
    (place / "boxes.json").write_text(json.dumps(data))
    opened.clear()
    for path in ("", "/units", "/unit/0", "/image/0"):
        answer = server.get(f"/run/{run_id('boxes.json')}{path}")
        assert answer.status in (200, 404)
        assert SECRET not in answer.text
    assert said in server.get(f"/run/{run_id('boxes.json')}/units").text
    assert not [path for path in opened if "names.txt" in path]


def test_a_list_of_names_is_read_from_the_folder_only(place: Path, server: Server, opened: list[str]) -> None:
    (place.parent / "names.txt").write_text(f"{SECRET}\nroad\n")
    (place / "names.txt").write_text("sky\nroad\n")
    for side in "tp":
        np.savez(place / f"{side}.npz", street=np.array([[0, 1, 1]]))
    evaluate(
        place, "segmentation", "t.npz", "p.npz", "m.json", ["miou"], confidence=None, options={"names": "names.txt"}
    )
    assert "street" in server.get(f"/run/{run_id('m.json')}/units").text
    assert "sky" in server.get(f"/run/{run_id('m.json')}/unit/0").text
    data = json.loads((place / "m.json").read_text())
    for number, outside in enumerate(("../names.txt", str(place.parent / "names.txt"), "lost.txt")):
        data["body"]["request"]["options"] = {"names": outside}
        (place / f"out{number}.json").write_text(json.dumps(data))
        opened.clear()
        page = server.get(f"/run/{run_id(f'out{number}.json')}/units").text
        assert "names another file" in page
        assert SECRET not in page
        assert not [path for path in opened if "names.txt" in path]


@pytest.mark.skipif(os.name != "posix", reason="links need no right there")
def test_links_lead_nowhere(place: Path, server: Server, opened: list[str]) -> None:
    out = place.parent / "out"
    out.mkdir()
    for name in ("t.csv", "p.csv"):
        (out / name).write_text((place / name).read_text())
        (place / name).unlink()
        (place / name).symlink_to(out / name)
    data = good(place)
    data["body"]["notes"] = [SECRET]
    (out / "result.json").write_text(json.dumps(data))
    (place / "link.json").symlink_to(out / "result.json")
    (place / "folder").symlink_to(out)
    opened.clear()
    page = server.get("/")
    assert page.status == 200
    assert SECRET not in page.text
    assert "link.json" not in page.text
    assert "do not lie in the folder" in server.get(f"/run/{run_id('good.json')}/units").text
    assert not [path for path in opened if path.startswith(str(out)) or path.endswith(("/t.csv", "/p.csv"))]


def is_dropped(wire: socket.socket, seconds: float) -> bool:
    wire.settimeout(seconds)
    try:
        return wire.recv(1) == b""
    except ConnectionError:
        return True
    except TimeoutError:
        return False


def wait_until(holds: Callable[[], bool]) -> None:
    while not holds():
        time.sleep(0.01)


def dripped(wire: socket.socket, data: bytes) -> None:
    for byte in data:
        wire.sendall(bytes([byte]))
        time.sleep(0.05)


def test_half_open_connections_are_dropped(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections.Watched, "silence", 0.5)
    with socket.create_connection(("127.0.0.1", server.port)) as silent:
        assert is_dropped(silent, 60)
    with socket.create_connection(("127.0.0.1", server.port)) as half:
        half.sendall(b"GET / HTTP/1.1\r\nHost: x")
        assert is_dropped(half, 60)
    with (
        socket.create_connection(("127.0.0.1", server.port)) as drip,
        pytest.raises((BrokenPipeError, ConnectionError)),
    ):
        dripped(drip, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50)  # a byte now and then keeps nobody
    assert server.get("/").status == 200


def test_idle_connections_make_room(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there are too many, the one that has been idle longest is dropped; whoever asks is answered."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 4)
    held = []
    try:
        for count in range(1, 5):
            held.append(socket.create_connection(("127.0.0.1", server.port)))
            wait_until(lambda count=count: len(server.server.server_state.connections) == count)
        assert server.get("/").status == 200
        assert is_dropped(held[0], 60)
        assert not is_dropped(held[3], 0.2)
    finally:
        for wire in held:
            wire.close()
    wait_until(lambda: not server.server.server_state.connections)
    assert server.get("/").status == 200


def test_a_connection_beyond_busy_ones_is_dropped(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 1)
    go_on, begun = threading.Event(), threading.Event()
    monkeypatch.setattr(index.Index, "entries", lambda self: begun.set() or (go_on.wait(60) and []) or [])
    asking = threading.Thread(target=server.get, args=("/",))
    asking.start()
    try:
        assert begun.wait(60)
        with socket.create_connection(("127.0.0.1", server.port)) as one_more:
            assert is_dropped(one_more, 60)
    finally:
        go_on.set()
        asking.join()


def test_all_of_500_requests_behind_300_idle_connections_are_answered(server: Server) -> None:
    def connect() -> socket.socket:
        return socket.create_connection(("127.0.0.1", server.port), timeout=300)

    connections._allow_files(2000)
    idle = [connect() for _ in range(300)]
    asking = [connect() for _ in range(500)]
    head = f"GET /{TOKEN}/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n".encode()
    try:
        for wire in asking:
            wire.sendall(head)
        first = [wire.recv(12, socket.MSG_WAITALL) for wire in asking]
    finally:
        for wire in (*idle, *asking):
            wire.close()
    assert first.count(b"HTTP/1.1 200") == 500


def test_one_that_waits_holds_up_nobody(place: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the data of one run are read, every other page is shown; those who ask for the same wait for one reading."""
    for name in ("t2.csv", "p2.csv"):
        (place / name).write_text((place / f"{name[0]}.csv").read_text())
    evaluate(place, "weights", "t2.csv", "p2.csv", "other.json", ["mae"], confidence=None)
    go_on, begun, read, measure = threading.Event(), threading.Event(), [], api.measure

    def slow(task: str, truth: Any, *more: Any, **settings: Any) -> Any:
        read.append(truth)
        if truth.endswith("t.csv"):
            begun.set()
            assert go_on.wait(60)
        return measure(task, truth, *more, **settings)

    monkeypatch.setattr(api, "measure", slow)
    page = f"/run/{run_id('good.json')}/units"
    answers: list[int] = []
    asking = [threading.Thread(target=lambda: answers.append(server.get(page).status)) for _ in range(3)]
    for one in asking:
        one.start()
    assert begun.wait(60)
    assert server.get("/").status == 200
    assert server.get(f"/run/{run_id('other.json')}/units").status == 200
    assert answers == []
    go_on.set()
    for one in asking:
        one.join(60)
    assert answers == [200, 200, 200]
    assert sorted(read) == sorted([str(place / "t.csv"), str(place / "t2.csv")])


def test_the_server_ends_while_a_page_is_made(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Open requests are given up, and their threads are not waited for."""
    running = Server(place)
    go_on, begun = threading.Event(), threading.Event()
    monkeypatch.setattr(index.Index, "entries", lambda self: begun.set() or (go_on.wait(60) and []) or [])
    with socket.create_connection(("127.0.0.1", running.port), timeout=60) as wire:
        wire.sendall(f"GET /{TOKEN}/ HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n\r\n".encode())
        assert begun.wait(60)
        running.server.should_exit = True
        running.thread.join(60)
        assert not running.thread.is_alive()
        assert running.app.workers.working == 1
        assert is_dropped(wire, 60)
    go_on.set()
    running.close()


@pytest.mark.skipif(os.name != "posix", reason="an interrupt is sent as a signal")
def test_ctrl_c_ends_it_while_a_file_is_read(place: Path) -> None:
    """The reader of a run's data never comes back; one interrupt ends the server all the same."""
    program = (
        "import sys, threading\n"
        "from steelyard import api\n"
        "def measure(*_, **__):\n    print('reading', flush=True)\n    threading.Event().wait()\n"
        "api.measure = measure\n"
        "from steelyard.cli.main import main\n"
        "sys.argv = ['steelyard', 'view', sys.argv[1]]\n"
        "main()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(place)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        host, _, token = address.removeprefix("http://").rstrip("/").partition("/")
        with socket.create_connection(("127.0.0.1", int(host.partition(":")[2])), timeout=60) as wire:
            page = f"/{token}/run/{run_id('good.json')}/units"
            wire.sendall(f"GET {page} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert process.stdout.readline() == "reading\n"
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        assert process.stderr is not None
        assert "Traceback" not in (said := process.stderr.read())
        assert "ERROR" not in said


@pytest.mark.skipif(os.name != "posix", reason="named pipes and devices are POSIX's")
@pytest.mark.parametrize("kind", ["up", "absolute", "link", "pipe", "device"])
def test_what_cells_name_is_opened_inside_only(tmp_path: Path, kind: str) -> None:
    """A table of maps was scored, and then its cells, or what lies there, lead somewhere else."""
    folder, outside = tmp_path / "shown", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    grid = np.array([[0, 1], [1, 1]], dtype=np.uint8)
    for where in (folder / "a.png", outside / "a.png"):
        Image.fromarray(grid).save(where)
    cell = {"up": "../outside/a.png", "absolute": str(outside / "a.png")}.get(kind, "a.png")
    for name in ("t.csv", "p.csv"):
        (folder / name).write_text(f"image,map\nx,{cell}\n")
    evaluate(folder, "segmentation", "t.csv", "p.csv", "r.json", ["miou"], confidence=None)
    if kind in ("link", "pipe", "device"):
        (folder / "a.png").unlink()
    if kind == "link":
        (folder / "a.png").symlink_to(outside / "a.png")
    elif kind == "pipe":
        os.mkfifo(folder / "a.png")
    elif kind == "device":
        (folder / "a.png").symlink_to("/dev/zero")
    said = "is a named pipe, not a regular file" if kind == "pipe" else "lies outside the folder that is shown"
    running = Server(folder)
    try:
        for page in ("units", "unit/0", "image/0"):
            answer = running.get(f"/run/{run_id('r.json')}/{page}")
            assert answer.status == 404
            assert said in answer.text or page == "image/0"
        assert running.get("/").status == 200
    finally:
        running.close()


def test_requests_are_short(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * (connections.MOST_HEAD + 1000))
        assert wire.recv(20).startswith(b"HTTP/1.1 400")
    assert server.ask("/", more="Content-Length: 1000000000\r\n").status in (403, 413)
    assert server.ask("/a-Token_of_the_Tests/", more="Content-Length: 1000000000\r\n").status == 413
