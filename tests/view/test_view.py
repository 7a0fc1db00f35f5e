"""The viewer: what it shows, and that nobody and nothing else gets in or out."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import HOW, find
from PIL import Image
from support.lazy import lazy
from support.tiers import slow_except
from support.viewer import SAMPLES, SECRET, TOKEN, Looked, Server, evaluate, run_id

import steelyard as sy
from steelyard.gating.pairing import compare_results
from steelyard.view.folder import Folder, Outside
from steelyard.view.server import HEADERS
from steelyard.view.units import image_kind

scipy = lazy("scipy")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of several tasks with their data and images; secrets beside the folder, and links to them inside."""
    top = tmp_path_factory.mktemp("view")
    root = top / "runs"
    (top / "outside").mkdir()
    secret = {"format": "steelyard", "version": 2, "kind": SECRET}
    (top / "secret.json").write_text(json.dumps(secret))
    (top / "outside" / "result.json").write_text(json.dumps(secret))
    Image.new("RGB", (8, 8), "red").save(top / "outside" / "secret.png")
    (top / "outside" / "truth.csv").write_text(f"dish,weight\n{SECRET},100\n")

    for task in ("boxes", "ellipses", "weights", "captions"):
        shutil.copytree(SAMPLES / task, root / task)
    for name in "ab":
        evaluate(root / "boxes", "boxes", "truth.json", f"model_{name}.json", f"{name}.json", ["map", "f1"], draws=100)
        evaluate(root / "weights", "weights", "truth.csv", f"model_{name}.csv", f"{name}.json", by=["cuisine"])
    evaluate(root / "ellipses", "ellipses", "truth.csv", "model_a.csv", "a.json", ["score"], draws=100)
    evaluate(root / "captions", "captions", "truth.csv", "model_a.csv", "a.json", ["bleu@4"], draws=100)
    Image.new("RGB", (400, 300), "gray").save(root / "ellipses" / "img001.png")

    (root / "frames").mkdir()
    shutil.copytree(SAMPLES / "vlm" / "images", root / "frames" / "images")
    shutil.copy(SAMPLES / "vlm" / "frames.csv", root / "frames" / "frames.csv")
    with open(root / "frames" / "frames.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(root / "frames" / "guess.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["sequence", "t", "weight"])
        writer.writerows([r["sequence"], r["t"], float(r["weight"]) + 5] for r in rows)
    evaluate(root / "frames", "sequences", "frames.csv", "guess.csv", "r.json", ["mae_overall"], draws=100)

    before = Path.cwd()
    os.chdir(root / "weights")
    sy.compare("weights", "truth.csv", "model_a.csv", "model_b.csv", "mae").to_json(root / "comparison.json")
    os.chdir(before)
    (root / "broken.json").write_text('{"format": "steelyard", "version": 2, "kind": "report", "body": {}}')
    (root / "other.json").write_text('{"some": "thing"}')
    (root / ".hidden").mkdir()
    shutil.copy(root / "weights" / "a.json", root / ".hidden" / "a.json")

    (root / "link.json").symlink_to(top / "secret.json")
    (root / "linked").symlink_to(top / "outside")
    (root / "inside.json").symlink_to(root / "weights" / "a.json")
    (root / "boxes" / "images" / "table004.png").unlink()
    (root / "boxes" / "images" / "table004.png").symlink_to(top / "outside" / "secret.png")
    (root / "boxes" / "images" / "up").symlink_to(top / "outside")
    os.mkfifo(root / "pipe.json")
    return root


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[Server]:
    made = Server(folder)
    yield made
    made.close()


# --- what it shows


def test_the_list_of_runs(server: Server) -> None:
    page = server.get("/")
    assert page.status == 200
    shown = page.text.replace("<wbr>", "").partition("<script>")[0]
    for name in (
        "boxes/a.json",
        "boxes/b.json",
        "weights/a.json",
        "ellipses/a.json",
        "frames/r.json",
        "comparison.json",
    ):
        assert f'{run_id(name)}">{name}</a>' in shown
    assert "23.78 g" in shown
    assert "'body.request' is missing".replace("'", "&#x27;") in shown  # the broken one says why
    listed, _, foreign = shown.partition(" other JSON files</summary>")
    assert "<code>other.json</code> <small>It is not a result of Steelyard.</small>" in foreign
    assert "other.json" not in listed
    for name in (".hidden", "link.json", "linked", "inside.json", "pipe.json", SECRET):
        assert name not in shown


@pytest.mark.parametrize(
    "name",
    slow_except(
        ["boxes/a.json", "weights/b.json", "ellipses/a.json", "frames/r.json", "captions/a.json", "comparison.json"],
        "ellipses/a.json",
        "frames/r.json",
        "comparison.json",
    ),
)
def test_reports(name: str, server: Server, folder: Path) -> None:
    page = server.get(f"/run/{run_id(name)}")
    assert page.status == 200
    assert f'href="/{TOKEN}/"' in page.text
    meta = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page.text)
    assert meta is not None
    assert page.headers["content-security-policy"] == f"{meta[1]}; frame-ancestors 'none'"
    assert "default-src 'none'" in meta[1]


def test_units_with_their_images(server: Server) -> None:
    boxes = run_id("boxes/a.json")
    page = server.get(f"/run/{boxes}/units")
    assert page.status == 200
    assert page.text.count('class="card"') == 60
    assert page.text.count("<img") == 59  # all but the one that leads out of the folder
    assert "61 to 80 of 80" in server.get(f"/run/{boxes}/units?by=1&from=60").text

    page = server.get(f"/run/{boxes}/unit/0")
    assert "<h1>Image 1</h1>" in page.text
    assert f'<image href="/{TOKEN}/run/{boxes}/image/0"' in page.text
    truths = json.loads((Path(SAMPLES) / "boxes" / "truth.json").read_text())["annotations"]
    assert page.text.count('<rect class="truth"') == sum(a["image_id"] == 1 for a in truths)
    image = server.get(f"/run/{boxes}/image/0")
    assert (image.status, image.headers["content-type"]) == (200, "image/png")
    assert Image.open(io.BytesIO(image.body)).size == (640, 480)
    assert "sandbox" in image.headers["content-security-policy"]
    assert "Its image does not lie in the folder." in server.get(f"/run/{boxes}/unit/3").text

    page = server.get(f"/run/{run_id('ellipses/a.json')}/unit/0")
    assert '<ellipse class="truth"' in page.text
    assert "<image href=" in page.text

    frames = run_id("frames/r.json")
    page = server.get(f"/run/{frames}/unit/0")
    assert page.text.count('class="frame"') == 4
    assert "predicted weight" in page.text
    assert server.get(f"/run/{frames}/image/0/3").headers["content-type"] == "image/png"
    assert server.get(f"/run/{frames}/image/0/4").status == 404

    page = server.get(f"/run/{run_id('captions/a.json')}/unit/0")
    assert "<h2>Truth</h2>" in page.text
    assert "<h2>Predictions</h2>" in page.text


def test_two_runs(server: Server) -> None:
    a, b = run_id("boxes/a.json"), run_id("boxes/b.json")
    page = server.get(f"/compare?a={a}&b={b}")
    assert page.status == 200
    assert "model_a.json" in page.text
    assert f"/beside?run={a}&amp;run={b}" in page.text
    assert "What changed most" in server.get(f"/beside?run={a}&run={b}").text
    page = server.get(f"/beside/2?run={a}&run={b}")
    assert page.text.count("<svg") == 2
    other = server.get(f"/compare?a={a}&b={run_id('weights/a.json')}")
    assert other.status == 422
    assert "Choose two of the same task." in other.text
    assert server.get(f"/compare?a={a}&b={a}").status == 422
    assert server.get(f"/compare?a={a}&b={run_id('comparison.json')}").status == 422
    for query in ("", f"?a={a}", f"?a={a}&b=../../x", "?a=%00&b=%ff"):
        assert server.get(f"/compare{query}").status == 404


def test_new_and_changed_results_are_seen(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "weights", tmp_path / "w")
    server = Server(tmp_path)
    try:
        assert "There are no results here yet." in server.get("/").text
        evaluate(tmp_path / "w", "weights", "truth.csv", "model_a.csv", "r.json", "mae")
        run = run_id("w/r.json")
        assert "23.78 g" in server.get("/").text
        assert server.get(f"/run/{run}/units").status == 200
        evaluate(tmp_path / "w", "weights", "truth.csv", "model_b.csv", "r.json", "mae")
        assert "16.09 g" in server.get("/").text
        (tmp_path / "w" / "model_b.csv").write_text((tmp_path / "w" / "model_a.csv").read_text())
        evaluate(tmp_path / "w", "weights", "truth.csv", "model_b.csv", "elsewhere.json", "mae")
        data = json.loads((tmp_path / "w" / "r.json").read_text())
        data["body"]["request"]["seed"] = 1
        (tmp_path / "w" / "r.json").write_text(json.dumps(data))  # made from other predictions than now lie there
        page = server.get(f"/run/{run}/units")
        assert page.status == 404
        assert "The data have changed since the result was made." in page.text
        assert "16.09" in server.get(f"/run/{run}").text
        page = server.get(f"/compare?a={run_id('w/elsewhere.json')}&b={run}")  # from the results alone
        assert page.status == 200
        assert "as if they were independent" in page.text
    finally:
        server.close()


def test_comparing_results_without_data() -> None:
    """The interval is Student's, with the spread of the paired draws; `compare` may add a tenth to the spread.

    |b| - |a| of the bias is the smaller of |b - a| and |b + a|, with the signs of both: its ends are those of the four
    pairs of their ends.
    """
    rng = np.random.default_rng(2)
    truth = {"dish": np.arange(1100), "weight": rng.uniform(50, 300, 1100)}
    a, b = ({"dish": truth["dish"], "weight": truth["weight"] + rng.normal(1, s, 1100)} for s in (20, 18))
    metrics = ["mae", "bias", "r2"]
    first, second = (sy.evaluate("weights", truth, p, metrics, save_draws=True) for p in (a, b))
    made, real = compare_results(first, second), sy.compare("weights", truth, a, b, metrics)
    for spec in metrics:
        assert made[spec].difference == pytest.approx(real[spec].difference, rel=1e-12)
        one, two = (r[spec].draws for r in (first, second))
        middles = [second[spec].value - first[spec].value, second[spec].value + first[spec].value]
        spreads = [np.std(two - one, ddof=1), np.std(two + one, ddof=1)]
        reach = scipy.stats.t.ppf(0.975, min(first[spec].df, second[spec].df))
        ends = [[at + sign * reach * spread for sign in (-1, 1)] for at, spread in zip(middles, spreads, strict=True)]
        nearer = int(spec == "bias" and abs(middles[1]) < abs(middles[0]))
        corners = [np.sign(g * t) * min(abs(g), abs(t)) for g in ends[0] for t in ends[1]]
        expected = (min(corners), max(corners)) if spec == "bias" else tuple(ends[0])
        spread = spreads[nearer]
        assert made[spec].interval == pytest.approx(expected, rel=1e-9)
        assert made[spec].se == pytest.approx(spread, rel=1e-9)
        assert real[spec].se == pytest.approx(spread, rel=0.1)
        assert made[spec].verdict == real[spec].verdict
        assert made[spec].p == pytest.approx(real[spec].p, abs=0.05)
    assert "paired bootstrap draws" in made.notes[0]
    apart = compare_results(*(sy.evaluate("weights", truth, p, metrics) for p in (a, b)))
    assert "as if they were independent: both must keep influences" in apart.notes[0]
    assert apart["mae"].difference == made["mae"].difference
    with pytest.raises(sy.InputError, match="share no score"):
        compare_results(sy.evaluate("weights", truth, a, "mae"), sy.evaluate("weights", truth, a, "r2"))


# --- who may ask


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/x",
        f"/{TOKEN}x/",
        f"/{TOKEN[:-1]}/",
        f"/{TOKEN.lower()}/",
        f"/x/{TOKEN}/",
        f"//{TOKEN}/",
        "*",
        f"/{TOKEN}%00/",
        f"/%61{TOKEN[1:]}x/",
    ],
)
def test_without_the_token(path: str, server: Server) -> None:
    answer = server.ask(path or "/")
    assert answer.status in (400, 403, 404), answer
    assert "run" not in answer.text.replace("server started", "")


HOSTS = [
    "evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:80", "localhost", "localhost.evil.example:{port}", "[::1]:{port}",
    "127.0.0.1.nip.example:{port}", "127.0.0.2:{port}", "0.0.0.0:{port}", "2130706433:{port}", "127.1:{port}", "user@127.0.0.1:{port}",
    "127.0.0.1:{port}.evil.example", "127.0.0.1:{port},evil.example", "127.0.0.1:0{port}", "localhost:{port}/", "xn--lcalhost-54a:{port}",
]  # fmt: skip


@pytest.mark.parametrize("host", HOSTS)
def test_foreign_hosts(host: str, server: Server) -> None:
    answer = server.ask(f"/{TOKEN}/", host=host.replace("{port}", str(server.port)))
    assert answer.status in (400, 403), host
    assert "boxes" not in answer.text


def test_host_in_every_form(server: Server) -> None:
    assert server.ask(f"/{TOKEN}/", host=None).status in (400, 403)
    assert server.ask(f"/{TOKEN}/", more="Host: evil.example\r\n").status in (400, 403)
    assert server.ask(f"/{TOKEN}/", host=f"LocalHost:{server.port}").status == 200
    assert server.ask(f"/{TOKEN}/", more="X-Forwarded-Host: evil.example\r\nForwarded: host=evil\r\n").status == 200
    absolute = server.ask(f"http://evil.example/{TOKEN}/")
    assert absolute.status in (400, 403, 404)


def test_other_sites_and_methods(server: Server) -> None:
    assert server.ask(f"/{TOKEN}/", more="Sec-Fetch-Site: cross-site\r\n").status == 403
    assert server.ask(f"/{TOKEN}/", more="Sec-Fetch-Site: none\r\n").status == 200
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND"):
        assert server.ask(f"/{TOKEN}/", method=method).status in (400, 405)
    assert server.ask(f"/{TOKEN}/", method="HEAD").body == b""
    upgrade = "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: YQ==\r\nSec-WebSocket-Version: 13\r\n"
    assert server.ask(f"/{TOKEN}/", more=upgrade).status != 101


def test_every_answer_is_sealed(server: Server) -> None:
    boxes = run_id("boxes/a.json")
    for path in (
        "/",
        f"/run/{boxes}",
        f"/run/{boxes}/units",
        f"/run/{boxes}/unit/0",
        f"/run/{boxes}/image/0",
        "/none",
        "/compare",
    ):
        answer = server.get(path)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value, (path, name)
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-eval" not in policy
        assert "access-control-allow-origin" not in answer.headers
        assert "set-cookie" not in answer.headers
    refused = server.ask("/nobody/")
    assert refused.headers["content-security-policy"].startswith("default-src 'none'")
    own = server.get("/compare").headers["content-security-policy"]
    style = re.search(r"<style>(.*?)</style>", server.get("/").text, re.S)
    assert style is not None
    assert base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode() in own
    assert "unsafe" not in own
    assert "script" not in own  # only the list has one, which its policy names by its hash
    listed = server.get("/")
    scripts = re.findall(r"<script>(.*?)</script>", listed.text, re.S)
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert len(scripts) == listed.text.count("<script") == 1
    assert f"script-src 'sha256-{digest}'; connect-src 'self';" in listed.headers["content-security-policy"]


def test_only_this_machine(folder: Path, tmp_path: Path) -> None:
    """The command: it prints its address and nothing else, listens on 127.0.0.1 alone, and ends on request."""
    process = subprocess.Popen(
        [sys.executable, "-m", "steelyard", "view", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([\w-]{32,})/", address)
        assert match is not None, address
        port = int(match[1])
        while process.poll() is None:
            with socket.socket() as wire:
                if wire.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        for other in ("127.0.0.2", "::1"):
            family = socket.AF_INET6 if ":" in other else socket.AF_INET
            with socket.socket(family) as wire:
                wire.settimeout(2)
                assert wire.connect_ex((other, port)) != 0
        with socket.create_connection(("127.0.0.1", port), timeout=30) as wire:
            wire.sendall(f"GET /{match[2]}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
            assert wire.recv(100).startswith(b"HTTP/1.1 200")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert str(folder) in process.stderr.read()
        assert process.stdout.read() == ""
    finally:
        process.kill()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()


def test_bad_input(tmp_path: Path, steelyard) -> None:
    done = steelyard("view", "nowhere")
    assert (done.returncode, done.stdout) == (2, "")
    assert "nowhere: is not a folder" in done.stderr
    code = "import sys; sys.modules['uvicorn'] = None; sys.argv = ['steelyard', 'view', '.']; from steelyard.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert "pip install 'steelyard[view]'" in done.stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = steelyard("view", ".", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 2
    assert "[E-invalid-setting]" in done.stderr


# --- no path outside the folder

STEPS = [
    "../secret.json", "../../secret.json", "../../../../../../etc/passwd", "..", ".", "./", "./../secret.json", "x/../../secret.json",
    "..%2fsecret.json", "..%2Fsecret.json", "%2e%2e/secret.json", "%2e%2e%2fsecret.json", "%2E%2E%2Fsecret.json", ".%2e/secret.json",
    "%2e./secret.json", "..%252fsecret.json", "%252e%252e%252fsecret.json", "..%25252fsecret.json", "..%5csecret.json", "..\\secret.json",
    "%5c..%5csecret.json", "..%c0%afsecret.json", "%c0%ae%c0%ae/secret.json", "..%e0%80%afsecret.json", "..%ef%bc%8fsecret.json",
    "..%u2215secret.json", "%uff0e%uff0e/secret.json", "..;/secret.json", "..;a=b/secret.json", "....//secret.json", "..../secret.json",
    ".../secret.json", "..//secret.json", "//secret.json", "///etc/passwd", "/etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd",
    "file%3a%2f%2f%2fetc%2fpasswd", "C:/Windows/win.ini", "C:\\Windows\\win.ini", "c%3a%5cboot.ini", "\\\\host\\share", "//host/share",
    "~/secret.json", "~root/.ssh/id_rsa", "%7e/secret.json", "link.json", "linked/result.json", "linked/secret.png", "inside.json",
    "pipe.json", ".hidden/a.json", "weights/a.json", "weights/truth.csv", "boxes/images/up/secret.png", "boxes/images/table004.png",
    "weights/a.json%00.png", "%00", "%0d%0aX-Evil:%201", "%0a../secret.json", "a.json%20", "a.json.", "a.json::$DATA", "proc/self/environ",
    "..%09/secret.json", "%20../secret.json", "?file=../secret.json", "#/../secret.json", "%ff%fe", "\xff\xfe", "\u2025/secret.json",
    "\uff0e\uff0e/secret.json", "x" * 5000, "/".join([".."] * 40) + "/secret.json", "a/" * 300,
]  # fmt: skip
PLACES = [
    "/",
    "/run/",
    "/run/{run}/",
    "/run/{run}/image/",
    "/run/{run}/image/0/",
    "/run/{run}/unit/",
    "/beside/",
    "/export/",
    "/compare/",
]


@pytest.mark.parametrize("step", STEPS, ids=lambda s: ascii(s)[:40])
def test_paths_in_addresses(step: str, server: Server) -> None:
    for place in PLACES:
        answer = server.ask(f"/{TOKEN}{place.replace('{run}', run_id('boxes/a.json'))}{step}")
        listed = place == "/" and (not step or step[0] in "?#")  # that is the list of runs itself
        assert answer.status in ((200, 400, 403, 404) if listed else (400, 403, 404)), (place, answer.status)
        assert SECRET not in answer.text
        assert "root:" not in answer.text
        assert "x-evil" not in answer.headers
        assert not answer.headers.get("content-type", "").startswith("image/")


def test_numbers_out_of_range(server: Server) -> None:
    run = run_id("boxes/a.json")
    for path in (
        "unit/80",
        "unit/-1",
        "unit/99999999999999999999",
        "unit/0x1",
        "unit/1.0",
        "image/80",
        "image/0/0",
        "units?by=9",
        "units?by=-1",
        "units?from=x",
        "units?from=1e3",
        "units?by=%00",
    ):
        assert server.get(f"/run/{run}/{path}").status == 404, path
    for name in ("0" * 16, "g" * 16, "", run[:-1], run.upper(), "weights/a.json"):
        assert server.get(f"/run/{name}").status == 404, name


NAMES = [
    "", ".", "..", "../x", "a/../../x", "/etc/passwd", "//etc/passwd", "~/x", "~", "..\\x", "a\\..\\..\\x", "C:\\x", "C:/x", "c:x", "\\\\h\\s", "file:///x",
    "a\0.png", "a\n.png", "a\r.png", "a\x7f", "a\x1b", ".env", ".git/config", "a/.ssh/id", "a/..", "a/.../x", "...", "....", "a.", "a ", " a", "a/ b", "a/b.",
    "a:b", "a.png::$DATA", "x" * 2000, "a/" * 40 + "b", "x" * 300, "\ud800", "a/\ud800.png", "\\", "/", "./..", "./../x", "a/./../../x", "%2e%2e/../x",
    "\u2025/../x", "..\u2215x/../..", "\t", "\t../x", "a\tb", "..;/../x", "../" * 30 + "x", "a//../../x", "/./x", "/..", "\\..\\x", "..%00/../x", "a/../b", "a/../../runs/b",
    None, 7, ["a"], b"a",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=lambda n: ascii(n)[:30])
def test_names_that_are_not_plain(name: Any, folder: Path) -> None:
    inside = Folder(folder)
    with pytest.raises(Outside):
        inside.parts(name)
    if isinstance(name, str):
        with pytest.raises(Outside):
            inside.read(name, 1 << 20)
        with pytest.raises(Outside):
            inside.path(name)


LINKS = [
    "link.json", "linked", "linked/result.json", "linked/secret.png", "linked/../secret.json", "inside.json", "pipe.json", "boxes",
    "boxes/images/table004.png", "boxes/images/up/secret.png", "none.json", "weights/a.json/x", "boxes/truth.json/",
]  # fmt: skip


@pytest.mark.parametrize("name", LINKS[:-1])
def test_links_and_what_is_no_file(name: str, folder: Path) -> None:
    inside = Folder(folder)
    for ask in (inside.path, lambda n: inside.read(n, 1 << 20)):
        with pytest.raises(Outside):
            ask(name)


def test_plain_names(folder: Path) -> None:
    inside = Folder(folder)
    assert inside.read("weights/truth.csv", 1 << 20) == (folder / "weights" / "truth.csv").read_bytes()
    assert inside.read("./weights//truth.csv", 1 << 20)
    assert inside.relative(str(folder / "weights" / "truth.csv")) == "weights/truth.csv"
    with pytest.raises(Outside):
        inside.relative(str(folder) + "x/truth.csv")
    with pytest.raises(Outside):
        inside.relative(str(folder / ".." / "secret.json"))
    with pytest.raises(Outside):
        inside.read("weights/truth.csv", 10)  # too large
    assert "link.json" not in list(inside.files(".json"))
    assert not any(name.startswith((".", "linked")) for name in inside.files(""))


def test_a_folder_may_be_named_by_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to(folder)
    assert Folder(tmp_path / "here").root == os.path.realpath(folder)


def test_a_file_that_becomes_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the check and the reading: what is opened does not follow it."""
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_text(SECRET)
    file = tmp_path / "in" / "a.txt"
    file.write_text("plain")
    inside = Folder(tmp_path / "in")
    check = inside.path

    def swap(name: str) -> Path:
        listed = check(name)
        file.unlink()
        file.symlink_to(tmp_path / "secret")
        return listed

    monkeypatch.setattr(inside, "path", swap)
    with pytest.raises(Outside):
        inside.read("a.txt", 100)


SOURCES = [
    "../outside/truth.csv", "/etc/passwd", "{outside}/truth.csv", "linked/truth.csv", "../linked/truth.csv", "./../../outside/truth.csv",
    "..\\outside\\truth.csv", "file:///etc/passwd", "~/truth.csv", "truth.csv\0", ".hidden/a.json", "", "..", "/", "a/../../../outside/truth.csv",
]  # fmt: skip


@pytest.mark.parametrize("source", SOURCES, ids=lambda s: ascii(s)[:40])
def test_sources_that_a_result_names(source: str, tmp_path: Path) -> None:
    """A result from elsewhere may name any file: its numbers are shown, no file outside is read."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "truth.csv").write_text(f"dish,weight\n{SECRET},100\nb,50\n")
    root = tmp_path / "runs"
    root.mkdir()
    (root / "linked").symlink_to(tmp_path / "outside")
    report = evaluate(tmp_path / "outside", "weights", "truth.csv", "truth.csv", str(root / "r.json"), "mae")
    data = report.to_dict()
    for side in ("truth", "predictions"):
        data["body"]["sources"][side]["source"] = source.replace("{outside}", str(tmp_path / "outside"))
    (root / "r.json").write_text(json.dumps(data))
    server = Server(root)
    try:
        assert server.get(f"/run/{run_id('r.json')}").status == 200
        for path in ("units", "unit/0", "image/0", "image/0/0"):
            answer = server.get(f"/run/{run_id('r.json')}/{path}")
            assert answer.status == 404
            assert SECRET not in answer.text
    finally:
        server.close()


IMAGES = [
    "../outside/secret.png", "../../outside/secret.png", "{outside}/secret.png", "linked/secret.png", "images/linked.png", "..\\outside\\secret.png",
    "file:///etc/passwd", "//outside/secret.png", "./../outside/secret.png", "images/../../outside/secret.png", "secret.png\0.png", "%2e%2e/outside/secret.png",
    "..%2foutside%2fsecret.png", ".secret.png", "~/secret.png", "C:/secret.png", "http://evil.example/x.png", "javascript:alert(1)", "truth.json", "script.png", "drawing.svg",
]  # fmt: skip


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, list[str]]]:
    top = tmp_path_factory.mktemp("pictures")
    root = top / "runs"
    (top / "outside").mkdir()
    (root / "images").mkdir(parents=True)
    Image.new("RGB", (8, 8), "red").save(top / "outside" / "secret.png")
    (root / "linked").symlink_to(top / "outside")
    (root / "images" / "linked.png").symlink_to(top / "outside" / "secret.png")
    shutil.copy(top / "outside" / "secret.png", root / ".secret.png")
    (root / "script.png").write_text("<script>alert(1)</script>")
    (root / "drawing.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    Image.new("RGB", (8, 8), "green").save(root / "images" / "good.png")
    names = [name.replace("{outside}", str(top / "outside")) for name in [*IMAGES, "good.png"]]
    truth = {
        "images": [{"id": i, "file_name": name, "width": 8, "height": 8} for i, name in enumerate(names)],
        "annotations": [{"id": i + 1, "image_id": i, "category_id": 1, "bbox": [1, 1, 4, 4], "area": 16, "iscrowd": 0} for i in range(len(names))],
        "categories": [{"id": 1, "name": "thing"}],
    }  # fmt: skip
    (root / "truth.json").write_text(json.dumps(truth))
    (root / "found.json").write_text(
        json.dumps([{"image_id": 0, "category_id": 1, "bbox": [1, 1, 4, 4], "score": 0.9}])
    )
    evaluate(root, "boxes", "truth.json", "found.json", "r.json", ["f1"], draws=100)
    server = Server(root)
    yield server, names
    server.close()


@pytest.mark.parametrize("i", range(len(IMAGES)), ids=lambda i: ascii(IMAGES[i]))
def test_images_that_data_name(i: int, pictures: tuple[Server, list[str]]) -> None:
    server, names = pictures
    run = run_id("r.json")
    assert server.get(f"/run/{run}/image/{i}").status == 404, names[i]
    page = server.get(f"/run/{run}/unit/{i}").text
    assert "Its image does not lie in the folder." in page
    assert "<image" not in page
    assert server.get(f"/run/{run}/image/{len(IMAGES)}").headers["content-type"] == "image/png"


# --- what data say is text

PAYLOADS = [
    "<script>alert(1)</script>", "<SCRIPT SRC=//x.example/a.js></SCRIPT>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)>", "<svg/onload=alert(1)>",
    "\"><script>alert(1)</script>", "'><script>alert(1)</script>", "\" onmouseover=\"alert(1)", "' onfocus='alert(1)' autofocus='", "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>", "</textarea><script>alert(1)</script>", "</svg><script>alert(1)</script>", "<iframe src=javascript:alert(1)>", "<iframe srcdoc='<script>alert(1)</script>'>",
    "<object data=javascript:alert(1)>", "<embed src=javascript:alert(1)>", "<a href=javascript:alert(1)>x</a>", "<math><mi xlink:href=javascript:alert(1)>x</mi></math>", "<body onload=alert(1)>",
    "<details open ontoggle=alert(1)>", "<video><source onerror=alert(1)></video>", "<audio src=x onerror=alert(1)>", "<input autofocus onfocus=alert(1)>", "<marquee onstart=alert(1)>",
    "<base href=//x.example/>", "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>", "<link rel=stylesheet href=//x.example/a.css>", "<style>@import '//x.example/a.css'</style>", "<form action=//x.example><input type=submit>",
    "<!--<script>alert(1)</script>-->", "<![CDATA[<script>alert(1)</script>]]>", "<?xml version='1.0'?><script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;", "&#60;script&#62;alert(1)&#60;/script&#62;",
    "javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "{{7*7}}", "${alert(1)}", "<%= alert(1) %>", "\u202e<script>alert(1)</script>", "<scr\x00ipt>alert(1)</script>", "<svg><animate onbegin=alert(1) attributeName=x>",
    "<svg><use href='data:image/svg+xml,<svg id=x onload=alert(1)>#x'>", "<template><script>alert(1)</script></template>", "`-alert(1)-`", "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
]  # fmt: skip


@pytest.mark.slow
def test_payloads_in_every_text(tmp_path: Path) -> None:
    """In ids, classes, slices, captions, file names, sources, labels, notes: all of it is shown, none of it is markup."""
    clean = [p.replace("\x00", " ") for p in PAYLOADS]
    rows = [[p, f"{i}", 100 + i, p] for i, p in enumerate(clean)]
    for name, header in (
        ("truth.csv", ["dish", "item", "weight", "food"]),
        ("pred.csv", ["dish", "item", "weight", "food"]),
    ):
        with open(tmp_path / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
    shutil.copy(tmp_path / "pred.csv", tmp_path / "<img src=x onerror=alert(1)>.csv")
    report = evaluate(
        tmp_path, "weights", "truth.csv", "<img src=x onerror=alert(1)>.csv", "a.json", ["mae"], by=["food"], draws=100
    )
    data = report.to_dict()
    data["body"]["notes"] = clean
    data["body"]["scores"]["mae"].update(label=clean[0], measured_in=clean[2], left_out=clean[5])
    (tmp_path / "<svg onload=alert(1)>.json").write_text(json.dumps(data), encoding="utf-8")
    boxes = {
        "images": [{"id": i, "file_name": p, "width": 9, "height": 9} for i, p in enumerate(clean)],
        "annotations": [{"id": i + 1, "image_id": i, "category_id": i, "bbox": [1, 1, 4, 4], "area": 16, "iscrowd": 0} for i in range(len(clean))],
        "categories": [{"id": i, "name": p} for i, p in enumerate(clean)],
    }  # fmt: skip
    (tmp_path / "boxes.json").write_text(json.dumps(boxes), encoding="utf-8")
    result = [{"image_id": i, "category_id": i, "bbox": [1, 1, 4, 4], "score": 0.9} for i in range(len(clean))]
    (tmp_path / "found.json").write_text(json.dumps(result))
    evaluate(tmp_path, "boxes", "boxes.json", "found.json", "b.json", ["f1"], draws=100)
    evaluate(tmp_path, "boxes", "boxes.json", "found.json", "c.json", ["f1"], draws=100)
    server = Server(tmp_path)
    ours = {
        "html", "head", "meta", "title", "style", "body", "a", "nav", "ul", "li", "header", "div", "p", "h1", "h2", "main", "form", "table", "caption", "thead", "tbody", "tr", "th", "td",
        "label", "select", "option", "datalist", "details", "summary", "figure", "figcaption", "input", "small", "strong", "span", "button", "br", "wbr", "code", "img", "svg", "desc", "rect", "line", "text", "ellipse", "circle", "image", "section", "polygon", "polyline", "g",
    }  # fmt: skip
    try:
        a, hostile, b, c = (run_id(name) for name in ("a.json", "<svg onload=alert(1)>.json", "b.json", "c.json"))
        paths = [
            "/",
            f"/run/{a}/units",
            f"/run/{hostile}/units",
            f"/beside?run={b}&run={c}",
            f"/beside/3?run={b}&run={c}",
            "/export/html",
            f"/run/{b}/units",
        ]
        paths += [f"/run/{run}/unit/{i}" for run in (a, b) for i in range(len(clean))]
        for path in paths:
            page = server.get(path)
            assert page.status == 200, path
            Looked(ours).feed(page.text)
        for run in (a, hostile, b):  # the report's own page has its own tests; here: that the bar adds nothing
            page = server.get(f"/run/{run}").text
            bar = page[page.index("<body>") : page.index("</nav>")]
            Looked({"body", "nav", "ul", "li", "a"}).feed(bar)
    finally:
        server.close()


# --- images


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "BMP", "WEBP"])
@pytest.mark.parametrize("size", [(1, 1), (640, 480), (333, 1021)])
def test_kinds_of_images_agree_with_pillow(form: str, size: tuple[int, int]) -> None:
    buffer = io.BytesIO()
    Image.new("RGB", size, "tan").save(buffer, form)
    kind = image_kind(buffer.getvalue())
    assert kind is not None
    assert (kind.media, kind.width, kind.height) == (f"image/{form.lower()}", *size)
    for cut in range(0, min(len(buffer.getvalue()), 60)):
        image_kind(buffer.getvalue()[:cut])  # never an error


def test_more_kinds_of_images() -> None:
    for options in ({"lossless": True}, {"exif": Image.Exif().tobytes()}):
        buffer = io.BytesIO()
        Image.new("RGBA", (30, 20), "tan").save(buffer, "WEBP", **options)
        kind = image_kind(buffer.getvalue())
        assert kind is not None
        assert (kind.width, kind.height) == (30, 20)
    for orientation, expected in ((1, (30, 20)), (3, (30, 20)), (6, (20, 30)), (8, (20, 30))):
        exif = Image.Exif()
        exif[0x0112] = orientation
        buffer = io.BytesIO()
        Image.new("RGB", (30, 20), "tan").save(buffer, "JPEG", exif=exif, progressive=True)
        kind = image_kind(buffer.getvalue())
        assert kind is not None
        assert (kind.width, kind.height) == expected
    for data in (
        b"",
        b"<svg/>",
        b"%PDF-1.7",
        b"\xff\xd8\xff",
        b"\xff\xd8\xff\xe0\x00\x00",
        b"RIFF0000WEBPVP8?",
        b"BM" + b"\0" * 40,
    ):
        assert image_kind(data) is None


# --- in a browser

CHROMIUM = find()


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason=HOW)
def test_a_browser_shows_the_pages_without_complaint(server: Server, tmp_path: Path) -> None:
    """Every page loads with its style and images, and the console stays empty."""
    assert CHROMIUM is not None
    a, b = run_id("boxes/a.json"), run_id("boxes/b.json")
    for path, expected in {
        "/": "boxes/",
        f"/run/{a}/unit/0": "<image",
        f"/run/{run_id('frames/r.json')}/unit/0": 'class="frame"',
        f"/beside/0?run={a}&run={b}": "<svg",
        f"/compare?a={a}&b={b}": "model_b.json",
    }.items():
        done = subprocess.run(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", f"--user-data-dir={tmp_path / 'profile'}",
             "--virtual-time-budget=3000", "--dump-dom", f"http://127.0.0.1:{server.port}/{TOKEN}{path}"],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert expected in done.stdout, path
        complaints = [
            line for line in done.stderr.splitlines() if "CONSOLE" in line or "Content Security Policy" in line
        ]
        assert not complaints, complaints
