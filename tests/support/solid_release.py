"""A release of nuScenes, written out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LINE = "Car 0.0 1 -1.5 100 120 180.25 160 1.5 1.6 4 2 1.5 10 0"


HEAD = "frame,label,x,y,z,length,width,height,yaw\n"


def release(folder: Path, **changed: Any) -> Path:
    """Three samples half a second, then two seconds apart: a car that is in all of them, and others that are in one."""
    times = {"s0": 0, "s1": 500_000, "s2": 2_500_000}

    def box(token: str, sample: str, instance: str, x: float, prev: str = "", next: str = "", **more: Any) -> Any:
        return {
            "token": token, "sample_token": sample, "instance_token": instance, "translation": [x, 5.0, 1.0],
            "size": [2.0, 4.0, 1.5], "rotation": [1.0, 0, 0, 0], "prev": prev, "next": next, "attribute_tokens": ["a"],
            "num_lidar_pts": 3, "num_radar_pts": 1, **more,
        }  # fmt: skip

    tables: dict[str, Any] = {
        "sample": [{"token": name, "timestamp": at, "scene_token": "c"} for name, at in times.items()],
        "scene": [{"token": "c", "name": "scene-0001"}],
        "category": [
            {"token": name, "name": name} for name in ("vehicle.car", "static_object.bicycle_rack", "animal")
        ],
        "instance": [
            {"token": "car", "category_token": "vehicle.car"}, {"token": "dog", "category_token": "animal"},
            {"token": "rack", "category_token": "static_object.bicycle_rack"},
        ],
        "attribute": [{"token": "a", "name": "vehicle.moving"}],
        "sample_annotation": [
            box("b0", "s0", "car", 10.0, next="b1"), box("b1", "s1", "car", 12.0, prev="b0", next="b2"),
            box("b2", "s2", "car", 20.0, prev="b1"), box("d", "s0", "dog", 9.0),
            box("r", "s0", "rack", 8.0, attribute_tokens=[]),
        ],
        "ego_pose": [{"token": name, "translation": [float(k), 0.0, 0.0]} for k, name in enumerate(times)],
        "sample_data": [
            {"token": f"{name}{way}", "sample_token": name, "ego_pose_token": name if way == "LIDAR_TOP" else "s0",
             "filename": f"samples/{way}/x.bin", "is_key_frame": True}
            for name in times for way in ("CAM_FRONT", "LIDAR_TOP")
        ],
    }  # fmt: skip
    folder.mkdir(exist_ok=True)
    for name, rows in {**tables, **changed}.items():
        (folder / f"{name}.json").write_text(json.dumps(rows))
    return folder
