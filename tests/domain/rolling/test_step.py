"""A roll never sends a share to replicas that could not carry it, whatever happens on the way."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.rolling.roll import Direction, Pause, Roll, paused, resumed, returning
from controlplane.domain.rolling.settings import RollSettings, problems_of
from controlplane.domain.rolling.step import Outcome, Sizes, Step, StepCode, next_step
from tests.examples import examples

SURGE = RollSettings(rolling_deploy=True)
UNAVAILABLE = replace(SURGE, max_surge_percent=0, max_unavailable_percent=25)
RAMP = RollSettings(ramp_up_while_promoting=True, ramp_up_duration_seconds=100)
CANARY = RollSettings(canary_percent=10)


class World:
    """Replicas of both deployments, and gateways, which follow when they are told to."""

    def __init__(self, settings: RollSettings, total: int, *, live: int | None = None) -> None:
        self.settings, self.roll, self.now = settings, Roll(total=total), 0.0
        self.candidate = self.candidate_wanted = 0
        self.current = self.current_wanted = live or total
        self.is_applied, self.known_percent = True, 0
        self.shares = [0]
        self.outcome = Outcome.GOES_ON
        self.awaited = ""

    def step(self) -> Step:
        sizes = Sizes(
            candidate_ready=min(self.candidate, self.candidate_wanted),
            current_ready=min(self.current, self.current_wanted),
            current_live=self.current,
            current_wanted=self.current_wanted,
            is_applied=self.is_applied,
            answers_awaited=self.awaited,
        )
        step = next_step(self.settings, self.roll, sizes, now=self.now)
        if step.roll.percent != self.roll.percent:
            self.is_applied = False
            self.shares.append(step.roll.percent)
        self.roll, self.outcome = step.roll, step.outcome
        self.candidate_wanted, self.current_wanted = step.candidate_wanted, step.current_wanted
        return step

    def gateways_follow(self) -> None:
        self.is_applied, self.known_percent = True, self.roll.percent

    def replicas_follow(self) -> None:
        self.candidate, self.current = self.candidate_wanted, self.current_wanted

    def runs_to_the_end(self, *, seconds: float = 0) -> None:
        for _ in range(400):
            if self.outcome is not Outcome.GOES_ON or self.roll.paused:
                return
            self.replicas_follow()
            self.gateways_follow()
            self.now += seconds
            self.step()
        raise AssertionError(f"it never ends: {self.roll}")


@pytest.mark.parametrize(
    ("settings", "total", "shares"),
    [
        (SURGE, 4, [0, 25, 50, 75, 100]),
        (SURGE, 1, [0, 100]),
        (SURGE, 10, [0, 30, 60, 90, 100]),
        (replace(SURGE, max_surge_replicas=2), 4, [0, 50, 100]),
        (UNAVAILABLE, 4, [0, 25, 50, 75, 100]),
        (UNAVAILABLE, 1, [0, 100]),
        (RAMP, 2, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]),
    ],
)
def test_shares_follow_the_ratio_of_replicas_or_the_time(
    settings: RollSettings, total: int, shares: list[int]
) -> None:
    world = World(settings, total)
    world.runs_to_the_end(seconds=10)
    assert (world.shares, world.outcome) == (shares, Outcome.SWITCH)


def test_no_replica_ends_before_every_gateway_works_by_the_new_share() -> None:
    world = World(SURGE, 4)
    world.step()
    world.replicas_follow()
    assert world.step().code == StepCode.SHARE_RAISED
    assert (world.roll.percent, world.current_wanted) == (25, 4)
    assert world.step().code == StepCode.WAITS_FOR_GATEWAYS
    world.gateways_follow()
    assert (world.step().code, world.current_wanted) == (StepCode.REPLICAS_MOVED, 3)


def test_a_share_holds_for_the_stabilization_time() -> None:
    world = World(replace(SURGE, stabilization_time_seconds=60), 4)
    world.step()
    world.replicas_follow()
    world.step()
    world.gateways_follow()
    assert world.step().sentence == "25 % hold for 60 s more."
    world.now = 59
    assert world.step().code == StepCode.STABILIZES
    world.now = 60
    assert world.step().code == StepCode.REPLICAS_MOVED


def test_a_canary_needs_its_share_of_the_replicas_and_holds_until_it_is_resumed() -> None:
    world = World(CANARY, 20)
    world.runs_to_the_end()
    assert (world.roll.percent, world.roll.paused) == (10, Pause.CANARY)
    assert (world.candidate_wanted, world.current_wanted) == (2, 20)
    world.roll = resumed(world.roll)
    world.runs_to_the_end()
    assert (world.shares, world.outcome) == ([0, 10, 100], Outcome.SWITCH)
    assert world.candidate_wanted == 20


def test_a_canary_by_header_holds_at_nothing_once_a_replica_is_ready_for_those_who_ask() -> None:
    world = World(RollSettings(canary_by_header=True), 20)
    assert world.step().code == StepCode.WAITS_FOR_REPLICAS
    world.runs_to_the_end()
    assert (world.roll.percent, world.roll.paused) == (0, Pause.CANARY)
    assert (world.candidate_wanted, world.current_wanted) == (1, 20)
    world.roll = resumed(world.roll)
    world.runs_to_the_end()
    assert world.shares == [0, 100]


def test_a_roll_that_is_cancelled_goes_back_the_way_it_came() -> None:
    world = World(SURGE, 4)
    while world.roll.percent < 50:
        world.step()
        world.replicas_follow()
        world.gateways_follow()
    world.roll = returning(world.roll)
    world.current -= 1
    assert world.step().code == StepCode.WAITS_FOR_REPLICAS
    world.runs_to_the_end()
    assert (world.shares, world.outcome) == ([0, 25, 50, 25, 0], Outcome.RETURNED)
    assert world.current_wanted == 4


def test_a_roll_before_any_traffic_returns_at_once() -> None:
    world = World(SURGE, 4)
    world.step()
    world.roll = returning(world.roll)
    assert world.step().outcome is Outcome.RETURNED


def test_overhead_makes_the_candidate_larger_than_what_it_replaces() -> None:
    world = World(replace(SURGE, replica_overhead_percent=50), 4)
    world.runs_to_the_end()
    assert world.candidate_wanted == 6


COMMANDS = {"pause": paused, "resume": resumed, "return": returning}
settings_of = st.builds(
    RollSettings,
    rolling_deploy=st.sampled_from([True, True, True, False]),
    ramp_up_while_promoting=st.booleans(),
    max_surge_percent=st.integers(1, 50),
    max_unavailable_percent=st.sampled_from([0, 0, 10, 50]),
    canary_percent=st.sampled_from([None, 1, 10, 50]),
    stabilization_time_seconds=st.sampled_from([0, 5]),
)
EVENTS = [
    *["step"] * 4, *["candidate up", "current up", "gateways"] * 2, "candidate down",
    "current down", "time", "pause", "resume", "resume", "return",
]  # fmt: skip
events_of = st.lists(st.sampled_from(EVENTS), min_size=20, max_size=120)


@examples(400)
@given(settings=settings_of, total=st.integers(1, 12), events=events_of)
def test_capacity_is_kept_over_any_order_of_readiness_failures_and_commands(
    settings: RollSettings, total: int, events: list[str]
) -> None:
    world = World(settings, total)
    for event in events:
        _happens(world, event)
        if world.outcome is not Outcome.GOES_ON:
            break
    _assert_it_can_end(world)


def _happens(world: World, event: str) -> None:
    if event == "step":
        before = world.roll.percent
        step = world.step()
        _assert_capacity(world, before, step)
    elif event == "gateways":
        world.gateways_follow()
    elif event == "time":
        world.now += 30
    elif event in COMMANDS:
        world.roll = COMMANDS[event](world.roll)
    else:
        side, way = event.split()
        has, target = getattr(world, side), getattr(world, f"{side}_wanted")
        setattr(world, side, target if way == "up" else max(0, has - 1))


def _assert_capacity(world: World, before: int, step: Step) -> None:
    roll, missing = step.roll, world.settings.unavailable(world.roll.total)
    if roll.percent > before:
        # It was raised to what is ready.
        carried = roll.total * roll.percent // 100 - missing
        assert world.candidate >= max(1, carried)
    # What any gateway may send there finds as many wanted as carried it, but what may be missing.
    most_at_current = 100 - min(world.known_percent, roll.percent)
    assert step.current_wanted >= max(1, roll.total * most_at_current // 100 - missing)
    most_at_candidate = max(world.known_percent, roll.percent)
    assert step.candidate_wanted + missing >= roll.total * most_at_candidate // 100
    if world.settings.rolling_deploy and roll.direction is Direction.UP:
        ceiling = roll.total + world.settings.surge(roll.total)
        live = max(world.current, step.current_wanted)
        assert step.candidate_wanted <= max(1, ceiling - live, roll.moved)
    if world.settings.rolling_deploy and roll.percent < before:
        back = roll.total * (100 - roll.percent) // 100 - missing
        assert min(world.current, step.current_wanted) >= max(1, back)


def _assert_it_can_end(world: World) -> None:
    for _ in range(60):
        world.roll = resumed(world.roll)
        world.runs_to_the_end(seconds=600)
        if world.outcome is not Outcome.GOES_ON:
            return
    raise AssertionError(f"it never ends: {world.roll}")


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ({"max_surge_percent": 10, "max_unavailable_percent": 10}, "both set"),
        ({"max_surge_percent": 0}, "both 0"),
        ({"max_surge_percent": 0, "max_unavailable_replicas": 1}, ""),
        ({}, ""),
    ],
)
def test_exactly_one_of_surge_and_unavailable_moves_replicas(
    config: dict[str, int], says: str
) -> None:
    problems = problems_of(config)
    assert [says in each[1] for each in problems] == [True] * bool(says)


def test_a_roll_is_read_as_it_was_written() -> None:
    roll = returning(paused(Roll(total=4, percent=25), Pause.GUARD, "Too slow."), "Too slow.")
    assert Roll.of(roll.to_json()) == roll
    holding = paused(Roll(total=1), Pause.GUARD, "Too slow.")
    assert Roll.of(holding.to_json()) == holding


@pytest.mark.parametrize("settings", [SURGE, RAMP, CANARY, RollSettings()])
def test_replicas_start_but_no_share_moves_while_answers_are_awaited(
    settings: RollSettings,
) -> None:
    world = World(settings, 4)
    world.awaited = "Both are asked."
    for _ in range(5):
        world.replicas_follow()
        world.gateways_follow()
        step = world.step()
    assert (step.code, step.sentence, world.shares) == (
        StepCode.WAITS_FOR_ANSWERS, "Both are asked.", [0],
    )  # fmt: skip
    assert world.candidate > 0
    world.awaited = ""
    world.replicas_follow()
    assert world.step().roll.percent > 0
