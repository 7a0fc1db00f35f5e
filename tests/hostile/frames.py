"""Data in memory that is spoiled: pandas, polars, pyarrow, dicts and arrays, through the functions of the package."""

from __future__ import annotations

from typing import Any

from hostile.rows import Row, program

ROWS: list[Row] = []


def frame(name: str, task: str, spoil: str, *says: str, **more: Any) -> None:
    """Truth `t` and predictions `p` are dicts of lists; `spoil` changes them, then they are evaluated."""
    ROWS.append(
        program(
            f"{task} in memory: {name}", f'{GOOD[task]}\n{spoil}\nprint(sy.evaluate("{task}", t, p))', *says, **more
        )
    )


GOOD = {
    "weights": "t = {'dish': ['A', 'A', 'B'], 'item': [1, 2, 1], 'weight': [100., 50., 200.]}\np = {k: list(v) for k, v in t.items()}",
    "sequences": "t = {'sequence': ['s', 's'], 't': [0, 1], 'weight': [9., 8.]}\np = {k: list(v) for k, v in t.items()}",
    "ellipses": "t = {'image': ['i', 'k'], 'xc': [9., 1.], 'yc': [9., 1.], 'a': [3., 2.], 'b': [2., 1.], 'theta': [45., 90.]}\np = {**{k: list(v) for k, v in t.items()}, 'score': [.5, .6]}",
    "labels": "t = {'id': [1, 2, 3], 'label': ['a', 'b', 'a']}\np = {k: list(v) for k, v in t.items()}",
    "rankings": "t = {'query': ['q', 'q'], 'doc': ['a', 'b'], 'relevance': [1, 0]}\np = {'query': ['q', 'q'], 'doc': ['a', 'b'], 'score': [.9, .1]}",
    "captions": "t = {'image': [1, 2], 'caption': ['a red car', 'a dog']}\np = {k: list(v) for k, v in t.items()}",
    "losses": "t = {'image': ['i', 'k'], 'item': [1, 1], 'target': [0, 1]}\np = {'image': ['i', 'k'], 'item': [1, 1], 'logit': [-1., 2.]}",
    "boxes": "t = {'image': [1, 2], 'label': ['a', 'a'], 'x': [0., 1.], 'y': [0., 1.], 'w': [5., 5.], 'h': [5., 5.]}\np = {**{k: list(v) for k, v in t.items()}, 'score': [.5, .6]}",
    "masks": "t = {'image': [1, 2], 'label': ['a', 'a'], 'mask': [{'size': [4, 4], 'counts': [0, 16]}] * 2}\np = {**{k: list(v) for k, v in t.items()}, 'score': [.5, .6]}",
    "keypoints": "t = {'image': [1, 2], 'label': ['a', 'a'], 'keypoints': [[1, 1, 2, 3, 3, 2]] * 2}\np = {**{k: list(v) for k, v in t.items()}, 'score': [.5, .6]}",
}  # fmt: skip
PANDAS = "import pandas as pd; t, p = pd.DataFrame(t), pd.DataFrame(p)\n"
ARROW = "import pyarrow as pa; t, p = pa.table(t), pa.table(p)\n"
POLARS = "import polars as pl; t, p = pl.DataFrame(t), pl.DataFrame(p)\n"

frame("None for the truth", "weights", "t = None", "truth")
frame("number for the truth", "weights", "t = 7", "truth", "int")
frame("bytes for the truth", "weights", "t = b'dish'", "truth", "bytes")
frame("list of dicts for the truth", "weights", "t = [{'dish': 'A'}]", "truth", "list")
frame("function for the truth", "weights", "t = lambda: 0", "truth", "function")
frame("empty dict", "weights", "t = {}", "truth", "'dish' and 'weight' are missing")
frame("columns of two lengths", "weights", "p['weight'].pop()", "predictions", "'weight' has 2 rows")
frame("text for a column", "weights", "p['weight'] = '123'", "predictions", "'weight' is not an array")
frame("number for a column", "weights", "p['weight'] = 7", "predictions", "'weight' is not an array")
frame("None in a column", "weights", "p['weight'][1] = None", "predictions, row 1", "'weight'", "empty")
frame(
    "objects in a column", "weights", "p['weight'][1] = object()", "predictions, row 1", "'weight'", "is not a number"
)
frame("complex numbers", "weights", "p['weight'] = [1j, 2j, 3j]", "predictions, row 0", "'weight'")
frame("10^400", "weights", "p['weight'][1] = 10**400", "predictions, row 1", "'weight'")
frame("booleans for weights", "weights", "p['weight'] = [True, False, True]", "predictions", "'weight'", "True")
frame(
    "array of two dimensions",
    "weights",
    "import numpy as np; p['weight'] = np.ones((3, 2))",
    "predictions",
    "'weight'",
    "2 dimensions",
)
frame(
    "array of no dimension",
    "weights",
    "import numpy as np; p['weight'] = np.array(3.0)",
    "predictions",
    "'weight'",
    "dimensions",
)
frame(
    "records of NumPy",
    "weights",
    "import numpy as np; p['weight'] = np.zeros(3, dtype=[('a', 'f8')])",
    "predictions",
    "'weight'",
)
frame(
    "dates",
    "weights",
    "import numpy as np; p['weight'] = np.array(['2020-01-01'] * 3, dtype='M8[D]')",
    "predictions",
    "'weight'",
)
frame(
    "float16 that overflows",
    "weights",
    "import numpy as np; p['weight'] = np.array([1, 2, np.inf], dtype='f2')",
    "predictions, row 2",
    "'inf'",
)
frame("ids of nan", "weights", "p['dish'] = ['A', float('nan'), 'B']", "predictions, row 1", "'dish'", "id is empty")
frame("ids of one side as numbers", "weights", "t['dish'] = [1, 1, 2]; p['dish'] = ['1', '1', 'x']", "dish")
frame(
    "pandas with a column twice",
    "weights",
    PANDAS + "p = pd.concat([p, p[['weight']]], axis=1)",
    "predictions",
    "'weight'",
    "twice",
)
frame(
    "pandas with NA",
    "weights",
    PANDAS + "p['weight'] = pd.array([1, None, 3], dtype='Int64')",
    "predictions, row 1",
    "'weight'",
)
frame(
    "pandas with columns of numbers",
    "weights",
    PANDAS + "p.columns = [0, 1, 2]",
    "predictions",
    "'dish' and 'weight' are missing",
)
frame(
    "pandas with two levels of columns",
    "weights",
    PANDAS + "p.columns = pd.MultiIndex.from_product([['a'], p.columns])",
    "predictions",
    "missing",
)
frame(
    "pandas of categories with a gap",
    "weights",
    PANDAS + "p['dish'] = pd.Categorical(['A', None, 'B'])",
    "predictions, row 1",
    "'dish'",
)
frame(
    "pandas of sparse numbers",
    "weights",
    PANDAS + "p['weight'] = pd.arrays.SparseArray([1., float('nan'), 3.])",
    "predictions, row 1",
    "'weight'",
)
frame("pandas without rows", "weights", PANDAS + "t = t[:0]", "truth", "no rows")
frame("pandas Series", "weights", PANDAS + "t = t['weight']", "truth", "Series")
frame(
    "polars with nulls",
    "weights",
    POLARS + "p = p.with_columns(weight=pl.Series([1., None, 3.]))",
    "predictions, row 1",
    "'weight'",
)
frame(
    "polars of lists",
    "weights",
    POLARS + "p = p.with_columns(weight=pl.Series([[1.], [2.], [3.]]))",
    "predictions, row 0",
    "'weight'",
)
frame(
    "polars of objects",
    "weights",
    POLARS + "p = p.with_columns(pl.Series('weight', [object()] * 3, dtype=pl.Object))",
    "predictions, row 0",
    "'weight'",
)
frame(
    "polars LazyFrame without a column",
    "weights",
    POLARS + "t = t.lazy().drop('weight')",
    "truth",
    "'weight' is missing",
)
frame(
    "pyarrow with nulls",
    "weights",
    ARROW + "p = p.set_column(2, 'weight', pa.array([1., None, 3.]))",
    "predictions, row 1",
    "'weight'",
)
frame(
    "pyarrow with a column twice",
    "weights",
    ARROW + "p = p.append_column('weight', p.column(2))",
    "predictions",
    "'weight'",
    "twice",
)
frame(
    "pyarrow of structs",
    "weights",
    ARROW + "p = p.set_column(2, 'weight', pa.array([{'a': 1}] * 3))",
    "predictions, row 0",
    "'weight'",
)
frame(
    "pyarrow of decimals that are huge",
    "weights",
    ARROW
    + "import decimal; p = p.set_column(2, 'weight', pa.array([decimal.Decimal('9e37')] * 3, pa.decimal128(38, 0)))",
    "predictions, row 0",
    "It must be from -1e+12 to 1e+12",
)
frame(
    "tensor that wants a gradient",
    "weights",
    "import torch; p['weight'] = torch.tensor([1., 2., 3.], requires_grad=True)",
    "weights",
    code=0,
    memory=False,
)
frame(
    "tensor of bfloat16",
    "weights",
    "import torch; p['weight'] = torch.tensor([1., 2., 3.], dtype=torch.bfloat16)",
    "weights",
    code=0,
    memory=False,
)
frame("frame of nan", "sequences", "p['weight'] = [float('nan')] * 2", "predictions, row 0", "'weight'")
frame("t of 2^70", "sequences", "p['t'] = [0, 2**70]", "predictions", "'t'")
frame("t as text", "sequences", "p['t'] = ['first', 'second']", "predictions, row 0", "'t'", "'first' is not a number")
frame("axis of nan", "ellipses", "p['a'][1] = float('nan')", "predictions, row 1", "'a'")
frame(
    "pandas with a column twice",
    "ellipses",
    PANDAS + "p = pd.concat([p, p[['a']]], axis=1)",
    "predictions",
    "'a'",
    "twice",
)
frame("labels of lists", "labels", "p['label'][1] = ['a', 'b']", "predictions, row 1", "is not one label")
frame(
    "probabilities of three dimensions",
    "labels",
    "import numpy as np; p['probability'] = np.zeros((3, 2, 2)); del p['label']",
    "predictions",
    "probability",
)
frame(
    "probabilities of nan",
    "labels",
    "import numpy as np; p['probability'] = np.full((3, 2), np.nan); del p['label']",
    "predictions, row 0",
    "probability",
)
frame("score of nan", "rankings", "p['score'][1] = float('nan')", "predictions, row 1", "'score'")
frame(
    "pandas with a column twice",
    "rankings",
    PANDAS + "p = pd.concat([p, p[['score']]], axis=1)",
    "predictions",
    "'score'",
    "twice",
)
frame(
    "pyarrow with null documents",
    "rankings",
    ARROW + "p = p.set_column(1, 'doc', pa.array(['a', None]))",
    "predictions, row 1",
    "'doc'",
    "empty",
)
frame("half surrogates for documents", "rankings", "p['doc'][1] = '\\ud800'", "predictions, row 1", "'doc'")
frame("nested with objects", "rankings", "p = {'q': {'a': object()}}", "predictions", "q")
frame("nested with a list", "rankings", "p = {'q': {'a': 1}, 'r': [1]}", "predictions", "r")
frame("caption of half a character", "captions", "p['caption'][1] = '\\ud800 dog'", "predictions, row 1", "'caption'")
frame("logit of nan", "losses", "p['logit'][1] = float('nan')", "row 1", "'logit'", "empty")
frame("target of 0.5 and text", "losses", "t['target'] = ['no', 'yes']", "truth, row 0", "'target'")
frame(
    "pandas with a column twice",
    "boxes",
    PANDAS + "p = pd.concat([p, p[['x']]], axis=1)",
    "predictions",
    "'x'",
    "twice",
)
frame("width of nan", "boxes", "p['w'][1] = float('nan')", "predictions, row 1", "'w'")
frame("negative width", "boxes", "p['w'][1] = -5.0", "predictions, row 1", "'w'")
frame("score as text", "boxes", "p['score'] = ['high', 'low']", "predictions, row 0", "'score'")
frame("mask that is a text", "masks", "p['mask'] = ['cat', 'dog']", "predictions, row 0", "'mask'")
frame(
    "mask of negative runs",
    "masks",
    "p['mask'] = [{'size': [4, 4], 'counts': [-5, 21]}] * 2",
    "predictions, row 0",
    "'mask'",
)
frame("mask of another size", "masks", "p['mask'] = [{'size': [5, 5], 'counts': [0, 25]}] * 2", "predictions, row 0")
frame(
    "mask of nan",
    "masks",
    "import numpy as np; p['mask'] = [np.full((4, 4), np.nan)] * 2",
    "predictions, row 0",
    "'mask'",
)
frame("keypoints of text", "keypoints", "p['keypoints'] = ['a b c'] * 2", "predictions, row 0", "'keypoints'")
frame("keypoints of four numbers", "keypoints", "p['keypoints'] = [[1, 2, 3, 4]] * 2", "predictions, row 0")
frame("keypoints of None", "keypoints", "p['keypoints'] = [None, None]", "predictions, row 0", "'keypoints'")
frame(
    "masked array",
    "weights",
    "import numpy as np; p['weight'] = np.ma.masked_array([1., 2., 3.], [0, 1, 0])",
    "predictions, row 1",
    "'weight'",
)
frame(
    "booleans against texts",
    "labels",
    "t['label'] = [True, False, True]; p['label'] = ['True', 'False', 'True']",
    "Labels are True and False",
    code=0,
)
frame("fractions against classes", "labels", "t['label'] = [0, 1, 0]; p['label'] = [.2, .9, .1]", "label")
frame("caption of None", "captions", "p['caption'][1] = None", "empty", code=0)
frame(
    "captions given as lists",
    "captions",
    "p['caption'] = [['a car', 'a bus'], ['a dog']]",
    "predictions, row 0",
    "'caption'",
)


def call(name: str, source: str, *says: str, **more: Any) -> None:
    ROWS.append(program(name, f"{GOOD['weights']}\n{source}", *says, task="weights", **more))


call("api: no task of that name", "sy.evaluate('wieghts', t, p)", "'wieghts'", "'weights'")
call("api: task that is not text", "sy.evaluate(7, t, p)", "7")
call("api: metrics that are not texts", "sy.evaluate('weights', t, p, [7])", "7")
call("api: no metrics", "sy.evaluate('weights', t, p, [])", "no metric")
call("api: slices that are not texts", "sy.evaluate('weights', t, p, by=[7])", "7")
call("api: slice of an unknown column", "sy.evaluate('weights', t, p, by=['fod'])", "'fod'")
call("api: confidence of nan", "sy.evaluate('weights', t, p, confidence=float('nan'))", "nan", "between 0 and 1")
call("api: confidence that is a text", "sy.evaluate('weights', t, p, confidence='high')", "high")
call("api: draws that are a fraction", "sy.evaluate('weights', t, p, draws=100.5)", "100.5")
call("api: draws of nan", "sy.evaluate('weights', t, p, draws=float('nan'))", "nan")
call("api: seed that is a fraction", "sy.evaluate('weights', t, p, seed=0.5)", "0.5")
call("api: policy that is unknown", "sy.evaluate('weights', t, p, missing='ignore')", "'ignore'", "worst")
call("api: columns that are a list", "sy.evaluate('weights', t, p, columns=['weight'])", "columns")
call("api: options that are unknown", "sy.evaluate('weights', t, p, options={'angle': 3})", "'angle'")
call("api: one model to compare", "sy.compare('weights', t, [p])", "two", command="compare")
call("api: threads below one", "with sy.use_threads(-3): pass", "-3 threads", "from 1 up")
call("api: gate without rules", "sy.gate({}, [])", "rules", command="gate")
call("api: gate of a number", "sy.gate(7, ['mae > 3'])", "7", command="gate")
call("api: read a number", "sy.load(7)", "7", command="report")
call(
    "api: check of a number",
    "found = sy.check('weights', 7); print(found); raise SystemExit(0 if found.ok else 1)",
    "int",
    command="check",
    code=1,
)
call(
    "api: path with a zero byte",
    "sy.evaluate('weights', 't\\0.csv', p)",
    "the path contains a null byte. Check the path.",
)
call("api: path with half a surrogate", "sy.evaluate('weights', 't\\ud800.csv', p)", "Check the path")
