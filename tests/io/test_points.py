"""Points, masks and arrays of files: what is read, and what is refused."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.io.read import parse_points
from steelyard.io.shapes import pack_mask
from steelyard.maps.load import numpy_file
from steelyard.maps.nifti import nifti_volume


def refused(act: Callable[[], Any], message: str, kind: type[Exception] = sy.InputError) -> None:
    with pytest.raises(kind, match=message):
        act()


def test_points_and_pixels(tmp_path: Path) -> None:
    refused(lambda: parse_points([1, 2, 3]), "3 numbers make no pairs", ValueError)
    refused(lambda: parse_points([[1, 2, 3]]), "its shape is 1 x 3, not points x 2", ValueError)
    refused(lambda: parse_points([1, np.inf]), "a coordinate is not finite", ValueError)
    assert parse_points(" ") is None
    assert parse_points(None) is None
    refused(lambda: pack_mask(np.ones((2, 2))), "pixels of type float64 with 2 dimensions", ValueError)
    refused(lambda: pack_mask(np.ones(2, bool)), "pixels of type bool with 1 dimensions", ValueError)
    np.savez(tmp_path / "a.npz", maps=np.zeros((2, 2)))
    refused(lambda: numpy_file(str(tmp_path / "a.npz"), "map"), "holds no array 'map'.*'maps'")
    assert numpy_file(str(tmp_path / "a.npz"), "maps").shape == (2, 2)
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 4, 2, 2, 2, 3, 1, 1, 1)
    struct.pack_into("<hh", header, 70, 2, 8)
    struct.pack_into("<f", header, 108, 352.0)
    header[344:348] = b"n+1\0"
    refused(lambda: nifti_volume(bytes(header), "a.nii"), "a.nii: ends before its 24 voxels do")
    refused(lambda: nifti_volume(bytes(header[:99]), "a.nii"), "the header is cut off")
    refused(lambda: nifti_volume(b"no", "a.nii"), "is not a NIfTI file")
    refused(lambda: nifti_volume(b"\x1f\x8bno", "a.nii.gz"), "cannot be unpacked")
