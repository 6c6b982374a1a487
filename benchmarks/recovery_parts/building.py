"""What a kill -9 costs a build: any one process, in every step."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.recovery_parts.one_step import cancel_steps
from benchmarks.recovery_parts.stage import enginehouse

_KINDS = ("cancelled", "cancel_seen", "given_back", "database")
"""What a harm's name begins with, where its bar is another than that of the true state."""


def builds_harmed(folder: Path, *, rounds: int, only: str = "") -> dict[str, Any]:
    """Return the worst seconds of each harm, or of one, over the rounds, and what was left."""
    steps = {name: round(value, 2) for name, value in cancel_steps(folder).items()}
    with enginehouse(folder) as stage:
        # It needs Django's set-up, and that the database's address.
        from benchmarks.recovery_parts import builds

        plain = builds.make_revision(folder, quantizes=False)
        fp8 = builds.make_revision(folder, quantizes=True)
        harms = (
            (builds.kill_workers, fp8),
            (builds.cancel_and_kill_children, fp8),
            (builds.cancel_in_the_queue_for_devices, fp8),
            (builds.kill_both, plain),
            (builds.kill_unseen, plain),
            (builds.stop_workers, plain),
            (builds.restart_broker, plain),
            (builds.kill_servers, plain),
            (builds.database_away, plain),
        )
        known = [harm.__name__ for harm, _revision in harms]
        if only and only not in known:
            raise SystemExit(f"There is no harm `{only}`; there are {', '.join(known)}.")
        harms = tuple(each for each in harms if only in ("", each[0].__name__))
        seconds: dict[str, float] = {}
        left: Counter[str] = Counter()
        for harm, revision in harms * rounds:
            build = builds.start_build(folder, revision)
            for name, value in harm(stage, build).items():
                seconds[name] = max(seconds.get(name, 0.0), round(value, 2))
            with stage.open_gates():
                left["builds_lost"] += builds.end_of(build).state != "succeeded"
            left["orphans"] += builds.orphans(folder)
            left["half_published"] += builds.drafts(folder)
            left["devices_still_held"] += builds.devices_held(build)
    return {**worst_by_kind(seconds), **steps, **left, "harms": seconds}


def worst_by_kind(seconds: Mapping[str, float]) -> dict[str, float]:
    """Return the worst of each kind that was measured."""
    worst: dict[str, float] = {}
    for name, value in seconds.items():
        kind = next((each for each in _KINDS if name.startswith(f"{each}_")), "true_state")
        worst[kind] = max(worst.get(kind, 0.0), value)
    return {f"{kind}_seconds_max": value for kind, value in worst.items()}
