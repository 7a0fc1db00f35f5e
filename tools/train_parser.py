"""Train the parser that SPICE reads captions with.

    python tools/train_parser.py PARSES SILVER OUT.npz [--units 64,64] [--held-out 2000] [--without TEXTS] [--steps N]

The second of three steps: tools/teach_parser.py writes SILVER, and tools/pack_parser.py makes the package's file of
OUT.npz. The net (tools/parser_net.py) learns from the silver captions, with the teachers' chances as targets, and
from PARSES, each three times as often; the last --held-out different sentences of PARSES are only measured with. A
GPU is advised (some minutes; hours without).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from parser_corpus import HEADS, RELATIONS, TAGS, Sentence, Vocabulary, by_length, read_parses, read_text
from parser_net import SmallParser

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FOLD = 3  # how often an analysed sentence counts beside a silver one
RATE = 2.5e-3


def read_silver(folder: Path) -> tuple[list[list[str]], dict[str, np.ndarray], dict[str, list[str]]]:
    """Captions, their tokens' likeliest analyses, and the names of tags and relations."""
    parts = [np.load(path) for path in sorted(folder.glob("silver*.npz"))]
    captions = [line.split() for part in parts for line in part["text"].tobytes().decode().split("\n")]
    kinds = [f"{kind}{end}" for kind in ("head", "tag", "relation") for end in ("", "_chance")]
    listed = np.load(folder / "held_out.npz")
    names = {kind: listed[f"{kind}_names"].tolist() for kind in ("tag", "relation")}
    return captions, {kind: np.concatenate([part[kind] for part in parts]) for kind in kinds}, names


def as_silver(sentences: list[Sentence], names: dict[str, list[str]]) -> dict[str, np.ndarray]:
    """Analysed sentences in the form of silver ones: one choice, with all of the chance."""
    rows = [row for sentence in sentences for row in sentence]
    columns = {
        "tag": ([names["tag"].index(tag) for _, tag, _, _ in rows], TAGS),
        "head": ([head for _, _, head, _ in rows], HEADS),
        "relation": ([names["relation"].index(relation) for *_, relation in rows], RELATIONS),
    }
    out = {}
    for kind, (numbers, width) in columns.items():
        out[kind] = np.zeros((len(rows), width), np.uint8)
        out[f"{kind}_chance"] = np.zeros((len(rows), width), np.uint8)
        out[kind][:, 0], out[f"{kind}_chance"][:, 0] = numbers, 255
    return out


class Corpus:
    """All tokens in one row on the device, so that a batch is a matter of places."""

    def __init__(self, lines: list[np.ndarray], analyses: dict[str, np.ndarray]) -> None:
        self.lengths = np.array([len(line) for line in lines])
        self.start = np.cumsum(self.lengths) - self.lengths
        self.words = torch.from_numpy(np.concatenate(lines)).to(DEVICE)
        self.analyses = {kind: torch.from_numpy(values).to(DEVICE) for kind, values in analyses.items()}

    def batch(self, rows: np.ndarray) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        places = torch.from_numpy(self.start[rows][:, None] + np.arange(self.lengths[rows[0]])).to(DEVICE)
        return self.words[places], {kind: values[places] for kind, values in self.analyses.items()}


def surprise(scores: torch.Tensor, numbers: torch.Tensor, chances: torch.Tensor) -> torch.Tensor:
    """Cross-entropy with the chances of the few likeliest choices."""
    share = chances.float() / chances.sum(-1, keepdim=True, dtype=torch.float32)
    picked = scores.log_softmax(-1).gather(-1, numbers.long().clamp(max=scores.shape[-1] - 1))
    return -(share * picked).sum(-1).mean()


@torch.no_grad()
def measure(net: SmallParser, corpus: Corpus) -> str:
    net.eval()
    right, whole = np.zeros(4), 0
    for rows in by_length(corpus.lengths, 8000, np.random.default_rng(0)):
        words, gold = corpus.batch(rows)
        tags, arcs, dependent, head = net(words)
        heads = arcs.argmax(-1)
        is_tag, is_head = (tags.argmax(-1) == gold["tag"][..., 0]), heads == gold["head"][..., 0]
        relation = net.relations_of(dependent, head, heads).argmax(-1) == gold["relation"][..., 0]
        labelled = is_head & (relation | (heads == 0))
        right += [float(x.sum()) for x in (torch.ones_like(is_head), is_tag, is_head, labelled)]
        whole += int((labelled & is_tag).all(1).sum())
    net.train()
    shares = "tags {:.4f}, heads {:.4f}, labelled {:.4f}".format(*(right[1:] / right[0]))
    return f"{shares}, whole {whole / len(corpus.lengths):.4f}"


def train(net: SmallParser, corpus: Corpus, dev: Corpus | None, steps: int, seconds: float) -> None:
    """So many steps, or fewer when the time is over first; the rate falls to zero in either case."""
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=1e-4)
    rng, start, step, passed, shown = np.random.default_rng(0), time.time(), 0, 0.0, 0.0
    while passed < 1:
        for rows in by_length(corpus.lengths, 8000, rng):
            passed = max(step / steps, (time.time() - start) / seconds)
            if passed >= 1:
                break
            for group in optimizer.param_groups:
                group["lr"] = RATE * min(1.0, (step + 1) / 300) * (1 - passed)
            words, target = corpus.batch(rows)
            tags, arcs, dependent, head = net(words, torch.rand(words.shape, device=DEVICE) < 0.02)
            relations = net.relations_of(dependent, head, target["head"][..., 0].long())
            scores = (("tag", tags), ("head", arcs), ("relation", relations))
            loss = sum(surprise(x, target[kind], target[f"{kind}_chance"]) for kind, x in scores)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            step += 1
            if passed >= shown:
                shown += 0.1
                measured = measure(net, dev) if dev else ""
                print(f"step {step}, {time.time() - start:.0f} s, loss {loss.item():.4f} {measured}", flush=True)
    print(f"{step} steps, {time.time() - start:.0f} s: {measure(net, dev) if dev else ''}", flush=True)


def main() -> None:
    arguments = argparse.ArgumentParser()
    for name in ("parses", "silver", "out"):
        arguments.add_argument(name, type=Path)
    arguments.add_argument("--units", default="64,64", help="of the layers, in each direction")
    arguments.add_argument("--without", type=Path)
    arguments.add_argument("--held-out", type=int, default=2000)
    arguments.add_argument("--steps", type=int, default=37_000)
    arguments.add_argument("--seconds", type=float, default=1e9)
    args = arguments.parse_args()
    torch.manual_seed(0)
    without = set(read_text(args.without).split("\n")) if args.without else set()
    sentences = read_parses(args.parses, without)
    gold, held_out = sentences[: len(sentences) - args.held_out], sentences[len(sentences) - args.held_out :]
    captions, silver, names = read_silver(args.silver)
    texts = [[word for word, *_ in sentence] for sentence in [*gold, *held_out]]
    seen = (word for line in [*captions, *texts[: len(gold)]] for word in line)
    vocabulary = Vocabulary(seen, least=3, most=16_000)
    vocabulary.add(word for line in texts[len(gold) :] for word in line)
    lines, known = vocabulary.encode(captions), vocabulary.encode(texts)
    more = as_silver(gold * FOLD, names)
    corpus = Corpus([*lines, *known[: len(gold)] * FOLD], {k: np.concatenate([silver[k], more[k]]) for k in silver})
    dev = Corpus(known[len(gold) :], as_silver(held_out, names)) if held_out else None
    units = tuple(int(u) for u in args.units.split(","))
    net = SmallParser(vocabulary, len(names["tag"]), len(names["relation"]), units).to(DEVICE)
    train(net, corpus, dev, args.steps, args.seconds)
    words = np.array("\n".join(vocabulary.words[2 : vocabulary.known]))
    listed = {f"{kind}_names": np.array(value) for kind, value in names.items()}
    np.savez_compressed(args.out, words=words, units=np.array(units), **listed, **net.arrays())


if __name__ == "__main__":
    main()
