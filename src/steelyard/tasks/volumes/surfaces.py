"""Metrics of distances between surfaces, by either definition of a surface and by every custom of percentiles."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from steelyard.core.errors import InvalidSpec
from steelyard.core.metric import Between, Metric
from steelyard.tasks.volumes.metrics import SurfaceMetric

INF = float("inf")
LIKE = {"deepmind": ("elements", "area"), "monai": ("voxels", "linear"), "medpy": ("voxels", "pooled")}


class Hausdorff(SurfaceMetric):
    r"""Hausdorff distance: how far the worst point of a surface is from the other, or a percentile of that.

    $\max\left(P_q\{d(a, B)\}, P_q\{d(b, A)\}\right)$

    `hd@95` is the percentile that most papers report; `hd` is the maximum. Four customs exist: `rule=area` takes the
    first distance at which the area up to it reaches q (surface-distance), `rule=linear` interpolates between ordered
    distances (MONAI), each direction by itself; `rule=pooled` does so over both directions together (MedPy).
    `like=deepmind`, `like=monai` and `like=medpy` set surface and rule.

    Undefined when no case has the structure on either side.

    Pros:
    - Says how bad the worst errors are, in mm.

    Cons:
    - Others' numbers differ by surface and rule: name both.
    - One far voxel rules the maximum.
    """

    name: ClassVar[str] = "hd"
    title: ClassVar[str] = "Hausdorff distance"
    figure: ClassVar[str] = "hd"
    at: ClassVar[str | None] = "percentile"
    reference: ClassVar[str] = "surface-distance compute_robust_hausdorff, MONAI, MedPy"

    percentile: Annotated[float, Between(0.0, 100.0, open_low=True)] | None = None
    rule: Annotated[str, Literal["area", "linear", "pooled"]] = "area"
    like: Annotated[str, Literal["deepmind", "monai", "medpy"]] | None = None

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), *(cls(percentile=95, like=name) for name in (None, *LIKE)), cls(missed="skip"))

    @property
    def label(self) -> str:
        text = super().label
        if self.percentile is not None:
            text = text.replace(self.title, f"{self.title}, {self.percentile:g} %", 1)
        return f"{text}, as {self.like}" if self.like else text

    def check(self) -> None:
        super().check()
        if self.like is not None and (self.surface, self.rule) != ("elements", "area"):
            raise InvalidSpec(f"'{self}': like= says surface and rule itself", remedy="Leave the others out.")

    def settings(self) -> dict[str, Any]:
        surface, rule = LIKE[self.like] if self.like else (self.surface, self.rule)
        return {
            **super().settings(),
            "surface": surface,
            "rule": rule,
            "at": 100.0 if self.percentile is None else float(self.percentile),
        }


class AverageSurfaceDistance(SurfaceMetric):
    r"""Average surface distance: the mean distance from the prediction's surface to the truth's.

    $\frac{\sum_b w_b\, d(b, A)}{\sum_b w_b}$

    `asd(of=truth)` goes the other way.

    Undefined when no case has the structure on either side.

    Pros:
    - A typical error in mm.

    Cons:
    - One direction only: what is missed does not show.
    """

    name: ClassVar[str] = "asd"
    title: ClassVar[str] = "Average surface distance"
    figure: ClassVar[str] = "asd"
    reference: ClassVar[str] = "surface-distance compute_average_surface_distance, MONAI"

    of: Literal["prediction", "truth"] = "prediction"

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "of": self.of}


class SymmetricSurfaceDistance(SurfaceMetric):
    r"""Average symmetric surface distance: the mean over both surfaces of the distance to the other.

    $\frac{\sum_a w_a\, d(a, B) + \sum_b w_b\, d(b, A)}{\sum_a w_a + \sum_b w_b}$

    Undefined when no case has the structure on either side.

    Pros:
    - A typical error in mm, of what is missed and of what is made up.

    Cons:
    - The larger surface counts more.
    """

    name: ClassVar[str] = "assd"
    title: ClassVar[str] = "Average symmetric surface distance"
    figure: ClassVar[str] = "assd"
    reference: ClassVar[str] = "MONAI, MedPy, MetricsReloaded"

    @classmethod
    def examples(cls) -> tuple[Metric, ...]:
        return (cls(), cls(surface="voxels"))


class MeanSurfaceDistance(SurfaceMetric):
    r"""Mean average surface distance: the mean of the two directions' mean distances.

    $\tfrac12\left(\frac{\sum_a w_a\, d(a, B)}{\sum_a w_a} + \frac{\sum_b w_b\, d(b, A)}{\sum_b w_b}\right)$

    Undefined when no case has the structure on either side.

    Pros:
    - Both surfaces count alike, whatever their size.

    Cons:
    - Few points of a small surface weigh as much as all of a large one.
    """

    name: ClassVar[str] = "masd"
    title: ClassVar[str] = "Mean average surface distance"
    figure: ClassVar[str] = "masd"
    reference: ClassVar[str] = "MetricsReloaded"


class SurfaceDice(SurfaceMetric):
    r"""Normalised surface distance: the share of both surfaces that lies within a tolerance of the other.

    $\frac{\sum_{d(a,B) \le t} w_a + \sum_{d(b,A) \le t} w_b}{\sum_a w_a + \sum_b w_b}$

    `tolerance` is in mm: what experts differ by. A structure that one side lacks scores 0.

    Undefined when no case has the structure on either side.

    Pros:
    - Says how much of an outline need not be corrected.

    Cons:
    - Depends on the tolerance.
    """

    name: ClassVar[str] = "nsd"
    title: ClassVar[str] = "Normalised surface distance"
    better: ClassVar[str] = "higher"
    range: ClassVar[tuple[float, float]] = (0.0, 1.0)
    measured_in: ClassVar[str] = ""
    figure: ClassVar[str] = "nsd"
    reference: ClassVar[str] = "surface-distance compute_surface_dice_at_tolerance, MONAI use_subvoxels"

    tolerance: Annotated[float, Between(0.0)] = 1.0

    @property
    def label(self) -> str:
        return super().label.replace(self.title, f"{self.title} at {self.tolerance:g} mm", 1)

    def settings(self) -> dict[str, Any]:
        return {**super().settings(), "missed": "diagonal", "at": float(self.tolerance)}

    def counted_as(self) -> str:
        return "counted as 0"


SURFACE_METRICS: tuple[type[Metric], ...] = (
    Hausdorff, AverageSurfaceDistance, SymmetricSurfaceDistance, MeanSurfaceDistance, SurfaceDice,
)  # fmt: skip
