"""Feature vectors, statistics and class probabilities from files and from memory.

| format | recognised by |
|---|---|
| features | `.npy` n×d; `.npz` with `features`, `feats`, `pool_3`, `reps`; tables with `f0`, ... or a column of lists |
| statistics | `.npz` with `mu` and `sigma`; the number of images is the option `n` |
| probabilities | `.npz` with `probs` or `logits` |

Other names are mapped: `columns={"features": "acts"}`, and `{"mu": "mu_s", "sigma": "sigma_s"}` for the statistics of
spatial features that guided-diffusion writes beside the pooled ones. `id`, `label` and `sample_weight` may stand beside
vectors. The fingerprint of the extractor is read from the `.npz` (keys `extractor`, `weights`, `layer`, `input`,
`normalised`, or `meta` as JSON) or from a `.json` file beside it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.counts import count_text
from steelyard.core.errors import (
    Conflict,
    EmptyInput,
    InvalidFile,
    InvalidNumber,
    InvalidValue,
    MissingColumn,
    MissingData,
    OutOfRange,
    ShapeMismatch,
    Unsupported,
)
from steelyard.core.opening import is_entry
from steelyard.core.plain import is_plain, to_numpy
from steelyard.core.records import Array, Records, RowLocation, Schema, as_object
from steelyard.core.task import Task
from steelyard.io.json import parse_json
from steelyard.io.once import of_truth
from steelyard.io.read import check_mapping, read_table, to_records
from steelyard.io.table import Table
from steelyard.io.text import ending, read_bytes
from steelyard.maps.arrays import array_names, numpy_file
from steelyard.tasks.distributions.data import FINGERPRINT, PREDICTION, SPATIAL, TRUTH, FeatureRecords
from steelyard.tasks.distributions.moments import Moments, factor_and_least

VECTORS = {
    "features": ("features", "feats", "pool_3", "reps"),
    "probs": ("probs", "probabilities"),
    "logits": ("logits",),
}
KNOWN_VECTORS = tuple(name for aliases in VECTORS.values() for name in aliases)
STATISTICS = ("mu", "sigma", "mu_s", "sigma_s")
BESIDE = ("id", "ids", "name", "image", "label", "labels", "sample_weight")
PICKLES = (".pt", ".pth", ".pkl", ".pickle", ".p", ".ckpt", ".joblib")
LARGEST = 1e15  # squares of such numbers, summed, are finite in single precision
SUMS = 1e-3  # what rows of probabilities may be off 1
MOST_DIMENSIONS = 1 << 16
_NUMBERED = re.compile(r"f(?:eature)?_?([0-9]{1,9})$")
_SAVE = "Save an array: np.savez('features.npz', features=array)."


def read_sides(task: Task, truth: Any, predictions: Any, columns: Mapping[str, str]) -> tuple[Records, Records]:
    """The real and the generated set."""
    if predictions is None:
        raise MissingData("two sets are compared, and one is given", remedy="Give real and generated vectors.")
    real = of_truth(read_set, truth, columns, "truth")
    generated = read_set(predictions, columns, "prediction")
    if columns:
        tables = {
            side: Table(records.source, dict.fromkeys(records.given, np.zeros(0)))
            for side, records in (("truth", real), ("prediction", generated))
        }
        check_mapping(columns, {"truth": task.truth, "prediction": task.prediction}, tables)
    if not len(real) and real.statistics is None and (len(generated) or isinstance(truth, str | PathLike)):
        raise EmptyInput("there are no vectors", where=real.source, remedy="A set needs at least two.")
    return real, generated


def read_side(task: Task, data: Any, columns: Mapping[str, str], side: str) -> Records:
    """One set alone."""
    return read_set(data, columns, side)


def read_set(data: Any, mapping: Mapping[str, str], side: str) -> FeatureRecords:
    """One set from a file, a table or memory; `side` is "truth" or "prediction"."""
    if isinstance(data, FeatureRecords):
        return data
    source = str(data) if isinstance(data, str | PathLike) else "truth" if side == "truth" else "predictions"
    if isinstance(data, str | PathLike):
        path = Path(data)
        suffix = ending(path)
        if suffix in PICKLES:
            raise Unsupported(
                f"'{suffix}' files are pickles, which run code when they are loaded", where=source, remedy=_SAVE
            )
        if suffix == ".npy":
            return _of_arrays({"features": numpy_file(source, "")}, mapping, source, side, _beside(path))
        if suffix == ".npz":
            return _of_arrays(_arrays(source, mapping, side), mapping, source, side, _beside(path))
        return _of_table(read_table(data, source), mapping, side, _beside(path))
    if isinstance(data, Mapping) and not isinstance(data, Table):
        return _of_mapping(data, mapping, source, side)
    if is_plain(data):
        return _of_arrays({"features": data}, mapping, source, side, {})
    return _of_table(read_table(data, source), mapping, side, {})


def _of_mapping(data: Mapping[Any, Any], mapping: Mapping[str, str], source: str, side: str) -> FeatureRecords:
    """Columns by name: arrays, tensors, or a table of numbered columns."""
    named = {str(name): value for name, value in data.items()}
    if set(_renamed(named, mapping, side)) & {*KNOWN_VECTORS, *STATISTICS, "arr_0"}:
        return _of_arrays(named, mapping, source, side, {})
    return _of_table(read_table(data, source), mapping, side, {})


def _renamed(data: Mapping[str, Any], mapping: Mapping[str, str], side: str) -> dict[str, Any]:
    """Vectors and statistics under the names that a mapping gives them."""
    named = dict(data)
    for name in (*VECTORS, "mu", "sigma"):
        column = mapping.get(f"{side}.{name}") or mapping.get(name)
        if column is not None and column in data:
            for alias in VECTORS.get(name, ()):
                named.pop(alias, None)
            named.pop(column, None)
            named[name] = data[column]
    return named


def _arrays(path: str, mapping: Mapping[str, str], side: str) -> dict[str, Any]:
    """The arrays of a `.npz` file that are known."""
    names = array_names(path)
    mapped = {column for target, column in mapping.items() if target.rpartition(".")[0] in ("", side)}
    wanted = {*KNOWN_VECTORS, *STATISTICS, *BESIDE, *FINGERPRINT, "meta", *mapped}
    if "reps" in names:  # dgm-eval names its extractor so
        wanted.add("model")
    if not set(names) & wanted:
        if "arr_0" in names:
            array = numpy_file(path, "arr_0")
            return {"arr_0": array}
        raise MissingData(
            f"there is no array 'features'; the file has {', '.join(names[:6]) or 'none'}", where=path, remedy=_SAVE
        )
    return {name: numpy_file(path, name) for name in names if name in wanted}


def _beside(path: Path) -> dict[str, str]:
    """The fingerprint in a `.json` file of the same name."""
    file = path.with_suffix(".json")
    if path.suffix.lower() == ".json" or not is_entry(file):
        return {}
    return _fingerprint(parse_json(read_bytes(file, str(file)).decode("utf-8", "replace"), str(file)), str(file))


def _fingerprint(value: Any, source: str) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise InvalidFile("the fingerprint is not a JSON object", where=source, remedy='Write {"extractor": "..."}.')
    return {name: str(value[name]) for name in FINGERPRINT if name in value}


def _of_arrays(
    data: Mapping[str, Any],
    mapping: Mapping[str, str],
    source: str,
    side: str,
    beside: Mapping[str, str],
) -> FeatureRecords:
    given = frozenset(data)
    data = _renamed(data, mapping, side)
    known = dict(beside)
    for name, own in _stated(data, source).items():
        if known.setdefault(name, own) != own:
            raise Conflict(
                f"{name} is '{own}' in the file and '{known[name]}' in the JSON file beside it",
                where=source,
                remedy="Correct one of them.",
            )
    if "arr_0" in data and not set(data) & set(VECTORS["features"]):
        return _of_nameless(data["arr_0"], mapping, source, side, beside)
    if "mu" in data or "sigma" in data:
        if "mu_s" in given and "mu_s" not in data:
            known.setdefault("layer", SPATIAL)
        return replace(_statistics(data, source, known), given=given)
    if any(name in data for name in STATISTICS):
        raise Unsupported(
            "'mu_s' and 'sigma_s' are statistics of spatial features",
            where=source,
            remedy="To compare these, map them: columns={'mu': 'mu_s', 'sigma': 'sigma_s'}.",
        )
    matrices: dict[str, Array] = {}
    for name, aliases in VECTORS.items():
        names = [alias for alias in aliases if alias in data]
        if len(names) > 1:
            raise Conflict(f"'{names[0]}' and '{names[1]}' are both given", where=source, remedy="Keep one.")
        if names:
            values = to_numpy(data[names[0]])
            if isinstance(values, np.ndarray) and values.dtype == object and values.ndim in (1, 2):
                values = _lists(as_object(list(values)), names[0], Table(source, {}))
            matrices[name] = _matrix(values, names[0], source)
    return replace(_records(matrices, _rest(data), mapping, source, side, known), given=given)


def _stated(data: Mapping[str, Any], source: str) -> dict[str, str]:
    """The fingerprint that stands among arrays."""
    stated: dict[str, str] = {}
    if "meta" in data:
        text = str(np.asarray(data["meta"]).reshape(-1)[0]) if np.size(data["meta"]) else "{}"
        stated.update(_fingerprint(parse_json(text, f"{source}::meta"), f"{source}::meta"))
    for name in (*FINGERPRINT, *(("model",) if "reps" in data else ())):
        if name in data and np.size(to_numpy(data[name])) == 1:
            stated["extractor" if name == "model" else name] = str(np.asarray(to_numpy(data[name])).reshape(-1)[0])
    return stated


def _rest(data: Mapping[str, Any]) -> dict[str, Any]:
    vectors = {*KNOWN_VECTORS, *STATISTICS, "meta", "arr_0"}
    single = {name for name in (*FINGERPRINT, "model") if name in data and np.size(to_numpy(data[name])) == 1}
    return {name: value for name, value in data.items() if name not in vectors | single}


def _of_nameless(
    array: Any, mapping: Mapping[str, str], source: str, side: str, beside: Mapping[str, str]
) -> FeatureRecords:
    """`arr_0` of guided-diffusion holds images; a matrix of numbers is taken as features."""
    values = _whole_array(array, "arr_0", source)
    if values.ndim == 4:
        raise Unsupported(
            f"'arr_0' holds {len(values):,} images of {values.shape[1]}×{values.shape[2]} pixels, not features",
            where=source,
            remedy="Run the extractor on the images first, and save its output as 'features'.",
        )
    return _of_arrays({"features": values}, mapping, source, side, beside)


def _statistics(data: Mapping[str, Any], source: str, known: Mapping[str, str]) -> FeatureRecords:
    for name in ("mu", "sigma"):
        if name not in data:
            raise MissingData(f"statistics lack '{name}'", where=source, remedy="Save both mu (d) and sigma (d×d).")
    if set(data) & set(VECTORS["features"]):
        raise Conflict("features and statistics are both given", where=source, remedy="Keep one.")
    mean, covariance = (_whole_array(data[name], name, source) for name in ("mu", "sigma"))
    for name, array, dimensions in (("mu", mean, 1), ("sigma", covariance, 2)):
        if array.ndim != dimensions or array.dtype.kind not in "fiu" or not array.size:
            raise ShapeMismatch(
                f"'{name}' has shape {array.shape} and type {array.dtype}",
                where=source,
                remedy="Give mu as a vector of d numbers, and sigma as a matrix of d×d.",
            )
        if not np.isfinite(array).all():
            raise InvalidNumber(f"'{name}' holds numbers that are not finite", where=source, remedy="Make it again.")
    d = len(mean)
    if covariance.shape != (d, d):
        raise ShapeMismatch(
            f"'mu' has {d:,} numbers and 'sigma' the shape {covariance.shape}", where=source, remedy="It must be d×d."
        )
    if d > MOST_DIMENSIONS:
        raise OutOfRange(f"'mu' has {d:,} numbers, more than {MOST_DIMENSIONS:,}", where=source, remedy=_SAVE)
    covariance = covariance.astype(np.float64)
    scale = float(np.abs(covariance).max())
    if scale > LARGEST**2 or float(np.abs(mean).max()) > LARGEST:
        raise OutOfRange(f"a number is beyond {LARGEST:g}", where=source, remedy="Is the file whole?")
    if float(np.abs(covariance - covariance.T).max()) > 1e-6 * max(scale, 1e-300):
        raise InvalidValue("'sigma' is not symmetric", where=source, remedy="A covariance matrix is.")
    covariance = (covariance + covariance.T) / 2
    factor, least = factor_and_least(covariance)
    if least < -1e-5 * max(scale, 1e-300):
        raise InvalidValue(
            f"'sigma' has a negative eigenvalue ({least:.3g})", where=source, remedy="A covariance matrix has none."
        )
    moments = Moments.of_statistics(mean.astype(np.float64), factor, 0.0)
    return FeatureRecords(source, {}, known_columns(known, 1), RowLocation(source), statistics=moments)


def known_columns(known: Mapping[str, str], rows: int) -> dict[str, Array]:
    """The fingerprint as columns, so that it goes where the rows go."""
    return {name: np.full(rows, value, dtype=object) for name, value in known.items()}


def _of_table(table: Table, mapping: Mapping[str, str], side: str, beside: Mapping[str, str]) -> FeatureRecords:
    """A table with a column of lists, or with numbered columns f0, f1, ..."""
    columns = _renamed(table.columns, mapping, side)
    numbered: dict[int, str] = {}
    for name in columns:
        match = _NUMBERED.fullmatch(name)
        if match:
            place = int(match[1])
            if place in numbered:
                raise Conflict(
                    f"columns '{numbered[place]}' and '{name}' are both number {place}",
                    where=table.source,
                    remedy="Keep one.",
                )
            numbered[place] = name
    matrices: dict[str, Array] = {}
    for name, aliases in VECTORS.items():
        names = [alias for alias in aliases if alias in columns]
        if names:
            matrices[name] = _matrix(_lists(columns.pop(names[0]), names[0], table), names[0], table.source, table)
    if numbered and "features" not in matrices:
        start = min(numbered)
        missing = [place for place in range(start, start + len(numbered)) if place not in numbered]
        if missing:
            raise MissingColumn(
                f"column 'f{missing[0]}' is missing; there are {count_text(len(numbered), 'numbered column')} up to "
                f"'{numbered[max(numbered)]}'",
                where=table.source,
                remedy="Number them without a gap.",
            )
        parts = [_numbers(columns.pop(numbered[place]), numbered[place], table) for place in sorted(numbered)]
        matrices["features"] = _matrix(np.stack(parts, axis=1), "f0 ...", table.source, table)
    records = _records(matrices, columns, mapping, table.source, side, beside, table)
    return replace(records, given=frozenset(table.columns))


def _numbers(values: Array, name: str, table: Table) -> Array:
    if values.dtype.kind in "fiu":
        return values.astype(np.float64)
    out = np.empty(len(values))
    for row, value in enumerate(values.tolist()):
        try:
            if value is None or value == "" or isinstance(value, bool):
                raise ValueError
            out[row] = table.number(value)
        except (TypeError, ValueError):
            raise InvalidNumber(
                f"'{str(value)[:40]}' is not a number",
                where=f"{table.place(row)}, column '{name}'",
                remedy="A number is required.",
            ) from None
    return out


def _lists(values: Array, name: str, table: Table) -> Any:
    """A column of lists as a matrix; texts are JSON lists."""
    if values.ndim == 2:
        return values
    rows = []
    width = -1
    for row, value in enumerate(values.tolist()):
        where = f"{table.place(row)}, column '{name}'"
        if isinstance(value, str):
            value = parse_json(value, where) if value.strip().startswith("[") else None
        if hasattr(value, "tolist"):
            value = value.tolist()
        if not isinstance(value, list | tuple) or any(
            isinstance(v, bool) or not isinstance(v, int | float) for v in value
        ):
            raise InvalidNumber("the cell is not a list of numbers", where=where, remedy="Write [0.1, 0.2, ...].")
        if width not in (-1, len(value)):
            raise ShapeMismatch(
                f"the vector has {len(value):,} numbers, and the one before it {width:,}",
                where=where,
                remedy="All vectors of a set have the same length.",
            )
        width = len(value)
        try:
            rows.append(np.array(value, dtype=np.float64))
        except OverflowError:
            raise OutOfRange(f"a number is beyond {LARGEST:g}", where=where, remedy="Is the file whole?") from None
    return np.array(rows, dtype=np.float64).reshape(len(rows), max(width, 0))


def _whole_array(values: Any, name: str, source: str) -> Array:
    """Values as one array; lists of different lengths are none."""
    try:
        return np.asarray(to_numpy(values))
    except ValueError:
        what = f"'{name}' holds lists of different lengths, or something other than numbers"
        raise ShapeMismatch(what, where=source, remedy="All rows have the same length.") from None


def _matrix(values: Any, name: str, source: str, table: Table | None = None) -> Array:
    """A matrix of finite numbers; single precision stays single."""
    array = _whole_array(values, name, source)
    if array.ndim == 4 and array.dtype == np.uint8:
        raise Unsupported(
            f"'{name}' holds {len(array):,} images of {array.shape[1]}×{array.shape[2]} pixels, not features",
            where=source,
            remedy="Run the extractor on the images first.",
        )
    if array.ndim == 4 and array.shape[2:] == (1, 1):
        array = array[:, :, 0, 0]
    if array.ndim in (1, 2) and not len(array):
        return np.zeros((0, array.shape[1] if array.ndim == 2 else 0), dtype=np.float32)
    if array.ndim != 2 or array.dtype.kind not in "fiu" or not array.shape[1]:
        raise ShapeMismatch(
            f"'{name}' has shape {array.shape} and type {array.dtype}",
            where=source,
            remedy="Vectors are a matrix of numbers, one vector per row.",
        )
    if array.shape[1] > MOST_DIMENSIONS:
        raise OutOfRange(
            f"vectors have {array.shape[1]:,} numbers, more than {MOST_DIMENSIONS:,}", where=source, remedy=_SAVE
        )
    if array.dtype.itemsize < 4 or array.dtype.kind in "iu":
        array = array.astype(np.float32 if array.dtype.itemsize <= 2 else np.float64)
    if array.dtype not in (np.float32, np.float64) or not array.dtype.isnative:
        array = array.astype(np.float64)
    for start in range(0, len(array), 4096):
        part = np.asarray(array[start : start + 4096])
        wrong = ~np.isfinite(part).all(axis=1)
        far = ~wrong & (np.abs(np.where(np.isfinite(part), part, 0)).max(axis=1) > LARGEST)
        for bad, what, error in ((wrong, "is not finite", InvalidNumber), (far, f"is beyond {LARGEST:g}", OutOfRange)):
            if bad.any():
                row = start + int(np.argmax(bad))
                place = table.place(row) if table is not None else f"{source}, row {row}"
                raise error(
                    f"a number of '{name}' {what} ({count_text(int(bad.sum()), 'vector')} of rows {start:,} to "
                    f"{start + len(part) - 1:,})",
                    where=place,
                    remedy="Leave out such vectors, or extract them again.",
                )
    return array


def _records(
    matrices: Mapping[str, Array],
    rest: Mapping[str, Any],
    mapping: Mapping[str, str],
    source: str,
    side: str,
    known: Mapping[str, str],
    table: Table | None = None,
) -> FeatureRecords:
    if not matrices:
        has = ", ".join(map(str, list(rest)[:6])) or "nothing"
        raise MissingData(
            f"there are no vectors; the source has {has}",
            where=source,
            remedy="Give 'features' (n×d), columns f0, f1, ..., 'probs' or 'logits'.",
        )
    lengths = {name: len(matrix) for name, matrix in matrices.items()}
    rows = next(iter(lengths.values()))
    beside: dict[str, Array] = {}
    for name, values in rest.items():
        array = to_numpy(values)
        if isinstance(array, list | tuple):
            array = as_object(list(array))
        elif not isinstance(array, np.ndarray):
            array = as_object(list(array)) if np.ndim(array) else None
        if array is None or array.ndim != 1:
            raise ShapeMismatch(
                f"'{name}' is not a column of one value per vector", where=source, remedy="Leave it out."
            )
        if array.dtype.kind in "US":
            array = array.astype(str).astype(object)
        lengths[str(name)] = len(array)
        beside[str(name)] = array
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"'{name}' {length:,}" for name, length in lengths.items())
        raise ShapeMismatch(f"arrays differ in length: {sizes}", where=source, remedy="Give one value per vector.")
    held: Mapping[str, Array] = beside
    schema = Schema((), tuple(c for c in (TRUTH if side == "truth" else PREDICTION).columns if c.type != "numbers"))
    lines = {} if table is None else {"lines": table.lines, "counted": table.counted, "decimal": table.decimal}
    named = to_records(Table(source, held, **lines), schema, mapping, side) if beside else None  # type: ignore[arg-type]
    columns: dict[str, Array] = dict(named.columns) if named is not None else {}
    if "features" in matrices:
        columns["features"] = matrices["features"]
    if "probs" in matrices or "logits" in matrices:
        columns["probs"] = _probabilities(matrices, source)
    other = {**(named.other if named is not None else {}), **known_columns(known, rows)}
    place = RowLocation(source) if table is None else table.place
    return FeatureRecords(source, columns, other, place, named.names if named is not None else {})


def _probabilities(matrices: Mapping[str, Array], source: str) -> Array:
    """Probabilities as they are, or the softmax of logits."""
    if "probs" not in matrices:
        logits = np.asarray(matrices["logits"], dtype=np.float64)
        logits = np.exp(logits - logits.max(axis=1, keepdims=True)) if logits.size else logits
        return np.asarray(logits / logits.sum(axis=1, keepdims=True))
    probs = np.asarray(matrices["probs"], dtype=np.float64)
    if not len(probs):
        return probs
    sums = probs.sum(axis=1)
    off = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[off] - 1) > SUMS or probs.min() < 0:
        row = off if probs.min() >= 0 else int(np.argmin(probs.min(axis=1)))
        raise InvalidValue(
            f"probabilities of a row sum to {sums[row]:.3g}, and the least is {probs[row].min():.3g}",
            where=f"{source}, row {row}",
            remedy="If these are scores before the softmax, name them 'logits'.",
        )
    return np.asarray(probs / sums[:, np.newaxis])
