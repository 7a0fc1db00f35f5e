"""Reading tracks, and rendering summaries."""

from __future__ import annotations

import io
import os
from enum import Enum
from typing import Any

import numpy as np

COLUMNS = ["FrameId", "Id", "X", "Y", "Width", "Height", "Confidence", "ClassId", "Visibility", "unused"]


class Format(Enum):
    """The formats that `loadtxt` reads."""

    MOT16 = "mot16"
    MOT15_2D = "mot15-2D"
    VATIC_TXT = "vatic-txt"
    DETRAC_MAT = "detrac-mat"
    DETRAC_XML = "detrac-xml"


def load_motchallenge(fname: Any, **kwargs: Any) -> Any:
    """A file of MOTChallenge as a table with the index (FrameId, Id); places count from 0."""
    import pandas as pd

    sep = kwargs.pop("sep", None)
    min_confidence = kwargs.pop("min_confidence", -1)
    options: dict[str, Any] = {
        "index_col": [0, 1],
        "skipinitialspace": True,
        "header": None,
        "names": COLUMNS,
    }
    if sep is None and _has_only_commas(fname):
        if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
            options["float_precision"] = "high"  # as the slower reader rounds; later versions have no choice
        df = pd.read_csv(fname, sep=",", engine="c", **options)
    else:
        df = pd.read_csv(fname, sep=r"\s+|\t+|," if sep is None else sep, engine="python", **options)
    return _from_zero(df)[lambda rows: rows["Confidence"] >= min_confidence]


def _has_only_commas(fname: Any) -> bool:
    """Whether numbers stand between commas, at most as many as there are columns: pandas then has a faster reader."""
    if not isinstance(fname, str | os.PathLike):
        return False
    try:
        with open(fname, "rb") as file:
            text = file.read()
    except OSError:
        return False
    plain = not text.translate(None, b"0123456789.,-+eE\r\n") and b"\n\n" not in text
    return plain and text[: text.find(b"\n")].count(b",") < len(COLUMNS)


def _from_zero(df: Any) -> Any:
    """The table with places that count from 0, without the last column."""
    for axis in ("X", "Y"):
        df[axis] = df[axis] - 1
    del df["unused"]
    return df


def load_vatictxt(fname: Any, **kwargs: Any) -> Any:
    """A file of vatic as a table with the index (FrameId, Id), and a column for each attribute."""
    import pandas as pd

    sep = kwargs.pop("sep", " ")
    with open(fname) as file:
        lines = [line.rstrip() for line in file]
    attributes = sorted({attribute for line in lines for attribute in line.split(sep)[10:]})
    rows = []
    for line in lines:
        fields = line.split()
        rows.append(" ".join(fields[:10] + ["1" if attribute in fields[10:] else "0" for attribute in attributes]))
    names = ["Id", "X", "Y", "Width", "Height", "FrameId", "Lost", "Occluded", "Generated", "ClassId"]
    names += [attribute.replace('"', "").capitalize() for attribute in attributes]
    df = pd.read_csv(io.StringIO("\n".join(rows)), names=names, index_col=["FrameId", "Id"], header=None, sep=" ")
    df["Width"] = df["Width"] - df["X"]
    df["Height"] = df["Height"] - df["Y"]
    return df


def _detrac_table(rows: list[tuple[Any, ...]]) -> Any:
    import pandas as pd

    return _from_zero(pd.DataFrame([(*row, 1, -1, -1, -1) for row in rows], columns=COLUMNS).set_index(COLUMNS[:2]))


def load_detrac_mat(fname: Any) -> Any:
    """A MATLAB file of UA-DETRAC as a table with the index (FrameId, Id). It needs SciPy."""
    from scipy.io import loadmat

    info = loadmat(fname)["gtInfo"][0][0]
    left, top, height, width = (info[field].astype(np.float32) for field in range(4))
    rows: list[tuple[Any, ...]] = []
    for frame in info[4][0]:
        at = frame - 1
        for i in np.flatnonzero(left[at] > 0).tolist():
            corner = left[at, i] - width[at, i] / 2, top[at, i] - height[at, i]
            rows.append((frame, i + 1, *map(np.float64, corner), width[at, i], height[at, i]))
    return _detrac_table(rows)


def load_detrac_xml(fname: Any) -> Any:
    """An XML file of UA-DETRAC as a table with the index (FrameId, Id)."""
    from xml.etree import ElementTree

    rows: list[tuple[Any, ...]] = []
    for frame in ElementTree.parse(fname).getroot().iter("frame"):
        for target in frame.iter("target"):
            box = target.find("box")
            if box is not None:
                numbers = (float(box.attrib[name]) for name in ("left", "top", "width", "height"))
                rows.append((int(frame.attrib["num"]), int(target.attrib["id"]), *numbers))
    return _detrac_table(rows)


def loadtxt(fname: Any, fmt: Any = Format.MOT15_2D, **kwargs: Any) -> Any:
    """A file of any known format as a table."""
    readers: dict[Format, Any] = {
        Format.MOT16: load_motchallenge,
        Format.MOT15_2D: load_motchallenge,
        Format.VATIC_TXT: load_vatictxt,
        Format.DETRAC_MAT: load_detrac_mat,
        Format.DETRAC_XML: load_detrac_xml,
    }
    return readers[Format(fmt)](fname, **kwargs)


def render_summary(summary: Any, formatters: Any = None, namemap: Any = None, buf: Any = None) -> Any:
    """A summary as text, with formatters and names for its columns."""
    if namemap is not None:
        summary = summary.rename(columns=namemap)
        if formatters is not None:
            formatters = {namemap.get(column, column): formatter for column, formatter in formatters.items()}
    return summary.to_string(buf=buf, formatters=formatters)


motchallenge_metric_names = {
    "idf1": "IDF1",
    "idp": "IDP",
    "idr": "IDR",
    "recall": "Rcll",
    "precision": "Prcn",
    "num_unique_objects": "GT",
    "mostly_tracked": "MT",
    "partially_tracked": "PT",
    "mostly_lost": "ML",
    "num_false_positives": "FP",
    "num_misses": "FN",
    "num_switches": "IDs",
    "num_fragmentations": "FM",
    "mota": "MOTA",
    "motp": "MOTP",
    "num_transfer": "IDt",
    "num_ascend": "IDa",
    "num_migrate": "IDm",
}
