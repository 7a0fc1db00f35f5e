"""`cityscapesscripts.helpers`."""

from steelyard.compat.cityscapesscripts.installed import folders_of

__path__ = [*__path__, *folders_of("helpers")]
