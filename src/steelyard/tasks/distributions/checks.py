"""What `check` looks for in sets of feature vectors."""

from __future__ import annotations

from typing import Any

CHECKS: tuple[Any, ...] = ()
