"""Write a trained parser as the package's file, in bytes, as native/kernels/language/parser_model.cpp reads it.

python tools/pack_parser.py OUT.npz [--out src/steelyard/language/data/parser.bin]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from parser_corpus import AFFIXES, affixes
from parser_net import ARC, WORD

MODEL = Path(__file__).resolve().parent.parent / "src/steelyard/language/data/parser.bin"


def number(value: int) -> bytes:
    return np.array(value, "<u4").tobytes()


def reals(values: np.ndarray) -> bytes:
    return np.asarray(values, "<f4").tobytes()


def rounded(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows as bytes, and the scale of each."""
    scale = np.abs(rows).max(1) / 127
    return np.rint(rows / np.maximum(scale, 1e-12)[:, None]).astype(np.int8), scale


def matrix(rows: np.ndarray) -> bytes:
    """Bytes and scales of a matrix whose input is in 127ths."""
    weights, scale = rounded(rows)
    return weights.tobytes() + reals(scale / 127)


def gated(arrays: dict[str, np.ndarray], layer: int) -> bytes:
    def of(name: str, direction: str) -> np.ndarray:
        return arrays[f"layers.{layer}.{name}_l0{direction}"]

    directions = ("", "_reverse")
    units = of("weight_hh", "").shape[1]
    bias = []
    for d in directions:  # all but the last gate's recurrent bias can be added beforehand
        both = of("bias_ih", d).copy()
        both[: 2 * units] += of("bias_hh", d)[: 2 * units]
        bias.append(both)
    out = number(units) + matrix(np.concatenate([of("weight_ih", d) for d in directions])) + reals(np.concatenate(bias))
    return out + b"".join(matrix(of("weight_hh", d)) + reals(of("bias_hh", d)[2 * units :]) for d in directions)


def choice(weights: np.ndarray, bias: np.ndarray) -> bytes:
    """A last layer, whose input is in 128ths."""
    small, scale = rounded(weights)
    return small.tobytes() + reals(scale / 128) + reals(bias)


def pack(arrays: dict[str, np.ndarray]) -> bytes:
    if len(arrays["units"]) != 2 or arrays["word.weight"].shape[1] != WORD:
        raise SystemExit("the package's parser has two layers")
    out = b"SYPN0001"
    for names in (arrays["tag_names"], arrays["relation_names"]):
        listed = [str(name).encode() for name in names]
        out += number(len(listed)) + b"".join(number(len(name)) + name for name in listed)
    text = str(arrays["words"])
    words = text.split("\n")
    word, affix = arrays["word.weight"], arrays["affix.weight"]
    if affix.shape[0] != AFFIXES or len(words) + 3 != len(word):
        raise SystemExit("this is not a net of tools/train_parser.py")
    places = np.array([affixes(w) for w in words])
    vectors = np.tanh(word[2 : 2 + len(words)] + affix[places].sum(1))
    scale = float(np.abs(affix).max()) / 127
    out += number(len(words)) + number(len(text.encode())) + text.encode()
    out += np.rint(vectors * 127).astype(np.int8).tobytes()
    out += reals(scale) + np.rint(affix / scale).astype(np.int8).tobytes() + reals(word[-1])
    out += gated(arrays, 0) + gated(arrays, 1)
    sides, bias = arrays["sides.weight"].copy(), arrays["sides.bias"].copy()
    sides[:ARC] *= arrays["arc_scale"]
    bias[:ARC] *= arrays["arc_scale"]
    out += matrix(sides) + reals(bias) + reals(arrays["root"]) + reals(arrays["root_relation"])
    for kind in ("tag", "relation"):
        out += choice(arrays[f"{kind}.weight"], arrays[f"{kind}.bias"])
    return out


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("net", type=Path)
    arguments.add_argument("--out", type=Path, default=MODEL)
    args = arguments.parse_args()
    packed = pack(dict(np.load(args.net)))
    args.out.write_bytes(packed)
    print(f"{args.out}: {len(packed):,} bytes")


if __name__ == "__main__":
    main()
