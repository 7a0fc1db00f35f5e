"""Where pages lead: the address in front of every path."""

from __future__ import annotations

from steelyard.core.frozen import frozen
from steelyard.view.entry import Entry
from steelyard.view.runs import StoredRun
from steelyard.view.units import Images


@frozen
class Site:
    """Where pages lead: the address in front of every path, and the images."""

    base: str
    images: Images

    def run(self, run: StoredRun, *more: object) -> str:
        """The address of a run, or of something of it."""
        return "/".join([self.base, "run", run.id, *map(str, more)])

    def entry(self, entry: Entry) -> str:
        """The address of a run of the list."""
        return f"{self.base}/run/{entry.id}"

    def both(self, a: StoredRun, b: StoredRun, *more: object) -> str:
        """The address of two runs side by side."""
        return "/".join([self.base, "both", a.id, b.id, *map(str, more)])

    def top(self) -> tuple[str, str]:
        """The link to all runs."""
        return f"{self.base}/", "All runs"
