"""Where the package itself is installed, so that its other modules can be imported beside the drop-in."""

from __future__ import annotations

from importlib.machinery import PathFinder


def folders_of(part: str = "") -> list[str]:
    """The folders of the installed package, or of a package inside it; none where it is not installed."""
    spec = PathFinder.find_spec("cityscapesscripts")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if part:
        inner = PathFinder.find_spec(f"cityscapesscripts.{part}", folders)
        folders = list(inner.submodule_search_locations or ()) if inner else []
    return folders
