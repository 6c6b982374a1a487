"""Rotation of the key ring: readable throughout, stopped anywhere, one at a time."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection, transaction
from django_otp.plugins.otp_totp.models import TOTPDevice

from apps.accounts.key_ring import key_ring_ensure, key_ring_load
from apps.accounts.models import AuditEntry, Authenticator, Team
from apps.secrets.models import Secret
from apps.secrets.services import rotation as rotation_module
from apps.secrets.services.rotation import secret_rotate
from apps.secrets.services.values import binding, sealed_of, secret_reveal, secret_set
from tests.apps.secrets.refusing import allow_commits, refuse_commits, write_late
from tests.factories import make_team, make_user
from tests.processes import ROOT, database_url
from tests.waiting import wait_for

pytestmark = pytest.mark.django_db(transaction=True)


def store(count: int, key_ring: Path) -> Team:
    """Store secrets `s0`, `s1`, ... whose values are `value-0`, `value-1`, ..."""
    team, ring = make_team(), key_ring_ensure(key_ring)
    sealed = {
        f"s{n}": ring.seal(f"value-{n}", bound_to=binding(team.id, f"s{n}")) for n in range(count)
    }
    Secret.objects.bulk_create(
        Secret(
            team=team,
            name=name,
            key_id=each.key_id,
            nonce=each.nonce,
            ciphertext=each.ciphertext,
        )
        for name, each in sealed.items()
    )
    return team


def told() -> list[str]:
    """Return what the audit trail says of the key ring."""
    entries = AuditEntry.objects.filter(action__startswith="key_ring.")
    return list(entries.order_by("id").values_list("action", flat=True))


def is_locked() -> bool:
    """Return whether the database holds a lock for somebody who rotates."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_locks WHERE locktype = 'advisory'")
        return cursor.fetchone() is not None


def keys_in(key_ring: Path) -> set[str]:
    return set(json.loads(key_ring.read_text())["keys"])


def in_thread(act: Callable[[], None]) -> threading.Thread:
    """Start `act` with a connection of its own."""

    def run() -> None:
        try:
            act()
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_every_value_is_sealed_anew_and_the_old_key_is_gone(
    key_ring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotation_module, "BATCH_ROWS", 2)
    team = store(5, key_ring)
    old = key_ring_load(key_ring).primary
    lines: list[tuple[int, int]] = []
    done = secret_rotate(on_progress=lambda done, total: lines.append((done, total)))
    assert (done.resealed, done.retired) == (5, (old,))
    assert lines == [(2, 5), (4, 5), (5, 5)]
    assert (
        set(Secret.objects.values_list("key_id", flat=True)) == {done.key_id} == keys_in(key_ring)
    )
    assert secret_reveal(team=team, name="s4") == "value-4"


def test_values_are_read_and_written_while_keys_rotate(
    key_ring: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotation_module, "BATCH_ROWS", 5)
    team = store(30, key_ring)
    ended = threading.Event()
    wrong: list[object] = []
    reads = [0]

    def read() -> None:
        number = 0
        while not ended.is_set():
            number = (number + 7) % 30
            value = secret_reveal(team=team, name=f"s{number}")
            reads[0] += 1
            if value != f"value-{number}":
                wrong.append(value)

    def write() -> None:
        while not ended.is_set():
            secret_set(team=team, name="s3", value="value-3")

    threads = [in_thread(read), in_thread(read), in_thread(write)]
    try:
        rotations = 0
        while rotations < 4 or (reads[0] <= 20 and all(each.is_alive() for each in threads)):
            secret_rotate()
            rotations += 1
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert not wrong
    assert reads[0] > 20
    assert keys_in(key_ring) >= set(Secret.objects.values_list("key_id", flat=True))
    assert [secret_reveal(team=team, name=f"s{n}") for n in range(30)] == [
        f"value-{n}" for n in range(30)
    ]


def test_a_key_stays_in_the_ring_while_something_is_sealed_by_it(key_ring: Path) -> None:
    team = store(1, key_ring)
    old = key_ring_load(key_ring).primary

    rings: list[set[str]] = []
    done = secret_rotate(on_progress=lambda done, total: rings.append(keys_in(key_ring)))
    assert rings == [{old, done.key_id}]
    assert keys_in(key_ring) == {done.key_id}
    assert secret_reveal(team=team, name="s0") == "value-0"


@pytest.mark.process
def test_a_rotation_that_is_killed_is_finished_by_the_next(key_ring: Path) -> None:
    team = store(1200, key_ring)
    with transaction.atomic():
        # It cannot reach its end, however late it is killed.
        Secret.objects.order_by("-id").select_for_update().first()
        process = subprocess.Popen(
            [sys.executable, "manage.py", "secret_rotate"],
            cwd=ROOT,
            env=os.environ | {"DATABASE_URL": database_url(), "KEY_RING_FILE": str(key_ring)},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        assert process.stderr is not None
        with process.stderr:
            first = process.stderr.readline()
            process.kill()
        process.wait()
    wait_for(lambda: not is_locked(), what="the dead run's lock to be let go")
    assert first == "200 of 1200 re-encrypted\n"
    assert told() == ["key_ring.begin_rotation"]
    assert len(keys_in(key_ring)) == 2
    assert {secret_reveal(team=team, name=f"s{n}") for n in range(0, 1200, 100)} == {
        f"value-{n}" for n in range(0, 1200, 100)
    }
    assert secret_rotate().resealed == 1200
    assert told() == ["key_ring.begin_rotation"] * 2 + ["key_ring.rotate"]
    assert len(keys_in(key_ring)) == 1
    assert secret_reveal(team=team, name="s1199") == "value-1199"


def test_of_two_rotations_the_second_says_that_one_is_running(key_ring: Path) -> None:
    store(1, key_ring)
    refused: list[str] = []

    def rotate_too() -> None:
        with pytest.raises(CommandError) as caught:
            call_command("secret_rotate")
        refused.append(str(caught.value))

    secret_rotate(on_progress=lambda done, total: in_thread(rotate_too).join())
    assert refused == ["Another rotation is running. Let it end, then run this again."]
    assert len(keys_in(key_ring)) == 1


@pytest.mark.long
@pytest.mark.process
@pytest.mark.parametrize("how", ["", "refusing"])
def test_a_kill_at_any_line_and_row_of_a_rotation_loses_nothing_that_is_sealed(
    key_ring: Path, how: str
) -> None:
    team = make_team()
    for number in range(3):
        secret_set(team=team, name=f"s{number}", value=f"value of s{number}")
    for number in range(2):
        seed = f"{number}" * 40
        Authenticator.objects.create(user=make_user(), key=seed, name=seed)
    run = subprocess.run(
        [sys.executable, "-m", "tests.apps.secrets.rotation_killed", *filter(None, [how])],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": database_url(), "KEY_RING_FILE": str(key_ring)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout.splitlines()[-1]) > 200
    allow_commits()
    done = secret_rotate()
    assert keys_in(key_ring) == {done.key_id}
    assert set(Secret.objects.values_list("key_id", flat=True)) == {done.key_id}
    assert {each.key_id for each in Authenticator.objects.all()} == {done.key_id}
    assert sorted(each.name for each in key_ring.parent.iterdir()) == [
        f".{key_ring.name}.lock", key_ring.name,
    ]  # fmt: skip


def test_a_commit_that_fails_leaves_the_key_that_opens_what_it_rolled_back(key_ring: Path) -> None:
    store(2, key_ring)
    old = key_ring_load(key_ring)

    def late_writer(done: int, total: int) -> None:
        write_late(old)
        refuse_commits()

    try:
        with pytest.raises(DatabaseError, match="no commit today"):
            secret_rotate(on_progress=late_writer)
        team = Team.objects.get(secrets__name="late")
        assert secret_reveal_unmarked(team, "late") == "value of late"
    finally:
        allow_commits()
    assert old.primary in keys_in(key_ring)
    assert secret_rotate().resealed == 3
    assert secret_reveal(team=team, name="late") == "value of late"
    assert len(keys_in(key_ring)) == 1


def secret_reveal_unmarked(team: Team, name: str) -> str:
    """Return a value without noting its use, which would be a commit."""
    answer = Secret.objects.get(team=team, name=name)
    return key_ring_load(django_settings.KEY_RING_FILE).open(
        sealed_of(answer), bound_to=binding(team.id, name)
    )


def test_a_secret_that_does_not_open_keeps_its_key_and_stops_no_rotation(
    key_ring: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rotation_module, "BATCH_ROWS", 2)
    team = store(7, key_ring)
    old = key_ring_load(key_ring).primary
    Secret.objects.filter(name="s1").update(ciphertext=b"damaged beyond repair")
    Secret.objects.filter(name="s2").update(key_id="kffffffffffff")
    Secret.objects.filter(name="s0").update(nonce=b"")
    Secret.objects.filter(name="s3").update(nonce=b"n" * 300)
    call_command("secret_rotate")
    output = capsys.readouterr()
    assert f"s1 of {team.name} does not open" in output.err
    assert f"s2 of {team.name} does not open" in output.err
    assert f"s0 of {team.name} does not open" in output.err
    assert f"s3 of {team.name} does not open" in output.err
    assert "3 secrets are under the new key" in output.out
    assert old in keys_in(key_ring)
    assert secret_reveal(team=team, name="s4") == "value-4"


def test_seeds_of_authenticator_apps_rotate_along_and_keep_their_key(key_ring: Path) -> None:
    sealed = Authenticator.objects.create(user=make_user())
    plain = TOTPDevice.objects.create(user=make_user())
    TOTPDevice.objects.create(user=make_user(), key=f"{sealed.key_id}:{'A' * 64}")
    for damaged in ("no hex", f"{sealed.key_id}:", f"{sealed.key_id}:A", f"{sealed.key_id}:ä"):
        TOTPDevice.objects.create(user=make_user(), key=damaged)
    seeds = {sealed.id: sealed.bin_key, plain.id: plain.bin_key}
    old = keys_in(key_ring)
    done = secret_rotate()
    for id, seed in seeds.items():
        device = Authenticator.objects.get(id=id)
        assert (device.key_id, device.bin_key) == (done.key_id, seed)
    assert keys_in(key_ring) == {*old, done.key_id}, "the lost one names the old key"
    TOTPDevice.objects.exclude(id__in=seeds).delete()
    assert set(secret_rotate().retired) == {*old, done.key_id}
