# The compiled core. native/*.cpp describes its functions; here they are untyped, and what calls them says the type.
from typing import Any

def __getattr__(name: str) -> Any: ...
