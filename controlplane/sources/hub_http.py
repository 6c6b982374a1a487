"""The HTTP library that huggingface_hub speaks with here: `httpx2` since 2.0, `httpx` before.

transformers 5.17 wants a hub client before 2.0, the newest wants one after. Both libraries have
the same names; an error has to be caught under the one that raises it.
"""

from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING or int(version("huggingface_hub").split(".")[0]) >= 2:
    import httpx2 as http
else:
    import httpx as http

__all__ = ["http"]
