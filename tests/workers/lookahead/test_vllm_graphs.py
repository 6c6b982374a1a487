"""Steps without drafts have graphs of their own beside those that vLLM's older runner records."""

from types import SimpleNamespace
from typing import Any

import pytest

from workers.lookahead.vllm_graphs import ADJUSTS, SMALL_STEPS, record_small_steps


def compilation(*, enable_sp: bool = False, sizes: Any = (1, 2, 4, 8, 16, 24, 32, 64)) -> Any:
    class Compilation:
        """As vLLM 0.25's: sizes become multiples of a full draft's tokens."""

        def __init__(self) -> None:
            self.cudagraph_capture_sizes = sizes and [*sizes]
            self.pass_config = SimpleNamespace(enable_sp=enable_sp)

        def adjust_cudagraph_sizes_for_spec_decode(self, tokens: int, ranks: int) -> None:
            if self.cudagraph_capture_sizes:
                self.cudagraph_capture_sizes = [tokens, 2 * tokens]

    return Compilation()


def adjusted(config: Any) -> Any:
    record_small_steps(config)
    record_small_steps(config)  # as each engine of one process does
    getattr(config, ADJUSTS)(8, 1)
    return config.cudagraph_capture_sizes


def test_small_steps_stand_before_those_with_drafts() -> None:
    assert adjusted(compilation()) == [1, 2, 4, 8, 16]
    assert set(SMALL_STEPS) > {1, 2, 4}


@pytest.mark.parametrize(("given", "sizes"), [({"enable_sp": True}, [8, 16]), ({"sizes": []}, [])])
def test_sizes_that_others_decide_are_left_alone(given: dict[str, Any], sizes: list[int]) -> None:
    assert adjusted(compilation(**given)) == sizes


def test_a_version_that_chooses_sizes_in_another_way_is_left_alone() -> None:
    config = SimpleNamespace(cudagraph_capture_sizes=[1, 2])
    record_small_steps(config)
    assert config.cudagraph_capture_sizes == [1, 2]
