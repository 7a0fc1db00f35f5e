"""The small parser as PyTorch trains it; native/kernels/language/parser.hpp computes the same in integers.

A word is the sum of a vector of its own (where it is known) and of vectors of its beginnings and endings. Two layers
of gated recurrent units read the sentence in both directions. From each word's vector come its tag, a vector as
dependent and one as head, whose product scores an arc, and two more, whose sum gives the relation once the head is
settled.
"""

from __future__ import annotations

import numpy as np
import torch
from parser_corpus import AFFIXES, Vocabulary
from torch import nn

ARC = RELATION = TAG = 48  # widths of a word's vectors for arcs, relations and tags
WORD = 96


def rounded(x: torch.Tensor) -> torch.Tensor:
    """Values between -1 and 1 as the native parser keeps them, in 127ths; gradients pass."""
    return x + ((x * 127).round() / 127 - x).detach()


class SmallParser(nn.Module):
    def __init__(self, vocabulary: Vocabulary, tags: int, relations: int, units: tuple[int, ...]) -> None:
        super().__init__()
        self.known = vocabulary.known
        self.register_buffer("affixes", torch.from_numpy(vocabulary.affixes), persistent=False)
        self.word, self.affix = nn.Embedding(self.known + 1, WORD), nn.Embedding(AFFIXES, WORD)
        for embedding in (self.word, self.affix):
            nn.init.normal_(embedding.weight, std=0.1)
        inputs = (WORD, *(2 * u for u in units[:-1]))
        self.layers = nn.ModuleList(
            nn.GRU(i, u, bidirectional=True, batch_first=True) for i, u in zip(inputs, units, strict=True)
        )
        self.drop = nn.Dropout(0.05)
        self.split = [ARC, ARC, RELATION, RELATION, TAG]
        self.sides = nn.Linear(2 * units[-1], sum(self.split))
        self.root = nn.Parameter(torch.randn(ARC) * 0.1)
        self.root_relation = nn.Parameter(torch.zeros(RELATION))
        self.arc_scale = nn.Parameter(torch.tensor(0.5))
        self.tag, self.relation = nn.Linear(TAG, tags), nn.Linear(RELATION, relations)

    def vectors(self, words: torch.Tensor, forgotten: torch.Tensor | None = None) -> torch.Tensor:
        numbers = words.clamp(max=self.known)
        if forgotten is not None:
            numbers = numbers.masked_fill(forgotten, self.known)
        return torch.tanh(self.word(numbers) + self.affix(self.affixes[words]).sum(2))

    def forward(self, words: torch.Tensor, forgotten: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
        """Scores of tags [b, i, tag], of heads [b, i, 0 or 1 + head], and both sides of relations."""
        x = self.drop(rounded(self.vectors(words, forgotten)))
        for layer in self.layers:
            x = self.drop(rounded(layer(x)[0]))
        dependent, head, rel_dependent, rel_head, tag = self.sides(x).split(self.split, -1)
        head = torch.cat([self.root.expand(len(words), 1, -1), head.relu()], 1)
        arcs = torch.einsum("bik,bjk->bij", dependent, head) * self.arc_scale
        n = words.shape[1]
        itself = torch.eye(n, n + 1, device=x.device, dtype=torch.bool).roll(1, 1)
        rel_head = torch.cat([self.root_relation.expand(len(words), 1, -1), rel_head], 1)
        return self.tag(tag.relu()), arcs.masked_fill(itself, -1e4), rel_dependent, rel_head

    def relations_of(self, dependent: torch.Tensor, head: torch.Tensor, heads: torch.Tensor) -> torch.Tensor:
        """Scores of the relations of every word to its given head."""
        of = head.gather(1, heads[..., None].expand(-1, -1, head.shape[-1]))
        return self.relation((dependent + of).relu())

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: value.detach().cpu().numpy() for name, value in self.state_dict().items()}
