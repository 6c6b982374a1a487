"""The ledger never gives a GPU twice, and a CPU only as far as its memory goes."""

import re
import threading
from typing import Any

import pytest
from django.db import connection

from apps.fleet.models import Device, DeviceLease
from apps.fleet.services.devices import NoRoom, devices_claim, devices_release
from tests.factories_serving import GIB, make_serving_device, make_serving_node


@pytest.mark.django_db
def test_a_gpu_is_held_whole() -> None:
    node = make_serving_node()
    device = make_serving_device(node=node)
    claimed = devices_claim(holder="replica:a", node=node, kind="H100", count=1, memory_bytes=GIB)
    assert claimed == (device,)
    with pytest.raises(NoRoom, match="0 of 1 `H100` GPUs"):
        devices_claim(holder="replica:b", node=node, kind="H100", count=1, memory_bytes=GIB)
    devices_release(holder="replica:a")
    assert devices_claim(holder="replica:b", node=node, kind="H100", count=1, memory_bytes=GIB)


@pytest.mark.django_db
def test_a_cpu_is_shared_by_memory() -> None:
    node = make_serving_node(memory_bytes=8 * GIB)
    for holder in ("replica:a", "build:b"):
        devices_claim(holder=holder, node=node, kind="CPU", count=1, memory_bytes=3 * GIB)
    with pytest.raises(NoRoom, match=r"the most free on one is 2\.0 GiB"):
        devices_claim(holder="replica:c", node=node, kind="CPU", count=1, memory_bytes=3 * GIB)


@pytest.mark.django_db
def test_claiming_again_gives_the_same_devices() -> None:
    node = make_serving_node()
    for _ in range(2):
        devices_claim(holder="replica:a", node=node, kind="CPU", count=1, memory_bytes=GIB)
    assert DeviceLease.objects.filter(holder="replica:a").count() == 1


@pytest.mark.django_db
def test_a_device_that_another_process_uses_is_not_given() -> None:
    node = make_serving_node()
    make_serving_device(node=node, is_clean=False)
    with pytest.raises(NoRoom):
        devices_claim(holder="replica:a", node=node, kind="H100", count=1, memory_bytes=GIB)


STRANGER = {"pid": 12, "name": "python3", "user": "root", "held_bytes": 8 * GIB}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ({"is_clean": False, "used_by": [STRANGER]},
         "GPU 1 is in use by `python3` (process 12 of `root`, 8.0 GiB), which Enginehouse did"),
        ({"used_bytes": 70 * GIB},
         "70.0 GiB of GPU 1 are held, and this host shows no process that holds them."),
        ({"is_clean": False}, "GPU 1 does not tell who is on it."),
    ],
)  # fmt: skip
def test_who_or_what_is_on_a_device_that_nobody_claimed_is_told(
    seen: dict[str, Any], words: str
) -> None:
    node = make_serving_node()
    device = make_serving_device(node=node, **seen)
    body = {"node": node, "kind": "H100", "count": 1, "memory_bytes": GIB}
    with pytest.raises(NoRoom, match=re.escape(words)) as refused:
        devices_claim(holder="replica:a", **body)
    assert (refused.value.is_used_by_others, refused.value.is_hopeless) == (True, False)
    Device.objects.filter(id=device.id).update(is_clean=True, used_by=[], used_bytes=GIB)
    assert devices_claim(holder="replica:a", **body)


@pytest.mark.django_db
def test_what_a_holder_uses_of_its_device_is_nobody_elses() -> None:
    node = make_serving_node()
    device = make_serving_device(node=node)
    body = {"node": node, "kind": "H100", "count": 1, "memory_bytes": GIB}
    devices_claim(holder="replica:a", **body)
    Device.objects.filter(id=device.id).update(used_bytes=70 * GIB)
    assert devices_claim(holder="replica:a", **body) == (device,)
    with pytest.raises(NoRoom, match="Held by `replica:a`") as refused:
        devices_claim(holder="replica:b", **body)
    assert not refused.value.is_used_by_others


@pytest.mark.django_db(transaction=True)
def test_of_two_claims_at_once_one_wins() -> None:
    node = make_serving_node()
    make_serving_device(node=node)
    won: list[str] = []

    def claim(holder: str) -> None:
        try:
            devices_claim(holder=holder, node=node, kind="H100", count=1, memory_bytes=GIB)
            won.append(holder)
        except NoRoom:
            pass
        finally:
            connection.close()

    threads = [threading.Thread(target=claim, args=(f"replica:{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert DeviceLease.objects.count() == 1
