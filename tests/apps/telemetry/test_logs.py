"""Logs are kept in order, once, up to a size, and read back as lines."""

from datetime import timedelta

import pytest
from pytest_django import Settings

from apps.telemetry.logs import (
    BadSearchPattern,
    LogLine,
    log_append,
    log_lines,
    log_next_sequence,
    log_prune,
)
from apps.telemetry.models import LogChunk
from controlplane import clock

pytestmark = pytest.mark.django_db
OWNER = "build:abc:fetch"


def append(sequence: int, text: str, *, owner: str = OWNER, attempt: int = 1) -> bool:
    return log_append(owner=owner, attempt=attempt, sequence=sequence, text=text)


def messages(lines: list[LogLine]) -> list[str]:
    return [line.message for line in lines]


def test_lines_come_back_in_the_order_of_their_writing() -> None:
    append(0, "one\ntwo\n")
    append(1, "three\n")
    lines = log_lines(owners=[OWNER])
    assert messages(lines) == ["one", "two", "three"]
    stamps = [line.timestamp_nanoseconds for line in lines]
    assert stamps == sorted(set(stamps))
    assert messages(log_lines(owners=[OWNER], newest_first=True, limit=2)) == ["three", "two"]


def test_a_chunk_sent_twice_is_kept_once() -> None:
    append(0, "one\n")
    append(0, "one again\n")
    assert messages(log_lines(owners=[OWNER])) == ["one"]
    assert log_next_sequence(owner=OWNER, attempt=1) == 1


def test_a_cursor_leads_to_the_lines_after_it() -> None:
    append(0, "one\ntwo\nthree\n")
    first, second, _ = log_lines(owners=[OWNER])
    assert messages(log_lines(owners=[OWNER], after=first.cursor)) == ["two", "three"]
    append(1, "four\n")
    assert messages(log_lines(owners=[OWNER], after=second.cursor)) == ["three", "four"]


def test_attempts_and_owners_are_apart() -> None:
    append(0, "first\n")
    append(0, "second\n", attempt=2)
    append(0, "other\n", owner="build:abc:inspect")
    assert messages(log_lines(owners=[OWNER], attempt=2)) == ["second"]
    assert messages(log_lines(owners=["build:abc:inspect"])) == ["other"]


def test_lines_are_found_by_pattern_and_level() -> None:
    append(0, "INFO loading\n[ERROR] cannot open a.safetensors\nplain\n")
    outcome = log_lines(owners=[OWNER], search=r"open \w+\.safe")
    assert [(line.message, line.level) for line in outcome] == [
        ("[ERROR] cannot open a.safetensors", "ERROR")
    ]


def test_a_pattern_that_cannot_be_run_is_said() -> None:
    append(0, "x\n")
    with pytest.raises(BadSearchPattern, match="parentheses"):
        log_lines(owners=[OWNER], search="(")


def test_a_log_past_its_size_is_cut_with_a_note(settings: Settings) -> None:
    settings.LOG_MAX_BYTES = 10_000
    assert append(0, "a" * 9_000 + "\n")
    assert append(1, "b" * 9_000 + "\n")
    assert not append(2, "c\n")
    lines = messages(log_lines(owners=[OWNER]))
    assert lines[-1].startswith("[The log was cut here: it reached 10,000 bytes")
    assert not any(line == "c" for line in lines)
    assert append(0, "next attempt\n", attempt=2)


def test_what_looks_like_a_secret_is_not_stored() -> None:
    append(0, "Authorization: Bearer abcdefghijklmnop\n")
    assert "abcdefghijklmnop" not in LogChunk.objects.get().text


def test_chunks_past_the_retention_are_pruned(settings: Settings) -> None:
    settings.LOG_RETENTION_DAYS = 3
    append(0, "old\n")
    LogChunk.objects.update(created_at=clock.now() - timedelta(days=4))
    append(1, "new\n")
    assert log_prune() == 1
    assert messages(log_lines(owners=[OWNER])) == ["new"]
