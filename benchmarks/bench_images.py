"""Images against a reference, beside scikit-image, pytorch-msssim and torchmetrics, each on one thread.

Pairs of 1024 x 1024 RGB are drawn: squares of colour with noise on them. Arrays in memory go through `evaluate` whole,
with its checks; the peers get the tensors or arrays that they take, made before the clock starts. A peer that is not
installed is named as such.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from measure import measure, sized, table

PAIRS = sized(4, 1)
FILES = sized(10, 2)
SIDE = sized(1024, 192)
DRAWN = f"""
import numpy as np
def drawn(seed):
    rng = np.random.default_rng(seed)
    coarse = rng.uniform(20, 235, ({SIDE} // 32, {SIDE} // 32, 3))
    truth = np.kron(coarse, np.ones((32, 32, 1))) + rng.normal(0, 6, ({SIDE}, {SIDE}, 3))
    noisy = truth + rng.normal(0, 8, truth.shape)
    return [np.clip(np.rint(side), 0, 255).astype(np.uint8) for side in (truth, noisy)]
"""
ARRAYS = DRAWN + "pairs = [drawn(seed) for seed in range({pairs})]\n"
OURS = """
import steelyard as sy
sy.use_threads(1)
few = {"image": ["a"], "pixels": [np.zeros((192, 192, 3), np.uint8)]}
sy.evaluate("images", few, few, ["psnr", "ssim", "ms_ssim", "vif"], confidence=None)  # what is imported late
"""
SIDES = """
sides = [{"image": list(range(len(pairs))), "pixels": [pair[i] for pair in pairs]} for i in (0, 1)]
"""
SCORE = "sy.evaluate('images', *sides, ['{metric}'], confidence=None)"
SKIMAGE = "from skimage.metrics import peak_signal_noise_ratio, structural_similarity\n"
WANG = "gaussian_weights=True, sigma=1.5, use_sample_covariance=False, "
SSIM = "[structural_similarity(x, y, {wang}data_range=255, channel_axis=2) for x, y in pairs]"
PSNR = "[peak_signal_noise_ratio(x, y, data_range=255) for x, y in pairs]"
THREAD = 'import os\nos.environ["OMP_NUM_THREADS"] = "1"\n'  # some kernels do not ask torch.set_num_threads
TORCH = """
import torch
torch.set_num_threads(1)
tensors = [[torch.from_numpy(side).permute(2, 0, 1)[None].float() for side in pair] for pair in pairs]
"""
MSSSIM = THREAD + "import pytorch_msssim\n" + TORCH
METRICS = THREAD + "from torchmetrics.functional import image\n" + TORCH
BOTH = "sy.evaluate('images', folder + '/truth', folder + '/noisy', ['psnr', 'ssim'], confidence={confidence})"
PILLOW = """
import os
from PIL import Image
import numpy as np
"""
READ = f"""
for name in sorted(os.listdir(folder + "/truth")):
    x, y = (np.asarray(Image.open(f"{{folder}}/{{side}}/{{name}}")) for side in ("truth", "noisy"))
    peak_signal_noise_ratio(x, y, data_range=255)
    structural_similarity(x, y, {WANG}data_range=255, channel_axis=2)
"""


def write_files(folder: Path) -> None:
    """Pairs as PNG files."""
    from PIL import Image

    space: dict[str, object] = {}
    exec(DRAWN, space)
    for name in ("truth", "noisy"):
        (folder / name).mkdir()
    for seed in range(FILES):
        truth, noisy = space["drawn"](seed)  # type: ignore[operator]
        for name, pixels in (("truth", truth), ("noisy", noisy)):
            Image.fromarray(np.asarray(pixels)).save(folder / name / f"{seed:03d}.png")


def in_memory(metric: str, title: str, peers: dict[str, tuple[str, str]], pairs: int = PAIRS) -> None:
    """One table: ours beside the peers, each with its work and its set-up."""
    arrays = ARRAYS.format(pairs=pairs)
    runs = {"steelyard": measure(SCORE.format(metric=metric), arrays + OURS + SIDES)}
    runs |= {name: measure(work, arrays + setup) for name, (work, setup) in peers.items()}
    table(f"{title}, {pairs} {'pair' if pairs == 1 else 'pairs'} of {SIDE} x {SIDE} RGB in memory", "steelyard", runs)


def main() -> None:
    """Print the tables."""
    in_memory("psnr", "PSNR", {"scikit-image": (PSNR, SKIMAGE)})
    in_memory(
        "ssim",
        "SSIM, 11 x 11 Gaussian windows",
        {
            "scikit-image": (SSIM.format(wang=WANG), SKIMAGE),
            "pytorch-msssim": ("[pytorch_msssim.ssim(x, y) for x, y in tensors]", MSSSIM),
            "torchmetrics": (
                "[image.structural_similarity_index_measure(x, y, data_range=255.0) for x, y in tensors]",
                METRICS,
            ),
        },
    )
    in_memory(
        "ssim(preset=skimage)",
        "SSIM, 7 x 7 uniform windows",
        {"scikit-image, its defaults": (SSIM.format(wang=""), SKIMAGE)},
    )
    in_memory(
        "ms_ssim",
        "MS-SSIM",
        {
            "pytorch-msssim": ("[pytorch_msssim.ms_ssim(x, y) for x, y in tensors]", MSSSIM),
            "torchmetrics": (
                "[image.multiscale_structural_similarity_index_measure(x, y, data_range=255.0) for x, y in tensors]",
                METRICS,
            ),
        },
    )
    in_memory(
        "vif(preset=torchmetrics)",
        "VIF",
        {"torchmetrics": ("[image.visual_information_fidelity(x, y) for x, y in tensors]", METRICS)},
        pairs=1,
    )
    with tempfile.TemporaryDirectory() as name:
        folder = f"folder = {name!r}\nimport numpy as np\n"
        write_files(Path(name))
        runs = {
            "steelyard": measure(BOTH.format(confidence=None), folder + OURS),
            "steelyard with intervals": measure(BOTH.format(confidence=0.95), folder + OURS),
            "Pillow, scikit-image": measure(READ, folder + PILLOW + SKIMAGE),
        }
        table(f"PSNR and SSIM from PNG files, {FILES} pairs of {SIDE} x {SIDE} RGB", "steelyard", runs)


if __name__ == "__main__":
    main()
