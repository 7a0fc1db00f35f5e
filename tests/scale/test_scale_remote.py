"""Shards behind URLs: a real S3 endpoint and a hub on loopback, and what is said where a package or a bucket is missing."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote
from urllib.request import Request, urlopen

import pytest
from support.scale_help import files, write_shards

import steelyard as sy
from steelyard.core.errors import SteelyardError
from steelyard.results.report import Report
from steelyard.scale import evaluate_shards

AWS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}


def in_one_place(sides: tuple[Any, Any]) -> Report:
    whole = sy.Accumulator("weights")
    whole.update(*sides)
    return whole.report(draws=100)


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A server that speaks S3, on loopback, with an empty bucket; gives its address."""
    pytest.importorskip("s3fs")  # installed by requirements/test.txt, as are the server's parts
    server_of = pytest.importorskip("moto.server")
    import fsspec
    import s3fs

    for name, value in AWS.items():
        monkeypatch.setenv(name, value)
    server = server_of.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    monkeypatch.setenv("AWS_ENDPOINT_URL", address)
    fsspec.config.conf["s3"] = {"endpoint_url": address}
    s3fs.S3FileSystem.clear_instance_cache()
    urlopen(Request(f"{address}/moto-api/reset", method="POST")).close()  # what it holds outlives a server
    s3fs.S3FileSystem().mkdir("bucket")
    yield address
    fsspec.config.conf.pop("s3")
    s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.mark.parametrize("shape", [(3, 3), (3, 2)], ids=["pairs", "hash"])
def test_shards_in_a_bucket(s3: str, shape: tuple[int, int], tmp_path: Path) -> None:
    import s3fs

    sides = write_shards("weights", tmp_path, *shape)
    filesystem = s3fs.S3FileSystem()
    for side in ("truth", "pred"):
        filesystem.put(str(tmp_path / side), f"bucket/{side}", recursive=True)
    urls = ("s3://bucket/truth/*.parquet", "s3://bucket/pred/*.parquet")
    report = evaluate_shards("weights", *urls, work=tmp_path / "work", workers=1, draws=100)
    assert report.scores == in_one_place(sides).scores
    assert report.sources.truth.source == "s3://bucket/truth/*.parquet (3 files)"
    local = evaluate_shards("weights", *files(tmp_path), work=tmp_path / "work", workers=1, draws=100)
    assert local.scores == report.scores  # the same contents are the same states, wherever they came from
    with pytest.raises(sy.InputError, match=r"s3://bucket/truth/09\.parquet"):
        evaluate_shards("weights", "s3://bucket/truth/09.parquet", urls[1], work=tmp_path / "w", workers=1)
    with pytest.raises(sy.InputError, match=r"truth 's3://bucket/none/\*': no file has such a name"):
        evaluate_shards("weights", "s3://bucket/none/*", urls[1], work=tmp_path / "w", workers=1)
    filesystem.pipe("bucket/pred/01.parquet", b"PAR1")
    with pytest.raises(sy.InputError, match=r"s3://bucket/pred/01\.parquet.*`skip_bad_shards=True`"):
        evaluate_shards("weights", *urls, work=tmp_path / "w", workers=1)


def test_a_server_that_is_gone(s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fsspec
    import s3fs

    fsspec.config.conf["s3"] = {"endpoint_url": "http://127.0.0.1:1", "config_kwargs": {"retries": {"max_attempts": 0}}}
    s3fs.S3FileSystem.clear_instance_cache()
    monkeypatch.setattr(s3fs.S3FileSystem, "retries", 1)
    with pytest.raises(sy.InputError, match=r"truth 's3://bucket/truth/\*': cannot be listed: "):
        evaluate_shards("weights", "s3://bucket/truth/*", "s3://bucket/pred/*", work=tmp_path / "w", workers=1)


class Hub(BaseHTTPRequestHandler):
    """As much of a hub's interface as reading a dataset's files takes."""

    files: dict[str, bytes]
    commit = "0" * 40

    def log_message(self, *_: object) -> None: ...

    def answer(self, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(200)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def entry(self, path: str) -> dict[str, object]:
        return {"type": "file", "path": path, "size": len(self.files[path]), "oid": f"{hash(path) & (1 << 60):040x}"}

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["Content-Length"])).decode()
        paths = json.loads(asked)["paths"] if asked.startswith("{") else parse_qs(asked)["paths"]
        self.answer(json.dumps([self.entry(path) for path in paths if path in self.files]).encode())

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0])
        if "/resolve/" in path:
            data = self.files[path.partition("/resolve/")[2].partition("/")[2]]
            return self.answer(data, "application/octet-stream", X_Repo_Commit=self.commit, ETag='"x"')
        if "/tree/" in path:
            folder = path.partition("/tree/")[2].partition("/")[2]
            inside = [name.removeprefix(f"{folder}/") for name in sorted(self.files) if name.startswith(folder)]
            result = {top: {"type": "directory", "path": top, "oid": "1"} for top in {n.split("/")[0] for n in inside}}
            if folder:
                result = {name: self.entry(f"{folder}/{name}") for name in inside}
            return self.answer(json.dumps(list(result.values())).encode())
        if path.startswith("/api/datasets/steel/yard"):
            return self.answer(json.dumps({"id": "steel/yard", "sha": self.commit, "siblings": []}).encode())
        return self.send_error(404)

    do_HEAD = do_GET  # noqa: N815 - as the server asks for it


def test_files_of_a_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """hf:// paths, resolved and read by huggingface_hub from a hub on loopback."""
    hub = pytest.importorskip("huggingface_hub")  # installed by requirements/test.txt
    import fsspec

    sides = write_shards("weights", tmp_path, 2, 2)
    Hub.files = {f"{path.parent.name}/{path.name}": path.read_bytes() for path in tmp_path.glob("*/*.parquet")}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        fsspec.config.conf["hf"] = {"endpoint": f"http://127.0.0.1:{server.server_port}", "token": False}
        hub.HfFileSystem.clear_instance_cache()
        urls = [f"hf://datasets/steel/yard/{side}/*.parquet" for side in ("truth", "pred")]
        report = evaluate_shards("weights", *urls, work=tmp_path / "work", workers=1, draws=100)
    finally:
        fsspec.config.conf.pop("hf", None)
        hub.HfFileSystem.clear_instance_cache()
        server.shutdown()
        server.server_close()
        thread.join()
    assert report.scores == in_one_place(sides).scores


MISSING = {
    "s3://bucket/x.csv": ("s3fs", "s3://bucket/x.csv needs the package s3fs: pip install s3fs"),
    "gs://bucket/*.csv": ("gcsfs", "gs://bucket/*.csv needs the package gcsfs: pip install gcsfs"),
    "hf://datasets/a/b/x.csv": ("huggingface_hub", "needs the package huggingface_hub: pip install huggingface_hub"),
    "abfs://a/b": ("adlfs", "needs the package adlfs: pip install adlfs"),
    "file:///x.csv": ("fsspec", "file:///x.csv: a remote path needs an optional part: pip install 'steelyard[remote]'"),
    "odd://x": ("", "odd://x: cannot be opened: Protocol not known: odd"),
}


@pytest.mark.parametrize("url", list(MISSING))
def test_what_is_not_installed_is_named(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, message = MISSING[url]
    if package:
        loaded = import_module("fsspec.registry")._registry  # classes that were imported before
        monkeypatch.setitem(sys.modules, package, None)
        monkeypatch.delitem(loaded, url.partition("://")[0], raising=False)
    with pytest.raises(SteelyardError) as error:
        evaluate_shards("weights", url, "y.csv", work=tmp_path / "w", workers=1)
    assert message in str(error.value)


def test_states_are_kept_in_a_folder(tmp_path: Path) -> None:
    with pytest.raises(sy.InputError, match=r"work 's3://b/w': states cannot be kept behind a URL\. Name a folder"):
        evaluate_shards("weights", "x.csv", "y.csv", work="s3://b/w", workers=1)


def test_a_folder_of_states_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(sy.InputError, match=r"work '.*file.w': the folder cannot be made: .+\. Name a folder"):
        evaluate_shards("weights", "x.csv", "y.csv", work=tmp_path / "file" / "w", workers=1)
