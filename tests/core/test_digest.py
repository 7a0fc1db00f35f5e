"""The digest of what was scored: the same for the same values, however they lie in memory."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import steelyard as sy
from steelyard import _native
from steelyard.core.records import Records
from steelyard.io.digest import LARGE, digest
from steelyard.maps import load
from steelyard.maps.arrays import pack_array, unpack_array


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 5, 1001])
def test_words_that_lie_apart_have_the_fingerprint_of_their_bytes(rows: int) -> None:
    table = np.random.default_rng(rows).random((rows, 3))
    for column in table.T:
        together = np.ascontiguousarray(column)
        assert _native.fingerprint_words(column.view(np.uint64)) == _native.fingerprint(together.view(np.uint8))


@pytest.mark.parametrize("dtype", ["f8", "i8", "i4", "?", "f4"])
def test_every_value_counts_in_a_large_column(dtype: str) -> None:
    rows = LARGE + 7
    values = np.random.default_rng(3).integers(0, 2, rows).astype(dtype)
    before = digest(Records("a", {"x": values}))
    assert before == digest(Records("b", {"x": np.repeat(values, 2)[::2]}))
    for row in (0, rows // 2, rows - 1):
        changed = values.copy()
        changed[row] = not changed[row]
        assert digest(Records("a", {"x": changed})) != before


@pytest.mark.parametrize("dtype", ["i1", "u2", "i4"])
def test_how_wide_whole_numbers_are_held_says_nothing(dtype: str) -> None:
    values = np.arange(100)
    assert digest(Records("a", {"x": values.astype(dtype)})) == digest(Records("b", {"x": values}))


def test_files_of_maps_are_read_once_and_enter_by_their_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [tmp_path / f"{name}.png" for name in "ab"]
    for turn, file in enumerate(files):
        Image.fromarray(np.rot90(np.triu(np.ones((4, 4), dtype=np.uint8)), turn)).save(file)
    read: list[str] = []

    def bytes_of(path: str) -> bytes:
        read.append(path)
        return Path(path).read_bytes()

    monkeypatch.setattr(load, "_bytes_of", bytes_of)
    report = sy.evaluate("segmentation", tmp_path, tmp_path, ["miou"], confidence=None)
    assert sorted(read) == sorted([str(file) for file in files] * 2)
    contents = b"".join(sha256(file.read_bytes()).digest() for file in files)
    whole = sha256(b"image:2:a\x1fbmap:2:" + sha256(contents).digest())
    assert report.sources.truth.digest == report.sources.predictions.digest == f"sha256:{whole.hexdigest()}"


@pytest.mark.parametrize("dtype", ["u1", "u2", "f4", "f8"])
def test_packed_arrays_are_the_same_however_they_lie(dtype: str) -> None:
    values = np.arange(24).reshape(4, 6).astype(dtype)
    head = bytes((["u1", "u2", "f4", "f8"].index(dtype), 2)) + np.array([4, 6], "<u4").tobytes()
    packed = head + values.astype(np.dtype(dtype).newbyteorder("<")).tobytes()
    for same in (values, np.asfortranarray(values), np.repeat(values, 2, axis=1)[:, ::2]):
        assert pack_array(same, "a") == packed
    assert unpack_array(packed, "a").tolist() == values.tolist()
