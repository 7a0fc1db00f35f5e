"""Arrays of NumPy's files: headers as every program writes them, and from many threads."""

from __future__ import annotations

import gc
import io
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from steelyard.core.errors import InvalidFile
from steelyard.maps.arrays import array_of_bytes


def saved(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


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
    ],
    ids=["empty", "cut", "version", "header cut", "long header", "type", "objects"],
)
def test_refuses_other_bytes(data: bytes) -> None:
    with pytest.raises(InvalidFile) as error:
        array_of_bytes(data, "a.npy")
    assert error.value.where == "a.npy"


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
