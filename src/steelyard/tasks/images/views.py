"""What the page of images shows."""

from __future__ import annotations
