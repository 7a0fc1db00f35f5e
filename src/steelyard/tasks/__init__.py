"""Tasks: everything of a task is in the folder of its name; what several tasks share is in `shared`.

A folder has `task.py` (the task: schemas, join and its registration), `data.py`, the metrics and what they measure,
`views.py` (tables, figures and scenes), `checks.py`, and `reader.py` and `device.py` where the task has its own.
"""
