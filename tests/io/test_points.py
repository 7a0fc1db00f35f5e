"""Points, masks and arrays of files: what is read, and what is refused."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
from support.refusal import refuses

from steelyard.io.read import parse_points
from steelyard.io.shapes import pack_mask
from steelyard.maps.load import numpy_file
from steelyard.maps.nifti import nifti_volume


def test_points_and_pixels(tmp_path: Path) -> None:
    with refuses(ValueError, "3"):
        parse_points([1, 2, 3])
    with refuses(ValueError, "1", "3", "2"):
        parse_points([[1, 2, 3]])
    with refuses(ValueError, "coordinate"):
        parse_points([1, np.inf])
    assert parse_points(" ") is None
    assert parse_points(None) is None
    with refuses(ValueError, "float64", "2"):
        pack_mask(np.ones((2, 2)))
    with refuses(ValueError, "1"):
        pack_mask(np.ones(2, bool))
    np.savez(tmp_path / "a.npz", maps=np.zeros((2, 2)))
    with refuses("E-unknown-name", "'map'", "'maps'"):
        numpy_file(str(tmp_path / "a.npz"), "map")
    assert numpy_file(str(tmp_path / "a.npz"), "maps").shape == (2, 2)
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 4, 2, 2, 2, 3, 1, 1, 1)
    struct.pack_into("<hh", header, 70, 2, 8)
    struct.pack_into("<f", header, 108, 352.0)
    header[344:348] = b"n+1\0"
    with refuses("E-invalid-file", "a.nii", "24"):
        nifti_volume(bytes(header), "a.nii")
    with refuses("E-invalid-file", "a.nii", "header"):
        nifti_volume(bytes(header[:99]), "a.nii")
    with refuses("E-invalid-file", "a.nii", "NIfTI"):
        nifti_volume(b"no", "a.nii")
    with refuses("E-unreadable-file", "a.nii.gz"):
        nifti_volume(b"\x1f\x8bno", "a.nii.gz")
