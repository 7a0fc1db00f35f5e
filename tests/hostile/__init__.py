"""The hostile suite: every row of every table."""

import os

from hostile import (
    commands,
    detections,
    files_anomalies,
    files_cells,
    files_coco,
    files_distributions,
    files_formats,
    files_grounding,
    files_maps,
    files_nutrients,
    files_oriented,
    files_packed,
    files_rankings,
    files_special,
    files_tables,
    files_tracks,
    files_volumes,
    frames,
    groups,
    kept,
    names,
    results,
    servers,
    states,
)

TABLES = (
    files_tables,
    files_coco,
    detections,
    files_cells,
    files_formats,
    files_maps,
<<<<<<< HEAD
    files_distributions,
=======
    files_anomalies,
>>>>>>> f03e6eac (Add checks, pictures, explanations and hostile rows of anomalies)
    files_grounding,
    files_nutrients,
    files_volumes,
    files_oriented,
    files_rankings,
    files_special,
    files_packed,
    files_tracks,
    frames,
    groups,
    states,
    results,
    commands,
    servers,
    kept,
    names,
)
ROWS = [row for table in TABLES for row in table.ROWS if os.name == "posix" or not row.posix]
