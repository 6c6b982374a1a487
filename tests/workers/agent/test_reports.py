"""When the agent speaks: at once where something has changed, every few seconds otherwise."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from workers.agent import inventory
from workers.agent.hints import Hints
from workers.agent.settings import read_settings
from workers.agent.supervision import Agent

GIB = 1024**3
GPU = {"uuid": "GPU-1", "kind": "H100", "used_bytes": GIB, "clean": True, "used_by": []}


class Listener:
    """A control plane that wants nothing and keeps what it is told."""

    def __init__(self) -> None:
        self.cards: list[Any] = []

    def observe(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        self.cards.append(observation["cards"])
        return {"replicas": []}

    def ship_log(self, *, replica_id: str, attempt: int, sequence: int, text: str) -> None:
        return


@pytest.mark.parametrize(
    ("change", "reports"),
    [
        ({"used_by": [{"pid": 4242}], "clean": False}, 2),
        ({"used_bytes": 70 * GIB}, 2),  # a container may show no process
        ({"used_bytes": GIB + 1}, 1),
    ],
)
def test_who_comes_to_a_card_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Mapping[str, Any], reports: int
) -> None:
    now = dict(GPU)
    monkeypatch.setattr(inventory, "cards", lambda name: [dict(now)])
    monkeypatch.setattr("workers.agent.supervision.REPORT_SECONDS", 600)
    settings, listener = read_settings({"DATA_DIR": str(tmp_path)}), Listener()
    settings.home.mkdir(parents=True)
    agent = Agent(settings, listener, Hints("", settings.node_name))
    agent.step()
    agent.step()
    now.update(change)
    agent.step()
    assert len(listener.cards) == reports
