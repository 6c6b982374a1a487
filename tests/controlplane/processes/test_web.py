"""What the web process does before it serves."""

import gc

from controlplane.collecting import without_collecting
from controlplane.processes.web import load_every_view


def test_what_is_loaded_at_the_start_is_left_alone_by_the_collector() -> None:
    try:
        with without_collecting():
            load_every_view()
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
