"""Two processes over gloo: what they gather together is what one process would have gathered."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from support.drawn import DRAW
from support.forked import started
from support.lazy import lazy
from support.paths import ROOT, TESTS

import steelyard as sy

torch = lazy("torch")

# 101 items on two ranks: torch's own sampler repeats item 0 to have batches of one length. 38 items are right, item 0
# among them, so who counts the repeated one has 39/102 = 0.3824, and who does not 38/101 = 0.3762.
RANK = """
import json, sys, warnings
warnings.simplefilter("ignore")
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
import numpy as np
import steelyard as sy
from steelyard.torch import sync
sys.path.insert(0, sys.argv[4])

rank, store, case = int(sys.argv[1]), sys.argv[2], sys.argv[3]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
out = {}
if case == "padded":
    sampler = DistributedSampler(range(101), num_replicas=2, rank=rank, shuffle=False)
    state, right, seen = sy.Accumulator("labels"), 0, 0
    for ids in DataLoader(range(101), batch_size=8, sampler=sampler):
        truth = (ids != 100).to(torch.int64)
        predicted = ((ids < 38) | (ids == 100)).to(torch.int64)
        right, seen = right + int((truth == predicted).sum()), seen + len(ids)
        state.update({"id": ids.numpy(), "label": truth.numpy()}, {"id": ids.numpy(), "label": predicted.numpy()})
    counts = torch.tensor([right, seen]); dist.all_reduce(counts)
    report = sync(state).report("accuracy", draws=100)
    out = {"naive": counts.tolist(), "value": report["accuracy"].value, "interval": report["accuracy"].interval,
           "notes": report.notes, "units": report["accuracy"].units}
elif case == "uneven":
    from support.drawn import DRAW
    truth, predictions = DRAW["boxes"](np.random.default_rng(1), 12)
    images = sorted(set(truth["image"]))
    mine = {0: images[:5], 1: images[3:]}[rank]
    state = sy.Accumulator("boxes")
    for image in mine:
        pick = lambda side: {k: [v for v, i in zip(c, side["image"]) if i == image] for k, c in side.items()}
        state.update(pick(truth), pick(predictions))
    out = {"report": repr(sync(state).report(draws=100).scores), "left": len(sync(state, to=1))}
elif case == "nothing":
    state = sy.Accumulator("weights")
    if rank == 0:
        state.update({"dish": ["a"], "item": [0], "weight": [10]}, {"dish": ["a"], "item": [0], "weight": [12]})
    out = {"value": sync(state).report("mae", confidence=None)["mae"].value}
elif case == "broken":
    state = sy.Accumulator("weights")
    weight = 10 if rank == 0 else 11
    for w in ([10, 11] if rank == 1 else [10]):
        state.update({"dish": ["a"], "item": [0], "weight": [w]}, {"dish": ["a"], "item": [0], "weight": [12]})
    try:
        sync(state)
    except sy.InputError as error:
        out = {"error": str(error)}
elif case == "compacted":
    state = sy.Accumulator("weights")
    for i in range(4):
        unit = f"{rank}{i}" if i else "both"
        state.update({"dish": [unit], "item": [0], "weight": [10 + i]}, {"dish": [unit], "item": [0], "weight": [12]})
    state.compact("mae")
    report = sync(state).report(confidence=None)
    out = {"value": report["mae"].value, "units": report["mae"].units}
dist.destroy_process_group()
print(json.dumps(out))
"""


def ranks(case: str, folder: Path) -> list[dict[str, object]]:
    """Run both ranks; each must end by itself."""
    env = {**os.environ, "MASTER_ADDR": "127.0.0.1", "GLOO_SOCKET_IFNAME": "lo", "OMP_NUM_THREADS": "1"}
    outputs = []
    with ExitStack() as stack:
        running = [
            stack.enter_context(started(
                [sys.executable, "-c", RANK, str(rank), str(folder / case), case, str(TESTS)],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
            ))
            for rank in (0, 1)
        ]  # fmt: skip
        for process in running:
            out, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
            outputs.append(json.loads(out.splitlines()[-1]))
    return outputs


def test_a_padded_sampler_counts_once(tmp_path: Path) -> None:
    outputs = ranks("padded", tmp_path)
    assert outputs[0] == outputs[1]
    assert outputs[0]["naive"] == [39, 102]
    assert outputs[0]["value"] == 38 / 101
    assert outputs[0]["units"] == 101
    assert outputs[0]["notes"] == ["1 unit came more than once and counts once."]


@pytest.mark.slow
def test_uneven_ranks_with_an_overlap(tmp_path: Path) -> None:
    truth, predictions = DRAW["boxes"](np.random.default_rng(1), 12)
    whole = sy.Accumulator("boxes")
    whole.update(truth, predictions)
    outputs = ranks("uneven", tmp_path)
    assert outputs[0]["report"] == outputs[1]["report"] == repr(whole.report(draws=100).scores)
    assert [one["left"] for one in outputs] == [0, 2]


@pytest.mark.slow
def test_a_rank_that_saw_nothing(tmp_path: Path) -> None:
    assert ranks("nothing", tmp_path) == [{"value": 2.0}] * 2


@pytest.mark.slow
def test_a_problem_of_one_rank_reaches_all(tmp_path: Path) -> None:
    outputs = ranks("broken", tmp_path)
    assert "the accumulator of rank 1 cannot be gathered" in str(outputs[0]["error"])
    assert "dish 'a' came twice with different truth" in str(outputs[1]["error"])


@pytest.mark.slow
def test_compacted_accumulators(tmp_path: Path) -> None:
    assert ranks("compacted", tmp_path) == [{"value": 1.0 * (2 + 2 * (1 + 0 + 1)) / 7, "units": 7}] * 2


def test_without_a_process_group_it_is_this_process() -> None:
    from steelyard.torch import sync

    state = sy.Accumulator("weights")
    state.update({"dish": ["a"], "item": [0], "weight": [10]}, {"dish": ["a"], "item": [0], "weight": [12]})
    assert sync(state).report("mae", confidence=None)["mae"].value == 2.0


@pytest.mark.parametrize(("backend", "device"), [("nccl", "cuda:3"), ("gloo", "cpu"), ("cpu:gloo,cuda:nccl", "cpu")])
def test_tensors_go_where_the_backend_wants_them(backend: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no GPU here: what is tested of nccl is the choice of the device, not the sending."""
    from steelyard import torch as ours

    monkeypatch.setattr(torch.distributed, "get_backend", lambda group: backend)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    assert ours._device(None) == torch.device(device)


@pytest.mark.slow
def test_the_lightning_example_on_two_ranks(tmp_path: Path) -> None:
    """The module of the docs, with the ranks that Lightning starts: its sampler repeats one of 11 images, and 11 count."""
    pytest.importorskip("lightning")  # installed by requirements/test.txt
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(import lightning\n.*?)```", page, re.S)
    ranks = example.replace("devices=1", 'devices=2, strategy="ddp"')
    assert ranks != example
    head = "import torch\nimport steelyard as sy\nfrom steelyard.torch import sync\n"
    (tmp_path / "example.py").write_text(head + ranks, encoding="utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    env = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "GLOO_SOCKET_IFNAME": "lo"}
    env |= {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, "example.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=env, timeout=180)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "distributed_backend=gloo" in done.stderr
    said = done.stdout.split()  # lines of two processes may come one inside the other
    assert sorted("".join(said).replace("0.7932", "a").replace("11.0", "b")) == ["a", "a", "b", "b"], done.stdout
