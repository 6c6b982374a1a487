"""Drafts are as long as they pay."""

import pytest

from workers.lookahead.limits import (
    FIRST_CAP,
    FIRST_REST_STEPS,
    WINDOW_STEPS,
    AcceptanceGuard,
    EarnedCap,
    free_draft_tokens,
)


@pytest.mark.parametrize(
    ("running", "draft"), [(0, 294), (1, 294), (9, 31), (32, 8), (295, 0), (900, 0)]
)
def test_verification_stays_free_for_the_whole_batch(running: int, draft: int) -> None:
    assert free_draft_tokens(295, running) == draft


def _observe(guard: AcceptanceGuard, drafted: int, accepted: int) -> None:
    for _ in range(WINDOW_STEPS):
        guard.observe(drafted, accepted)


def test_the_cap_falls_where_little_is_accepted_and_rises_again() -> None:
    guard = AcceptanceGuard(32)
    _observe(guard, 10, 2)
    assert guard.cap == 16
    _observe(guard, 10, 5)
    assert guard.cap == 16
    _observe(guard, 10, 9)
    _observe(guard, 10, 9)
    assert guard.cap == 32


def test_the_cap_never_falls_below_one_token() -> None:
    guard = AcceptanceGuard(4)
    for _ in range(6):
        _observe(guard, 4, 0)
    assert guard.cap == 1


def test_steps_without_a_draft_say_nothing() -> None:
    guard = AcceptanceGuard(32)
    _observe(guard, 0, 0)
    assert guard.cap == 32


def test_a_cap_is_earned_by_drafts_that_are_accepted_whole() -> None:
    cap, caps = EarnedCap(64), []
    for _ in range(6):
        caps.append(cap.cap)
        cap.observe(cap.cap, cap.cap)
    assert caps == [4, 8, 16, 32, 64, 64]
    cap.observe(64, 30)
    assert cap.cap == 64
    cap.observe(64, 3)
    assert cap.cap == 32


def test_a_cap_that_is_lost_comes_back_after_a_rest_that_grows() -> None:
    cap = EarnedCap(64)
    for _ in range(FIRST_CAP):
        cap.observe(cap.cap, 0)
    assert cap.cap == 0
    rests = []
    for _ in range(4):
        steps = 0
        while not cap.cap:
            cap.observe(0, 0)
            steps += 1
        rests.append(steps)
        cap.observe(1, 0)
    assert rests[0] <= FIRST_REST_STEPS
    assert rests[1:] == [16, 32, 64]
