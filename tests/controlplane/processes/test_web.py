"""What the web process does before it serves."""

import gc

from controlplane.processes.web import calm_the_collector


def test_what_is_loaded_at_the_start_is_left_alone_by_the_collector() -> None:
    try:
        calm_the_collector()
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
