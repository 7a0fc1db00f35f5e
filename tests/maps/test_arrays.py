"""Arrays of NumPy's files: headers as every program writes them, and from many threads."""

from __future__ import annotations

import gc
import io
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.refusal import refuses

from steelyard.core.errors import InvalidFile
from steelyard.maps.arrays import array_of_bytes, numpy_file


def saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def with_header(descr: str, shape: str) -> bytes:
    """A .npy file whose header says so, with room for two numbers of single precision behind it."""
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(8)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.asfortranarray(np.arange(24, dtype=">i4").reshape(2, 3, 4)),
        np.array([True, False]),
        np.array(3.5),
        np.zeros((0, 4), np.uint8),
        np.zeros((1,), np.complex64),
    ],
    ids=str,
)
def test_reads_what_numpy_writes(array: np.ndarray) -> None:
    read = array_of_bytes(saved(array), "a.npy")
    assert read.dtype == array.dtype
    assert read.shape == array.shape
    assert np.array_equal(read, array)


@pytest.mark.parametrize(
    "header",
    [
        b"{'shape': (3,), 'fortran_order': False, 'descr': '<f4'}\n",
        b'{"descr": "<f4", "fortran_order": False, "shape": (3,), }\n',
        b"{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}    \n",
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_reads_headers_of_other_programs(header: bytes, version: int) -> None:
    size = len(header).to_bytes(2 * version, "little")
    values = np.arange(3, dtype="<f4")
    data = b"\x93NUMPY" + bytes([version, 0]) + size + header + values.tobytes()
    assert array_of_bytes(data, "a.npy").tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x93NUMPY\x01",
        b"\x93NUMPY\x03\x00" + saved(np.zeros(2))[8:],
        saved(np.zeros(2))[:40],
        b"\x93NUMPY\x02\x00\xff\xff\xff\x7f" + b" " * 20_000,
        saved(np.zeros(2)).replace(b"<f8", b"zzz"),
        saved(np.array([{}], dtype=object)),
        with_header("'<f4'", "(0, 99999999999999999999)"),
        with_header("'<f4'", "(0, 4294967296, 4294967296)"),
        with_header("'<f4'", f"({'1, ' * 70})"),
        with_header("('<f4', (2,))", "(1,)"),
        with_header("'|S0'", "(2,)"),
        with_header("'<f4'", "(-1,)"),
    ],
    ids=[
        "empty",
        "cut",
        "version",
        "header cut",
        "long header",
        "type",
        "objects",
        "long axis",
        "long axes",
        "axes",
        "arrays in an array",
        "no size",
        "negative axis",
    ],
)
def test_refuses_other_bytes(data: bytes) -> None:
    with pytest.raises(InvalidFile) as error:
        array_of_bytes(data, "a.npy")
    assert error.value.where == "a.npy"


def test_places_along_the_first_axis(tmp_path: Path) -> None:
    """A place that is not there is refused; a single number has no place at all."""
    path = tmp_path / "a.npy"
    np.save(path, np.arange(6).reshape(2, 3))
    assert numpy_file(str(path), "1").tolist() == [3, 4, 5]
    for place in ("2", "x"):
        with refuses("E-unknown-name", "a.npy", f"'{place}'", "2"):
            numpy_file(str(path), place)
    np.save(path, np.array(3.5))
    assert numpy_file(str(path), "").tolist() == 3.5
    with refuses("E-unknown-name", "a.npy", "'0'"):
        numpy_file(str(path), "0")


@pytest.fixture
def switches() -> Iterator[None]:
    """Collect garbage often and let other threads run then: within NumPy's parser, too."""
    before = gc.get_threshold()

    def let_others_run(phase: str, info: dict[str, int]) -> None:
        time.sleep(0)

    gc.callbacks.append(let_others_run)
    gc.set_threshold(5)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(let_others_run)


@pytest.mark.usefixtures("switches")
def test_many_threads_read_headers() -> None:
    # In Python 3.11 `ast` counts nested calls for all threads together, and fails in threads of unlike depth.
    data = saved(np.zeros((3, 4, 5), np.float32))
    failures: list[Exception] = []

    def read(depth: int) -> None:
        if depth:
            return read(depth - 1)
        for _ in range(300):
            try:
                array_of_bytes(data, "a.npy")
            except Exception as error:
                failures.append(error)
        return None

    threads = [threading.Thread(target=read, args=(9 * i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
