"""Make the sample data of `steelyard demo answers`: drawn, not measured. Run: python tools/make_answers_sample.py

Photographs of receipts, signs and shelves with two to four questions each; the image is the unit. Model A reads well
and counts badly; model B misreads a letter now and then, and sometimes says nothing.
"""

from __future__ import annotations

import make_samples
import numpy as np

NAMES = ("Oak Street", "North Gate", "Lime Café", "Harbour 7", "Blue Door", "Station Road", "Old Mill", "River Café")
COLOURS = ("red", "blue", "green", "white", "dark brown")
LOOKS_LIKE = {
    "0": "O",
    "O": "0",
    "1": "l",
    "l": "1",
    "5": "S",
    "S": "5",
    "e": "c",
    "a": "o",
    "é": "e",
    ".": ",",
    "B": "8",
}


def misread(rng: np.random.Generator, text: str, share: float) -> str:
    """The same with letters that look alike, or are lost."""
    made = ""
    for letter in text:
        if rng.random() < share:
            letter = LOOKS_LIKE.get(letter, "" if rng.random() < 0.4 else letter)
        made += letter
    return made


def asked(rng: np.random.Generator, kind: str) -> tuple[str, list[str]]:
    """What is asked, and the answers that are accepted."""
    if kind == "receipt":
        total = f"{rng.integers(3, 90)}.{rng.integers(0, 100):02d}"
        return (
            ("total", [total, f"{total} EUR"])
            if rng.random() < 0.6
            else ("date", [f"{rng.integers(1, 29):02d}/0{rng.integers(1, 9)}/2025"])
        )
    if kind == "sign":
        return ("text", [str(rng.choice(NAMES))]) if rng.random() < 0.7 else ("colour", [str(rng.choice(COLOURS))])
    return "count", [str(rng.integers(1, 15))]


def main() -> None:
    rng = np.random.default_rng(20261105)
    truth: list[list[object]] = []
    a: list[list[object]] = []
    b: list[list[object]] = []
    for image in range(60):
        kind = ("receipt", "sign", "shelf")[image % 3]
        for place in range(int(rng.integers(2, 5))):
            about, answers = asked(rng, kind)
            question = f"{image:02d}-{place}"
            truth += [[question, f"img{image:02d}", kind, about, answer] for answer in answers]
            replies = [misread(rng, answers[0], 0.02), misread(rng, answers[0], 0.08)]
            if about == "count":
                replies = [
                    str(max(0, int(answers[0]) + int(rng.integers(-3, 4)))),
                    str(max(0, int(answers[0]) + int(rng.integers(-1, 2)))),
                ]
            if rng.random() < 0.06:
                replies[1] = ""
            a.append([question, replies[0]])
            b.append([question, replies[1].upper() if rng.random() < 0.1 else replies[1]])
    folder = make_samples.SAMPLES / "answers"
    make_samples.write(folder / "truth.csv", ["question", "image", "kind", "about", "answer"], truth)
    make_samples.write(folder / "model_a.csv", ["question", "answer"], a)
    make_samples.write(folder / "model_b.csv", ["question", "answer"], b)


if __name__ == "__main__":
    main()
