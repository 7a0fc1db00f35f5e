"""Make the sample data of `steelyard demo`: drawn, not measured. Run: python tools/make_samples.py

Model A sees every food but guesses portions; model B is better on heavy items and worse on small ones. Both lean
towards a typical portion, as estimators from images do.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import make_maps_sample
import numpy as np

SAMPLES = Path(__file__).parent.parent / "src" / "steelyard" / "samples"

# name, typical grams, kcal per gram (rounded; for illustration)
FOODS = {
    "rice": (180, 1.3), "pasta": (200, 1.5), "bread": (50, 2.6), "potato": (150, 0.9), "chicken": (130, 1.7),
    "salmon": (120, 2.1), "tofu": (110, 1.2), "egg": (55, 1.5), "lentils": (140, 1.2), "broccoli": (80, 0.3),
    "carrot": (60, 0.4), "tomato": (70, 0.2), "salad": (40, 0.2), "cheese": (30, 3.6), "apple": (120, 0.5),
    "sauce": (25, 0.9),
}  # fmt: skip
CUISINES = ("canteen", "home", "restaurant")


def write(path: Path, header: list[str], rows: list[list[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def predict(rng: np.random.Generator, true: float, typical: float, pull: float, noise: float, floor: float) -> float:
    """A guess between the truth and a typical portion, off by a share and by a few grams."""
    seen = (1 - pull) * true + pull * typical
    return max(0.0, round(seen * float(np.exp(rng.normal(0, noise))) + float(rng.normal(0, floor)), 1))


def weights(rng: np.random.Generator) -> None:
    truth, a, b = [], [], []
    names = list(FOODS)
    for dish in range(1, 61):
        cuisine = CUISINES[dish % 3]
        scale = {"canteen": 1.15, "home": 1.0, "restaurant": 0.85}[cuisine]
        chosen = rng.choice(len(names), size=int(rng.integers(2, 6)), replace=False)
        skill = float(np.exp(rng.normal(0, 0.12)))  # a dish is misjudged as a whole
        for index in sorted(chosen):
            food = names[index]
            typical = FOODS[food][0]
            grams = round(typical * scale * float(np.exp(rng.normal(0, 0.35))), 1)
            key = [f"dish{dish:03d}", food]
            truth.append([*key, grams, cuisine])
            a.append([*key, round(predict(rng, grams, typical, 0.35, 0.20, 3) * skill, 1)])
            b.append([*key, round(predict(rng, grams, typical, 0.15, 0.12, 6) * skill, 1)])
    folder = SAMPLES / "weights"
    write(folder / "truth.csv", ["dish", "item", "weight", "cuisine"], truth)
    write(folder / "model_a.csv", ["dish", "item", "weight"], a)
    write(folder / "model_b.csv", ["dish", "item", "weight"], b)


def sequences(rng: np.random.Generator) -> None:
    truth, a, b = [], [], []
    names = ["rice", "pasta", "salmon", "lentils", "salad"]
    for number in range(1, 46):
        food = names[number % len(names)]
        typical, density = FOODS[food]
        left = typical * float(np.exp(rng.normal(0.1, 0.3)))
        skill_a, skill_b = np.exp(rng.normal(0.05, 0.18, size=2))
        seconds = 60 + 5 * (number % 7)  # between two frames
        for t in range(int(rng.integers(4, 13))):
            grams = round(left, 1)
            key = [f"meal{number:02d}", t]
            truth.append([*key, grams, density, t * seconds, food])
            a.append([*key, round(predict(rng, grams, typical, 0.30, 0.08, 4) * skill_a, 1)])
            b.append([*key, round(predict(rng, grams, typical, 0.10, 0.10, 5) * skill_b, 1)])
            left *= float(rng.uniform(0.6, 0.95))
    folder = SAMPLES / "sequences"
    write(folder / "truth.csv", ["sequence", "t", "weight", "kcal_per_g", "time", "food"], truth)
    write(folder / "model_a.csv", ["sequence", "t", "weight"], a)
    write(folder / "model_b.csv", ["sequence", "t", "weight"], b)


def losses(rng: np.random.Generator) -> None:
    """Six anchors an image and two classes; model B is surer of itself and better at boxes, worse in the dark."""
    truth, a, b = [], [], []
    for number in range(1, 31):
        light = ("day", "night")[number % 2]
        image = f"image{number:02d}"
        for anchor in range(1, 7):
            label = int(rng.integers(0, 2)) if rng.random() < 0.3 else None
            hard = float(rng.normal(0, 1))
            for index, name in enumerate(("cup", "plate")):
                target = int(label == index)
                side = 1 if target else -1
                key = [image, f"anchor{anchor} {name}"]
                truth.append([*key, target, "", light])
                a.append([*key, round(side * 1.8 + hard + float(rng.normal(0, 0.8)), 3), ""])
                gain = 3.2 if light == "day" else 1.6
                b.append([*key, round(side * gain + hard + float(rng.normal(0, 0.8)), 3), ""])
            for name in ("ty", "tx", "th", "tw") if label is not None else ():
                value = round(float(rng.normal(0, 0.3)), 3)
                key = [image, f"anchor{anchor} {name}"]
                truth.append([*key, "", value, light])
                a.append([*key, "", round(value + float(rng.normal(0, 0.15)), 3)])
                b.append([*key, "", round(value + float(rng.normal(0, 0.08)), 3)])
    folder = SAMPLES / "losses"
    write(folder / "truth.csv", ["image", "item", "target", "value", "light"], truth)
    write(folder / "model_a.csv", ["image", "item", "logit", "value"], a)
    write(folder / "model_b.csv", ["image", "item", "logit", "value"], b)


LOOKALIKES = ("bread", "pasta", "rice", "salad", "soup")
SIMILARITY = np.array(
    [
        [3.0, 0.8, 0.3, 0.1, 0.0],
        [0.8, 3.0, 1.4, 0.1, 0.3],
        [0.3, 1.4, 3.0, 0.3, 0.4],
        [0.1, 0.1, 0.3, 3.0, 0.5],
        [0.0, 0.3, 0.4, 0.5, 3.0],
    ]
)


def probabilities(rng: np.random.Generator, food: int, meal: np.ndarray, skill: float, heat: float) -> list[str]:
    """Softmax of how alike the foods look in this photograph, rounded so that they add up to 1."""
    seen = skill * SIMILARITY[food] + meal + rng.normal(0, 1.0, len(LOOKALIKES))
    p = np.exp(heat * (seen - seen.max()))
    thousandths = np.floor(1000 * p / p.sum()).astype(int)
    thousandths[np.argmax(p)] += 1000 - thousandths.sum()
    return [f"{n / 1000:.3f}" for n in thousandths]


def labels(rng: np.random.Generator) -> None:
    """Photographs of single foods, several of one meal; the meal is the unit.

    Model A is sure of itself and mixes up what looks alike; model B is right more often and says how sure it is.
    """
    truth: list[list[object]] = []
    a: list[list[object]] = []
    b: list[list[object]] = []
    for meal in range(70):
        light = ("day", "lamp")[int(rng.random() < 0.4)]
        hard_a, hard_b = rng.normal(0, 0.7, len(LOOKALIKES)), rng.normal(0, 0.5, len(LOOKALIKES))
        for _ in range(int(rng.integers(2, 6))):
            food = int(rng.choice(5, p=[0.30, 0.25, 0.20, 0.15, 0.10]))
            name = f"photo{len(truth):03d}"
            truth.append([name, LOOKALIKES[food], f"meal{meal:02d}", light])
            dim = 0.75 if light == "lamp" else 1.0
            a.append([name, *probabilities(rng, food, hard_a, 0.75 * dim, 2.0)])
            b.append([name, *probabilities(rng, food, hard_b, 0.95 * dim, 1.0)])
    folder = SAMPLES / "labels"
    write(folder / "truth.csv", ["id", "label", "group", "light"], truth)
    header = ["id", *(f"probability:{food}" for food in LOOKALIKES)]
    write(folder / "model_a.csv", header, a)
    write(folder / "model_b.csv", header, b)


def rankings(rng: np.random.Generator) -> None:
    """A search for photographs of food: judgements as CSV, two runs as TREC files. Model B knows photographs better."""
    truth, runs = [], {"a": [], "b": []}
    for number in range(1, 51):
        query, kind = f"query{number:02d}", ("dish", "ingredient", "scene")[number % 3]
        photos = [f"photo{i:04d}" for i in rng.choice(3000, size=36, replace=False)]
        quality = np.where(np.arange(36) < rng.integers(3, 9), rng.integers(1, 4, 36), 0)  # the first few are relevant
        for place, photo in enumerate(photos[:14]):
            truth.append([query, photo, int(quality[place]), kind])
        for model, skill in (("a", 0.45), ("b", 0.95 if kind != "scene" else 0.5)):
            scores = np.round(skill * quality + rng.normal(0, 0.8, 36), 2)
            order = sorted(range(36), key=lambda i: -scores[i])[:20]
            lines = [f"{query} Q0 {photos[i]} {rank} {scores[i]} model_{model}" for rank, i in enumerate(order, 1)]
            runs[model] += lines
    folder = SAMPLES / "rankings"
    write(folder / "truth.csv", ["query", "doc", "relevance", "kind"], truth)
    for model, lines in runs.items():
        (folder / f"model_{model}.run").write_text("\n".join(lines) + "\n", encoding="utf-8")


def boxes(rng: np.random.Generator) -> None:
    """Dishes on a table as COCO JSON; model B finds more, and its boxes fit less well."""
    names = ("bowl", "cup", "fork", "plate")
    images = [{"id": i, "file_name": f"table{i:03d}.png", "width": 640, "height": 480} for i in range(1, 81)]
    annotations: list[dict[str, object]] = []
    a, b = [], []

    def result(image: int, label: int, box: list[float], score: float) -> dict[str, object]:
        rounded = [round(float(v), 1) for v in box]
        return {"image_id": image, "category_id": label, "bbox": rounded, "score": round(float(score), 3)}

    for image in images:
        number = int(str(image["id"]))
        for _ in range(int(rng.integers(0, 7))):
            label = int(rng.integers(1, 5))
            w, h = (float(v) for v in np.exp(rng.normal((3.2, 3.9, 3.6, 4.9)[label - 1], 0.45, 2)).clip(6, 300))
            x, y = float(rng.uniform(0, 640 - w)), float(rng.uniform(0, 480 - h))
            box = [round(v, 1) for v in (x, y, w, h)]
            annotations.append({
                "id": len(annotations) + 1, "image_id": number, "category_id": label, "bbox": box,
                "area": round(box[2] * box[3], 2), "iscrowd": int(rng.random() < 0.02),
            })  # fmt: skip
            hard = float(rng.normal(0, 0.12))
            for results, hit_rate, loose in ((a, 0.80, 0.05), (b, 0.92, 0.09)):
                if rng.random() < hit_rate:
                    moved = np.array(box) + rng.normal(0, loose, 4) * [w, h, w, h]
                    named = label if rng.random() < 0.95 else int(rng.integers(1, 5))
                    score = np.clip(0.72 - hard + rng.normal(0, 0.12), 0.05, 0.99)
                    results.append(result(number, named, [*moved[:2], *np.abs(moved[2:])], score))
        for results, rate in ((a, 0.9), (b, 1.2)):
            for _ in range(int(rng.poisson(rate))):
                box = [*rng.uniform(0, 400, 2), *rng.uniform(10, 120, 2)]
                results.append(result(number, int(rng.integers(1, 5)), box, rng.beta(2, 4)))
    folder = SAMPLES / "boxes"
    categories = [{"id": i, "name": name} for i, name in enumerate(names, 1)]
    truth = {"images": images, "annotations": annotations, "categories": categories}
    write_json(folder / "truth.json", truth)
    write_json(folder / "model_a.json", a)
    write_json(folder / "model_b.json", b)


def write_json(path: Path, data: object) -> None:
    """One record a line, so that a change can be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data).replace("}, {", "},\n{")
    path.write_text(text + "\n", encoding="utf-8", newline="\n")


def outline(rng: np.random.Generator, box: list[float], wobble: float) -> list[float]:
    """A dish seen from above: an ellipse in its box, drawn by hand."""
    x, y, w, h = box
    angle = np.linspace(0, 2 * np.pi, 14, endpoint=False)
    reach = 1 + rng.normal(0, wobble, 14)
    ring = np.stack([x + w / 2 * (1 + reach * np.cos(angle)), y + h / 2 * (1 + reach * np.sin(angle))], axis=1)
    return [round(float(v), 1) for v in ring.ravel()]


def filled(ring: list[float], height: int, width: int) -> np.ndarray:
    """The pixels whose middle lies in a polygon: plain arithmetic, the same on every machine."""
    y, x = np.mgrid[0:height, 0:width] + 0.5
    inside = np.zeros((height, width), dtype=bool)
    points = np.array(ring).reshape(-1, 2)
    for (ax, ay), (bx, by) in zip(points, np.roll(points, -1, axis=0), strict=True):
        if ay != by:
            inside ^= ((ay > y) != (by > y)) & (x < (bx - ax) * (y - ay) / (by - ay) + ax)
    return inside


def masks(rng: np.random.Generator) -> None:
    """Dishes on a table as polygons; the models answer with COCO's compressed masks. Model B draws more carefully."""
    from steelyard import _native

    names, height, width = ("bowl", "cup", "plate"), 240, 320
    images = [{"id": i, "file_name": f"table{i:03d}.jpg", "height": height, "width": width} for i in range(1, 51)]
    annotations: list[dict[str, object]] = []
    results: tuple[list[dict[str, object]], list[dict[str, object]]] = ([], [])

    def result(image: int, label: int, ring: list[float], score: float) -> dict[str, object]:
        pixels = np.asfortranarray(filled(ring, height, width)[:, :, None]).view(np.uint8)
        mask = _native.mask_encode(pixels)[0]
        counts = {"size": mask["size"], "counts": mask["counts"].decode()}
        return {"image_id": image, "category_id": label, "segmentation": counts, "score": round(float(score), 3)}

    for image in images:
        number = int(str(image["id"]))
        for _ in range(int(rng.integers(0, 5))):
            label = int(rng.integers(1, 4))
            side = (55.0, 32.0, 90.0)[label - 1]
            w, h = (float(v) for v in side * np.exp(rng.normal(0, 0.2, 2)))
            box = [float(rng.uniform(0, width - w)), float(rng.uniform(0, max(1, height - h))), w, h]
            ring = outline(rng, box, 0.03)
            area = int(filled(ring, height, width).sum())
            annotations.append({
                "id": len(annotations) + 1, "image_id": number, "category_id": label, "segmentation": [ring],
                "area": area, "bbox": [round(v, 1) for v in box], "iscrowd": 0,
            })  # fmt: skip
            for listed, seen, loose, wobble in ((results[0], 0.85, 0.06, 0.10), (results[1], 0.85, 0.03, 0.05)):
                if rng.random() < seen:
                    moved = np.array(box) + rng.normal(0, loose, 4) * [w, h, w, h]
                    named = label if rng.random() < 0.94 else int(rng.integers(1, 4))
                    score = np.clip(0.7 + rng.normal(0, 0.15), 0.05, 0.99)
                    listed.append(result(number, named, outline(rng, [*moved[:2], *np.abs(moved[2:])], wobble), score))
        for listed in results:
            for _ in range(int(rng.poisson(0.5))):
                box = [*rng.uniform(0, 200, 2), *rng.uniform(20, 90, 2)]
                listed.append(result(number, int(rng.integers(1, 4)), outline(rng, box, 0.1), rng.beta(2, 4)))
    categories = [{"id": i, "name": name} for i, name in enumerate(names, 1)]
    truth = {"images": images, "annotations": annotations, "categories": categories}
    for name, data in (("truth", truth), ("model_a", results[0]), ("model_b", results[1])):
        write_json(SAMPLES / "masks" / f"{name}.json", data)


# A body in its box, from nose to ankles: x and y as shares.
BODY = (
    (0.50, 0.06), (0.53, 0.04), (0.47, 0.04), (0.57, 0.06), (0.43, 0.06), (0.66, 0.22), (0.34, 0.22), (0.75, 0.38),
    (0.25, 0.38), (0.80, 0.52), (0.20, 0.52), (0.60, 0.53), (0.40, 0.53), (0.61, 0.75), (0.39, 0.75), (0.62, 0.96),
    (0.38, 0.96),
)  # fmt: skip


def keypoints(rng: np.random.Generator) -> None:
    """People at a table, 17 points each; model B places points better, and finds fewer."""
    images = [{"id": i, "file_name": f"room{i:03d}.jpg", "height": 480, "width": 640} for i in range(1, 51)]
    annotations: list[dict[str, object]] = []
    results: tuple[list[dict[str, object]], list[dict[str, object]]] = ([], [])
    names = ("guest", "waiter")

    def flat(points: object, seen: object) -> list[float]:
        table = np.column_stack([np.round(points, 1), seen])  # type: ignore[call-overload]
        return [int(v) if float(v).is_integer() else float(v) for v in table.ravel()]

    for image in images:
        number = int(str(image["id"]))
        for _ in range(int(rng.integers(0, 4))):
            label = 1 if rng.random() < 0.75 else 2
            h = float(np.exp(rng.normal(4.9, 0.35)))
            w = h * float(rng.uniform(0.35, 0.5))
            x, y = float(rng.uniform(0, 640 - w)), float(rng.uniform(0, max(1, 480 - h)))
            points = np.array(BODY) * [w, h] + [x, y] + rng.normal(0, 0.02, (17, 2)) * [w, h]
            seen = rng.choice([0, 1, 2], 17, p=[0.15, 0.15, 0.7])
            annotations.append({
                "id": len(annotations) + 1, "image_id": number, "category_id": label,
                "keypoints": flat(points * (seen > 0)[:, None], seen), "num_keypoints": int((seen > 0).sum()),
                "bbox": [round(v, 1) for v in (x, y, w, h)], "area": round(0.5 * w * h, 1), "iscrowd": 0,
            })  # fmt: skip
            for listed, hit_rate, off in ((results[0], 0.92, 0.035), (results[1], 0.82, 0.018)):
                if rng.random() < hit_rate:
                    placed = points + rng.normal(0, off, (17, 2)) * [w, h]
                    score = round(float(np.clip(0.75 + rng.normal(0, 0.13), 0.05, 0.99)), 3)
                    listed.append({"image_id": number, "category_id": label, "keypoints": flat(placed, np.ones(17)),
                                   "score": score})  # fmt: skip
        for listed in results:
            for _ in range(int(rng.poisson(0.4))):
                placed = np.array(BODY) * rng.uniform(40, 150, 2) + rng.uniform(0, 300, 2)
                named, score = int(rng.integers(1, 3)), round(float(rng.beta(2, 4)), 3)
                points = flat(placed, np.ones(17))
                listed.append({"image_id": number, "category_id": named, "keypoints": points, "score": score})
    categories = [{"id": i, "name": name} for i, name in enumerate(names, 1)]
    truth = {"images": images, "annotations": annotations, "categories": categories}
    for name, data in (("truth", truth), ("model_a", results[0]), ("model_b", results[1])):
        write_json(SAMPLES / "keypoints" / f"{name}.json", data)


# scene: (things, places) of made-up captions
SCENES = {
    "street": (
        ("car", "bus", "bicycle", "man", "woman", "dog"),
        ("next to a tree", "on a busy road", "in front of a store"),
    ),
    "kitchen": (
        ("bowl", "cup", "cat", "knife", "pizza", "bottle"),
        ("on a wooden table", "near the sink", "next to a stove"),
    ),
    "park": (
        ("child", "dog", "kite", "bench", "bird", "horse"),
        ("on the green grass", "near a lake", "under a large tree"),
    ),
}
COLORS, SIZES, DOING = (
    ("red", "white", "black", "brown", "blue"),
    ("small", "large", "big"),
    ("sitting", "standing", "lying"),
)


def captions(rng: np.random.Generator) -> None:
    """Each image shows a thing or two; people name them with and without detail, models with more or fewer mistakes."""
    truth, a, b = [], [], []

    def one(words: tuple[str, ...]) -> str:
        return words[int(rng.integers(len(words)))]

    for number in range(1, 61):
        scene = list(SCENES)[number % 3]
        things, places = SCENES[scene]
        thing, other = (things[i] for i in rng.choice(len(things), 2, replace=False))
        color, size, doing, place = one(COLORS), one(SIZES), one(DOING), one(places)
        image = f"image{number:03d}"
        for text in (
            f"A {color} {thing} {doing} {place}.",
            f"A {size} {color} {thing} {place} with a {other}.",
            f"There is a {thing} {doing} {place} and two {other}s.",
        ):
            truth.append([image, text, scene])

        def guess(skill: float, right: str, words: tuple[str, ...]) -> str:
            return right if rng.random() < skill else one(words)

        for rows, skill in ((a, 0.55), (b, 0.75)):
            rows.append([
                image,
                f"a {guess(skill, color, COLORS)} {guess(skill + 0.1, thing, things)} {guess(skill, doing, DOING)} "
                + guess(skill, place, places)
                + (f" and two {guess(skill, other, things)}s" if rng.random() < 0.4 else ""),
            ])  # fmt: skip
    folder = SAMPLES / "captions"
    write(folder / "truth.csv", ["image", "caption", "scene"], truth)
    write(folder / "model_a.csv", ["image", "caption"], a)
    write(folder / "model_b.csv", ["image", "caption"], b)


def main() -> None:
    weights(np.random.default_rng(20260701))
    sequences(np.random.default_rng(20260702))
    losses(np.random.default_rng(20260706))
    labels(np.random.default_rng(20260703))
    rankings(np.random.default_rng(20260703))
    boxes(np.random.default_rng(20260705))
    masks(np.random.default_rng(20260707))
    keypoints(np.random.default_rng(20260708))
    captions(np.random.default_rng(20260703))
    make_maps_sample.main(SAMPLES / "segmentation")
    make_maps_sample.panoptic(SAMPLES / "panoptic")
    make_maps_sample.volumes(SAMPLES / "volumes")


if __name__ == "__main__":
    main()
