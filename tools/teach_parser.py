"""Train large parsers on the analysed captions and let them analyse many more, for the small parser to learn from.

    python tools/teach_parser.py PARSES CAPTIONS SILVER [--held-out 2000] [--without TEXTS]

The forms of the files stand in tools/parser_corpus.py. Two Transformers learn to fill gaps in CAPTIONS; three copies
of each then learn tags, heads and relations from PARSES, all but the last --held-out different sentences, on which
they are measured; their chances are averaged. Captions whose text stands in TEXTS, one per line, are left out of all of
it: give it the captions that will be tested with. Needs PyTorch and a GPU (about eight minutes on a large one).
tools/train_parser.py is the next step.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch
from parser_corpus import HEADS, LONGEST, RELATIONS, TAGS, Vocabulary, by_length, read_parses, read_text
from torch import multiprocessing as mp
from torch import nn
from torch.nn import functional

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SHAPES = [(384, 6), (512, 8)]  # width and layers of the two Transformers
COPIES = 3


class Encoder(nn.Module):
    def __init__(self, vocabulary: Vocabulary, width: int, layers: int) -> None:
        super().__init__()
        self.known = vocabulary.known
        self.register_buffer("affixes", torch.from_numpy(vocabulary.affixes))
        self.word = nn.Embedding(self.known + 1, width)
        self.affix = nn.Embedding(int(vocabulary.affixes.max()) + 1, width)
        self.place = nn.Embedding(LONGEST + 1, width)
        for embedding in (self.word, self.affix, self.place):
            nn.init.normal_(embedding.weight, std=0.04)
        layer = nn.TransformerEncoderLayer(
            width, width // 64, 4 * width, 0.12, "gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(width), enable_nested_tensor=False)
        self.drop = nn.Dropout(0.12)

    def forward(self, words: torch.Tensor, forgotten: torch.Tensor | None = None) -> torch.Tensor:
        """Vectors of the root and of every word; where `forgotten`, a word is known by its affixes only."""
        numbers = words.clamp(max=self.known)
        if forgotten is not None:
            numbers = numbers.masked_fill(forgotten, self.known)
        x = self.word(numbers) + self.affix(self.affixes[words]).sum(2).masked_fill((words < 2).unsqueeze(-1), 0) / 3
        return self.layers(self.drop(x + self.place.weight[: words.shape[1]]))


class Parser(nn.Module):
    """Tags, heads and relations of every word at once, by biaffine forms (Dozat and Manning 2017)."""

    def __init__(self, encoder: Encoder, width: int, tags: int, relations: int) -> None:
        super().__init__()
        self.encoder = encoder

        def side(k: int) -> nn.Module:
            return nn.Sequential(nn.Linear(width, k), nn.GELU(), nn.Dropout(0.25))

        self.tag = nn.Sequential(side(256), nn.Linear(256, tags))
        self.head, self.dependent, self.rel_head, self.rel_dependent = side(384), side(384), side(128), side(128)
        self.arc = nn.Parameter(torch.randn(385, 384) * 0.02)
        self.relation = nn.Parameter(torch.randn(relations, 129, 129) * 0.02)

    def forward(self, words: torch.Tensor, forgotten: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
        x = self.encoder(words, forgotten)

        def with_one(y: torch.Tensor) -> torch.Tensor:
            return torch.cat([y, torch.ones_like(y[..., :1])], -1)

        d = with_one(self.dependent(x))
        arcs = torch.einsum("bdi,ij,bhj->bdh", d, self.arc.to(d.dtype), self.head(x)).float()
        arcs = arcs.masked_fill(torch.eye(words.shape[1], device=x.device, dtype=torch.bool), -1e4)
        half = torch.einsum("bdi,rij->bdrj", with_one(self.rel_dependent(x)), self.relation.to(d.dtype))
        relations = torch.einsum("bdrj,bhj->bdhr", half, with_one(self.rel_head(x)))
        return self.tag(x)[:, 1:].float(), arcs[:, 1:], relations[:, 1:].float()


def rooted(rows: list[np.ndarray]) -> torch.Tensor:
    """Sentences of one length as a batch, the root before the words."""
    return torch.from_numpy(np.pad(np.stack(rows), ((0, 0), (1, 0)))).to(DEVICE)


def rate(step: int, steps: int, warm: int) -> float:
    return min(1.0, (step + 1) / warm) * max(0.0, 1 - step / steps)


def optimize(parameters: list, optimizer: torch.optim.Optimizer, loss: torch.Tensor, speed: float) -> None:
    for group in optimizer.param_groups:
        group["lr"] = speed
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()


def pretrain(which: int, vocabulary: Vocabulary, lines: list[np.ndarray], steps: int, folder: Path) -> None:
    torch.manual_seed(which)
    width, layers = SHAPES[which]
    encoder = Encoder(vocabulary, width, layers).to(DEVICE)
    head = nn.Linear(width, encoder.known).to(DEVICE)
    parameters = [*encoder.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, weight_decay=0.01)
    lengths, rng, start, step = np.array([len(x) for x in lines]), np.random.default_rng(which), time.time(), 0
    while step < steps:
        for rows in by_length(lengths, 12_000, rng)[: steps - step]:
            words = rooted([lines[i] for i in rows])
            gaps = (torch.rand(words.shape, device=DEVICE) < 0.2) & (words > 1)
            target = words.masked_fill(words >= encoder.known, 1)  # rare words are not asked for
            gaps &= target > 1
            with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
                x = encoder(words.masked_fill(gaps, 1))
                loss = functional.cross_entropy(head(x[gaps]).float(), target[gaps])
            optimize(parameters, optimizer, loss, 7e-4 * rate(step, steps, 500))
            step += 1
            if step % 1000 == 0:
                print(f"gaps {which}: {time.time() - start:.0f} s, step {step}, loss {loss.item():.3f}", flush=True)
    torch.save(encoder.state_dict(), folder / f"encoder{which}.pt")


def targets(sentences: list, names: dict[str, dict[str, int]]) -> torch.Tensor:
    numbers = [[(names["tag"][t], h, names["relation"][r]) for _, t, h, r in s] for s in sentences]
    return torch.tensor(numbers, device=DEVICE).permute(2, 0, 1)


def chosen(relations: torch.Tensor, heads: torch.Tensor) -> torch.Tensor:
    """Of relations to every head, those to the given ones."""
    return relations.gather(2, heads[..., None, None].expand(-1, -1, 1, relations.shape[-1])).squeeze(2)


def finetune(copy: int, vocabulary: Vocabulary, train: list, dev: list, names: dict, epochs: int, folder: Path) -> None:
    torch.manual_seed(100 + copy)
    rng = np.random.default_rng(100 + copy)
    parser = made(vocabulary, names, copy)
    parser.encoder.load_state_dict(torch.load(folder / f"encoder{copy % len(SHAPES)}.pt"))
    parameters = list(parser.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, weight_decay=0.01)
    lines = vocabulary.encode([word for word, *_ in s] for s in train)
    lengths = np.array([len(s) for s in train])
    plan = [rows for _ in range(epochs) for rows in by_length(lengths, 1000, rng)]
    for step, rows in enumerate(plan):
        words = rooted([lines[i] for i in rows])
        forgotten = (torch.rand(words.shape, device=DEVICE) < 0.06) & (words > 1)
        tag, head, relation = targets([train[i] for i in rows], names)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            t, a, r = parser(words, forgotten)
        pairs = ((t, tag), (a, head), (chosen(r, head), relation))
        loss = sum(functional.cross_entropy(x.flatten(0, 1), y.flatten()) for x, y in pairs)
        optimize(parameters, optimizer, loss, 2.5e-4 * rate(step, len(plan), 200))
    print(f"copy {copy}: {measure([parser], vocabulary, dev, names)}", flush=True)
    torch.save(parser.state_dict(), folder / f"parser{copy}.pt")


def made(vocabulary: Vocabulary, names: dict, copy: int) -> Parser:
    width, layers = SHAPES[copy % len(SHAPES)]
    return Parser(Encoder(vocabulary, width, layers), width, len(names["tag"]), len(names["relation"])).to(DEVICE)


@torch.no_grad()
def vote(parsers: list[Parser], words: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Mean chances of tags, heads, and relations to the likeliest head."""
    tags: list = []
    arcs: list = []
    relations: list = []
    for parser in parsers:
        parser.eval()
        with torch.autocast(DEVICE, torch.bfloat16, enabled=DEVICE == "cuda"):
            t, a, r = parser(words)
        tags.append(t.softmax(-1))
        arcs.append(a.softmax(-1))
        relations.append(r)
    heads = sum(arcs) / len(parsers)
    best = heads.argmax(-1)
    return sum(tags) / len(parsers), heads, sum(chosen(r, best).softmax(-1) for r in relations) / len(parsers)


def measure(parsers: list[Parser], vocabulary: Vocabulary, dev: list, names: dict) -> str:
    lines = vocabulary.encode([word for word, *_ in s] for s in dev)
    right, whole = np.zeros(4), 0
    for rows in by_length(np.array([len(s) for s in dev]), 4000, np.random.default_rng(0)):
        tag, head, relation = targets([dev[i] for i in rows], names)
        t, h, r = (x.argmax(-1) for x in vote(parsers, rooted([lines[i] for i in rows])))
        heads, tags = h == head, t == tag
        labelled = heads & ((r == relation) | (head == 0))
        right += [float(x.sum()) for x in (torch.ones_like(heads), tags, heads, labelled)]
        whole += int((labelled & tags).all(1).sum())
    return (
        "tags {:.4f}, heads {:.4f}, labelled {:.4f}".format(*(right[1:] / right[0])) + f", whole {whole / len(dev):.4f}"
    )


def analyse(parsers: list[Parser], lines: list[np.ndarray]) -> dict[str, np.ndarray]:
    """The likeliest heads, tags and relations of every token, and their chances in 255ths."""
    lengths = np.array([len(x) for x in lines])
    start = np.cumsum(lengths) - lengths
    kept = {"head": HEADS, "tag": TAGS, "relation": RELATIONS}
    out = {k: np.zeros((lengths.sum(), n), np.uint8) for k, n in kept.items()}
    out |= {f"{k}_chance": np.zeros((lengths.sum(), n), np.uint8) for k, n in kept.items()}
    for rows in by_length(lengths, 30_000, np.random.default_rng(0)):
        t, h, r = vote(parsers, rooted([lines[i] for i in rows]))
        where = (start[rows][:, None] + np.arange(lengths[rows[0]])).ravel()
        for kind, x in (("tag", t), ("head", h), ("relation", r)):
            chance, number = x.flatten(0, 1).topk(min(kept[kind], x.shape[-1]), -1)
            out[kind][where, : number.shape[1]] = number.byte().cpu().numpy()
            out[f"{kind}_chance"][where, : number.shape[1]] = (chance * 255).round().byte().cpu().numpy()
    return out


def together(work: object, jobs: list[tuple]) -> None:
    """Runs jobs beside each other, each in a process of its own: one alone does not fill a large GPU."""
    started = [mp.get_context("spawn").Process(target=work, args=job) for job in jobs]
    for process in started:
        process.start()
    for process in started:
        process.join()
        if process.exitcode:
            raise SystemExit(f"a job ended with {process.exitcode}")


def main() -> None:
    arguments = argparse.ArgumentParser()
    for name in ("parses", "captions", "silver"):
        arguments.add_argument(name, type=Path)
    arguments.add_argument("--without", type=Path)
    arguments.add_argument("--held-out", type=int, default=2000)
    arguments.add_argument("--steps", type=int, default=6000, help="of filling gaps")
    arguments.add_argument("--epochs", type=int, default=14, help="over PARSES")
    arguments.add_argument("--part", type=int, default=150_000, help="captions a file")
    args = arguments.parse_args()
    start = time.time()
    args.silver.mkdir(parents=True, exist_ok=True)
    without = set(read_text(args.without).split("\n")) if args.without else set()
    sentences = read_parses(args.parses, without)
    train, dev = sentences[: len(sentences) - args.held_out], sentences[len(sentences) - args.held_out :]
    captions = [text.split() for text in read_text(args.captions).split("\n") if text and text not in without]
    captions = [words for words in captions if len(words) <= LONGEST]
    texts = [[word for word, *_ in s] for s in sentences]
    vocabulary = Vocabulary((word for line in [*captions, *texts] for word in line), least=2, most=100_000)
    names = {
        kind: {name: i for i, name in enumerate(sorted({row[k] for s in sentences for row in s}))}
        for kind, k in (("tag", 1), ("relation", 3))
    }
    lines = vocabulary.encode(captions)
    print(f"{len(train)} analysed, {len(dev)} held out, {len(lines)} captions, {vocabulary.known} words", flush=True)
    together(pretrain, [(k, vocabulary, lines, args.steps, args.silver) for k in range(len(SHAPES))])
    print(f"{time.time() - start:.0f} s", flush=True)
    copies = range(len(SHAPES) * COPIES)
    together(finetune, [(k, vocabulary, train, dev, names, args.epochs, args.silver) for k in copies])
    parsers = [made(vocabulary, names, k) for k in copies]
    for k, parser in enumerate(parsers):
        parser.load_state_dict(torch.load(args.silver / f"parser{k}.pt"))
        (args.silver / f"parser{k}.pt").unlink()
    for k in range(len(SHAPES)):
        (args.silver / f"encoder{k}.pt").unlink()
    listed = {k: np.array(list(v)) for k, v in names.items()}
    print(f"{time.time() - start:.0f} s; all together: {measure(parsers, vocabulary, dev, names)}", flush=True)
    held_out = analyse(parsers, vocabulary.encode([word for word, *_ in s] for s in dev)) if dev else {}
    np.savez_compressed(args.silver / "held_out.npz", **{f"{k}_names": v for k, v in listed.items()}, **held_out)
    for part, s in enumerate(range(0, len(lines), args.part)):
        silver = analyse(parsers, lines[s : s + args.part])
        text = np.frombuffer("\n".join(map(" ".join, captions[s : s + args.part])).encode(), np.uint8)
        np.savez_compressed(args.silver / f"silver{part}.npz", text=text, **silver)
        print(f"silver{part}.npz: {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
