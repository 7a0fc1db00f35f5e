"""Embeddings: what image retrieval has instead of lists: matrices of vectors, and labels that say what is alike."""

from __future__ import annotations

from typing import Any

from steelyard.core.records import Records

DISTANCE = "distance"  # the array of distances that takes the place of vectors


class Embeddings(Records):
    """One side of a retrieval by vectors.

    Predictions have the columns `query` and, unless the queries search among themselves, `gallery`: matrices with a
    vector per row, or `distance`, a matrix of query by gallery. Truth has `query_label` and likewise `gallery_label`,
    and may have `query_camera` and `gallery_camera`. Either may have `query_id` and `gallery_id`.
    """

    def __len__(self) -> int:
        return max((len(column) for column in self.columns.values()), default=0)


class DeviceEmbeddings(Embeddings):
    """Embeddings whose matrices are tensors that stay on their device."""

    def digest(self) -> str:
        """A hash of the contents, made of a fingerprint of each matrix on its device."""
        import hashlib  # slow to load: nothing needs it before data are read

        total = hashlib.sha256()
        for name in sorted(self.columns):
            column: Any = self.columns[name]
            total.update(f"{name}:{tuple(column.shape)}:".encode())
            if hasattr(column, "detach"):
                total.update(f"{column.dtype}:{_fingerprint(column)}".encode())
            else:
                total.update("\x1f".join(map(str, column.tolist())).encode("utf-8", "surrogatepass"))
        return f"sha256-device:{total.hexdigest()}"


_ODD = (0x1E3779B97F4A7C15, 0x3F58476D1CE4E5B9, 0x14D049BB133111EB, 0x2545F4914F6CDD1D)
_ROWS = 1 << 15


def _fingerprint(matrix: Any) -> list[int]:
    """128 bits of a matrix of numbers: products and sums modulo 2^64, which are the same in any order."""
    small = matrix.new_zeros(0)
    sums = [0, 0]
    for start in range(0, len(matrix), _ROWS):
        rows = matrix[start : start + _ROWS]
        bits = rows.contiguous().view(small.long().dtype) if rows.element_size() == 8 else rows.float()
        if rows.element_size() != 8:
            bits = bits.contiguous().view(small.int().dtype).long()
        column = small.new_ones(bits.shape[1]).long().cumsum(0) * _ODD[0]
        mixed = (bits + column) * _ODD[1]
        each = ((mixed ^ (mixed >> 31)) * _ODD[2]).sum(1)
        place = small.new_ones(len(bits)).long().cumsum(0) + start
        for k, odd in enumerate(_ODD[2:]):
            value = (each + place * _ODD[0]) * odd
            sums[k] = (sums[k] + int(((value ^ (value >> 29)) * _ODD[1 - k]).sum())) & (1 << 64) - 1
    return sums
