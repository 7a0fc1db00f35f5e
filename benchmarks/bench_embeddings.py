"""Ranks from embeddings beside the product of the two matrices alone.

    python benchmarks/bench_embeddings.py [--device cpu|cuda] [--queries N] [--gallery N] [--width 768]

Every query has one relevant vector, which lies near it. On a CPU the seconds are CPU seconds of a process of its own,
and the product is BLAS's in single precision, block by block. On a GPU they are wall seconds: the product alone is
PyTorch's in half precision, and `map@100`, `ndcg@100` and `recall@100` are from the tensors on the GPU to the report:
in a new process whose kernels nobody has compiled, in a new process that finds them compiled, and in its later calls.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from measure import measure, record, sized

DRAWN = """
import numpy as np
import steelyard as sy
from steelyard.match.ranks import GALLERY, QUERIES, RankQueries, exact_ranks
rng = np.random.default_rng(0)
gallery = rng.standard_normal(({gallery}, {width}), dtype=np.float32)
query = gallery[:{queries}] + {noise} * rng.standard_normal(({queries}, {width}), dtype=np.float32)
place, none = np.arange({queries} + 1), np.full({queries}, -1)
wanted = RankQueries(place, place[:-1], none, np.arange({gallery}), 1000)
exact_ranks(query[:8], gallery[:64], RankQueries(place[:9], place[:8], none, np.arange(64), 1000), "cosine", "")
"""
PRODUCT = """
block = np.empty((QUERIES, GALLERY), dtype=np.float32)
for begin in range(0, len(gallery), GALLERY):
    part = gallery[begin : begin + GALLERY].T
    for one in range(0, len(query), QUERIES):
        rows = query[one : one + QUERIES]
        np.matmul(rows, part, out=block[: len(rows), : part.shape[1]])
"""
NOISE = 7.0  # of the relevant vector: most stand among the first hundred


def on_cpu(queries: int, gallery: int, width: int) -> None:
    setup = DRAWN.format(queries=queries, gallery=gallery, width=width, noise=NOISE)
    group = f"ranks of {queries:,} queries among {gallery:,} vectors of {width}"
    ours = measure('exact_ranks(query, gallery, wanted, "cosine", "")', setup)
    product = measure(PRODUCT, setup)
    for name, run in (("steelyard, exact ranks", ours), ("the product alone (BLAS)", product)):
        record(group, name, run, ours)
        print(f"{name:32}", run if isinstance(run, str) else f"{run.cpu:8.2f} CPU s {run.peak_mb:8.0f} MB")


def first_calls(queries: int, gallery: int, width: int) -> None:
    """Two new processes, the first with an empty cache of compiled kernels."""
    sizes = [f"--queries={queries}", f"--gallery={gallery}", f"--width={width}"]
    with tempfile.TemporaryDirectory() as cache:
        for title in ("kernels are compiled", "kernels are found compiled"):
            print(f"a new process, {title}", flush=True)
            command = [sys.executable, __file__, "--device=cuda", "--first-only", *sizes]
            subprocess.run(command, check=True, env=os.environ | {"TRITON_CACHE_DIR": cache})


def on_gpu(queries: int, gallery: int, width: int, first_only: bool) -> None:
    import torch

    import steelyard as sy

    def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = work()
        torch.cuda.synchronize()
        return time.perf_counter() - start, result

    def drawn(queries: int, gallery: int) -> tuple[Any, Any]:
        made = torch.Generator("cuda").manual_seed(0)
        vectors = torch.randn(gallery, width, generator=made, device="cuda")
        noise = torch.randn(queries, width, generator=made, device="cuda")
        return vectors[:queries] + NOISE * noise, vectors

    def product(query: Any, vectors: Any) -> None:
        half, other = query.half(), vectors.half()
        block = torch.empty((8192, min(len(other), 1 << 17)), dtype=torch.float16, device="cuda")
        for begin in range(0, len(other), block.shape[1]):
            part = other[begin : begin + block.shape[1]].T
            for one in range(0, len(half), 8192):
                rows = half[one : one + 8192]
                torch.matmul(rows, part, out=block[: len(rows), : part.shape[1]].reshape(len(rows), part.shape[1]))

    def report(query: Any, vectors: Any, confidence: float | None) -> Any:
        labels = {"query_label": range(len(query)), "gallery_label": range(len(vectors))}
        sides = {name: torch.arange(len(values)).numpy() for name, values in labels.items()}
        return sy.evaluate(
            "rankings", sides, {"query": query, "gallery": vectors}, ["map@100", "ndcg@100", "recall@100"],
            confidence=confidence,
        )  # fmt: skip

    query, vectors = drawn(queries, gallery)
    if first_only:
        for name in ("first", "second"):
            print(f"  {name} call of the process {seconds(lambda: report(query, vectors, None))[0]:7.2f} s")
        return
    print(f"{queries:,} queries, {gallery:,} vectors of {width}, float32, {torch.cuda.get_device_name()}")
    product(query[:8192], vectors)
    print(f"the product alone, half precision  {seconds(lambda: product(query, vectors))[0]:7.2f} s")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    _, plain = seconds(lambda: report(query, vectors, None))
    peak = (torch.cuda.max_memory_allocated() - before) >> 20
    taken, _ = seconds(lambda: report(query, vectors, None))
    print(f"steelyard, ranks and three metrics {taken:7.2f} s   peak beside the inputs {peak:,} MiB")
    taken, _ = seconds(lambda: report(query, vectors, 0.95))
    print(f"the same with 95 % intervals       {taken:7.2f} s")
    print({name: round(score.value, 6) for name, score in plain.scores.items()})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--queries", type=int)
    parser.add_argument("--gallery", type=int)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--first-only", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.device == "cuda":
        sizes = given.queries or 1_000_000, given.gallery or 1_000_000, given.width
        on_gpu(*sizes, given.first_only)
        if not given.first_only:
            first_calls(*sizes)
    else:
        on_cpu(given.queries or sized(4000, 64), given.gallery or sized(24_000, 500), given.width)


if __name__ == "__main__":
    main()
