"""`cityscapesscripts`: evaluation of semantic and panoptic labels; where it is installed, the rest is its own."""

from steelyard.compat.cityscapesscripts.installed import folders_of

__path__ = [*__path__, *folders_of()]
