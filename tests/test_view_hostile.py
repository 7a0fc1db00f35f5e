"""The viewer among hostile results, files and clients: nothing outside is opened, and one file blinds no other."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_view import SAMPLES, SECRET, Server, evaluate, run_id

from steelyard.view import connections, index
from steelyard.view.chart import moment

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


@pytest.mark.parametrize("kind", HOSTILE)
def test_one_file_blinds_no_other(place: Path, server: Server, kind: str) -> None:
    make, why = HOSTILE[kind]
    (place / "bad.json").write_bytes(make(place).encode("utf-8", "surrogateescape"))
    page = server.get("/")
    assert page.status == 200
    assert "good.json" in page.text
    assert "22.5" in page.text
    row = next(part for part in page.text.split("<tr>") if "bad.json" in part)
    assert why in row
    assert server.get(f"/run/{run_id('good.json')}").status == 200
    assert server.get(f"/run/{run_id('bad.json')}").status == 422


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


def dripped(wire: socket.socket, data: bytes) -> None:
    for byte in data:
        wire.sendall(bytes([byte]))
        time.sleep(0.05)


def test_half_open_connections_are_dropped(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections.Watched, "silence", 0.5)
    with socket.create_connection(("127.0.0.1", server.port)) as silent:
        assert is_dropped(silent, 10)
    with socket.create_connection(("127.0.0.1", server.port)) as half:
        half.sendall(b"GET / HTTP/1.1\r\nHost: x")
        assert is_dropped(half, 10)
    with socket.create_connection(("127.0.0.1", server.port)) as drip:  # a byte now and then keeps nobody
        begun = time.monotonic()
        with pytest.raises((BrokenPipeError, ConnectionError)):
            dripped(drip, b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50)
        assert time.monotonic() - begun < 10
    assert server.get("/").status == 200


def test_connections_are_few(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 4)
    held = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(4)]
    try:
        time.sleep(0.3)
        with socket.create_connection(("127.0.0.1", server.port)) as one_more:
            assert is_dropped(one_more, 10)
    finally:
        for wire in held:
            wire.close()
    time.sleep(0.3)
    assert server.get("/").status == 200


def test_requests_are_short(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nX-Long: " + b"x" * (connections.MOST_HEAD + 1000))
        assert wire.recv(20).startswith(b"HTTP/1.1 400")
    assert server.ask("/", more="Content-Length: 1000000000\r\n").status in (403, 413)
    assert server.ask("/a-Token_of_the_Tests/", more="Content-Length: 1000000000\r\n").status == 413
