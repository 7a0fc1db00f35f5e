"""Write tests/goldens/volume_formats.json: small volumes as nibabel, SimpleITK, pynrrd, tifffile and Pillow write them.

Run where those packages are installed: python tools/make_volume_goldens.py
"""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path
from typing import Any

import nibabel
import nrrd
import numpy as np
import SimpleITK
import tifffile
from PIL import Image, ImageSequence

TARGET = Path(__file__).parent.parent / "tests" / "goldens" / "volume_formats.json"
GRID = (np.arange(24).reshape(2, 3, 4) % 5).astype(np.uint8)  # z, y, x
AFFINE = np.array([[0, -2.5, 0, 10], [0.5, 0, 0, 20], [0, 0, 3, 30], [0, 0, 0, 1.0]])
PAGES = np.random.default_rng(0).integers(0, 3, (3, 20, 24)).astype(np.uint16) * 300
PAGES[:, 5:15] = 7


def nifti(folder: Path) -> None:
    nibabel.Nifti1Image(GRID.T, AFFINE).to_filename(folder / "one.nii")
    nibabel.Nifti1Image(GRID.T, AFFINE).to_filename(folder / "packed.nii.gz")
    nibabel.Nifti2Image(GRID.T.astype(np.int16), AFFINE).to_filename(folder / "two.nii")
    nibabel.Nifti1Pair(GRID.T, AFFINE).to_filename(folder / "pair.hdr")
    nibabel.AnalyzeImage(GRID.T.astype(np.int16), np.diag([2, 3, 4, 1])).to_filename(folder / "analyze.hdr")
    micron = nibabel.Nifti1Image(GRID.T, np.diag([2500.0, 1500.0, 3000.0, 1]))
    micron.header.set_xyzt_units("micron")
    micron.to_filename(folder / "micron.nii")
    quaternion = nibabel.Nifti1Image(GRID.T, None)
    quaternion.set_qform(AFFINE, code=1)
    quaternion.set_sform(None, code=0)
    quaternion.to_filename(folder / "quaternion.nii")


def itk(folder: Path) -> None:
    image = SimpleITK.GetImageFromArray(GRID)
    image.SetSpacing((0.5, 2.5, 3))
    image.SetOrigin((1, 2, 3))
    image.SetDirection((0, -1, 0, 1, 0, 0, 0, 0, 1))
    for ending in ("mha", "mhd", "nrrd", "nii.gz"):
        SimpleITK.WriteImage(image, str(folder / f"itk.{ending}"), useCompression=ending == "nii.gz")
    for ending in ("mha", "mhd", "nrrd"):
        SimpleITK.WriteImage(image, str(folder / f"itk_packed.{ending}"), useCompression=True)
    channels = np.stack([label == GRID for label in range(5)], -1).astype(np.uint8)
    vector = SimpleITK.GetImageFromArray(channels, isVector=True)
    for ending in ("mha", "nrrd", "nii.gz"):
        SimpleITK.WriteImage(vector, str(folder / f"channels.{ending}"), useCompression=True)


def teem(folder: Path) -> None:
    directions = {"space directions": AFFINE[:3, :3].T, "space origin": AFFINE[:3, 3]}
    header: dict[str, Any] = {"space": "right-anterior-superior", "encoding": "gzip", **directions}
    nrrd.write(str(folder / "ras.nrrd"), GRID.T, header)
    nrrd.write(str(folder / "spacings.nrrd"), GRID.T.astype(">i2"), {"spacings": [1, 2, 3], "encoding": "raw"})
    nrrd.write(str(folder / "detached.nhdr"), GRID.T, header, detached_header=True)


def tiff(folder: Path) -> None:
    settings: dict[str, dict[str, Any]] = {
        "plain": {}, "deflate": {"compression": "zlib"}, "predictor": {"compression": "zlib", "predictor": True},
        "tiles": {"tile": (16, 16), "compression": "zlib"}, "bigtiff": {"bigtiff": True},
        "big_endian": {"byteorder": ">"},
    }  # fmt: skip
    for name, more in settings.items():
        tifffile.imwrite(folder / f"{name}.tif", PAGES, photometric="minisblack", **more)
    tifffile.imwrite(folder / "float.tif", PAGES.astype(np.float32), photometric="minisblack")
    tifffile.imwrite(folder / "imagej.tif", PAGES, imagej=True)
    small = [Image.fromarray((page % 256).astype(np.uint8)) for page in PAGES]
    for name, packing in {"lzw": "tiff_lzw", "packbits": "packbits"}.items():
        small[0].save(folder / f"{name}.tiff", save_all=True, append_images=small[1:], compression=packing)
    Image.fromarray(PAGES[0] > 0).save(folder / "bits.tif")


def facts(path: Path) -> dict[str, Any]:
    """What the package that wrote a file reads in it: labels z, y, x; spacing in mm; the affine in mm (RAS)."""
    if path.suffix == ".tiff":
        pages = [np.asarray(page).astype(int).tolist() for page in ImageSequence.Iterator(Image.open(path))]
        return {"grid": pages, "spacing": None, "affine": None}
    if path.suffix == ".tif":
        return {"grid": np.asarray(tifffile.imread(path)).astype(int).tolist(), "spacing": None, "affine": None}
    if path.name.startswith(("itk", "channels")):
        image = SimpleITK.ReadImage(str(path))
        array = SimpleITK.GetArrayFromImage(image)
        array = array.argmax(axis=-1) if array.ndim == 4 else array
        turn = np.array(image.GetDirection()).reshape(3, 3) * np.array(image.GetSpacing())
        affine = np.eye(4)
        affine[:3, :3], affine[:3, 3] = turn, image.GetOrigin()
        affine[:2] *= -1
        return {"grid": array.tolist(), "spacing": image.GetSpacing()[::-1], "affine": affine.tolist()}
    if path.suffix in (".nrrd", ".nhdr"):
        array, header = nrrd.read(str(path))
        directions = header.get("space directions")
        if directions is None:
            return {"grid": array.T.tolist(), "spacing": header["spacings"][::-1].tolist(), "affine": None}
        affine = np.eye(4)
        affine[:3, :3], affine[:3, 3] = np.asarray(directions).T, header["space origin"]
        spacing = np.linalg.norm(directions, axis=1)[::-1].tolist()
        return {"grid": array.T.tolist(), "spacing": spacing, "affine": affine.tolist()}
    loaded = nibabel.load(path)
    array = np.asarray(loaded.dataobj).T.astype(int)
    factor = 1e-3 if path.name == "micron.nii" else 1.0
    spacing = (np.array(nibabel.affines.voxel_sizes(loaded.affine))[::-1] * factor).tolist()
    affine = np.diag([factor, factor, factor, 1]) @ loaded.affine
    return {"grid": array.tolist(), "spacing": spacing, "affine": None if "analyze" in path.name else affine.tolist()}


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for make in (nifti, itk, teem, tiff):
            make(folder)
        files = sorted(folder.iterdir())
        beside = (".img", ".raw", ".zraw", ".gz")
        packed = {file.name: base64.b64encode(file.read_bytes()).decode() for file in files}
        read = {f.name: facts(f) for f in files if not f.name.endswith(beside) or f.name.endswith(".nii.gz")}
    TARGET.write_text(json.dumps({"files": packed, "facts": read}, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
