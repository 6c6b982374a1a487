"""The page of nodes."""

from datetime import timedelta

import pytest

from apps.fleet.views import FEW_NODES
from controlplane import clock
from tests.apps.pages import committed_queries, queries_of, signed_in
from tests.factories import make_cast, make_device, make_lease, make_node
from tests.factories_serving import listened

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("broker")]


def test_the_page_shows_who_holds_a_device_and_who_is_silent() -> None:
    make_lease(device=make_device(node=make_node(name="alive")), holder="replica:abcde")
    make_node(name="away", last_heartbeat_at=clock.now() - timedelta(minutes=5))
    listened()
    page = signed_in(make_cast().owner).get("/nodes/").content.decode()
    assert "replica:abcde" in page
    assert page.count(">live</span>") == 1
    assert page.count(">silent</span>") == 1


def test_the_page_shows_who_is_on_a_device_that_nobody_claimed_and_beside_its_holder() -> None:
    stranger = {"pid": 12, "name": "<b>python3", "user": "root", "held_bytes": 8 << 30}
    seen = {"kind": "H100", "used_bytes": 8 << 30, "is_clean": False, "used_by": [stranger]}
    make_device(**seen)
    make_lease(device=make_device(**seen), holder="replica:abcde")
    make_device(kind="H100", used_bytes=70 << 30)
    page = signed_in(make_cast().owner).get("/nodes/").content.decode()
    assert page.count("<code>&lt;b&gt;python3</code> (process 12 of <code>root</code>") == 2
    assert "70.0 GiB of GPU 0 are held, and this host shows no process that holds them." in page


def test_what_a_node_starts_is_shown_among_all_and_on_its_own_page() -> None:
    node = make_node(runtimes=["native", "vllm"])
    browser = signed_in(make_cast().owner)
    for address in ("/nodes/", f"/nodes/{node.id}/"):
        assert "<dd><code>native, vllm</code></dd>" in browser.get(address).content.decode()


def test_the_page_of_a_node_tells_the_load_of_its_gpus_and_who_holds_them() -> None:
    node = make_node()
    gpu = {"kind": "H100", "memory_bytes": 80 << 30, "used_bytes": 40 << 30}
    make_lease(
        device=make_device(node=node, utilization_percent=93.4, **gpu), holder="replica:abcde"
    )
    page = signed_in(make_cast().owner).get(f"/nodes/{node.id}/").content.decode()
    assert "93&#8239;%" in page
    assert "<code>replica:abcde</code>" in page
    assert "1 × H100, none free; 40.0\u202fGiB of 80.0\u202fGiB used" in page


def test_the_page_takes_the_committed_number_of_queries() -> None:
    for _ in range(6):
        make_lease(device=make_device())
    assert queries_of(signed_in(make_cast().owner), "/nodes/") == committed_queries("nodes")


def test_many_nodes_are_a_line_each_but_for_those_where_somebody_else_is() -> None:
    stranger = {"pid": 12, "name": "python3", "user": "root", "held_bytes": 8 << 30}
    gpu = {"kind": "H100", "memory_bytes": 80 << 30}
    for number in range(FEW_NODES):
        make_node(name=f"empty-{number}")
    node = make_node(name="trainer")
    make_lease(device=make_device(node=node, used_bytes=40 << 30, **gpu), holder="replica:abcde")
    make_device(node=node, used_bytes=0, **gpu)
    browser = signed_in(make_cast().owner)
    page = browser.get("/nodes/").content.decode()
    assert "<summary>2 × H100, 1 free; 40.0\u202fGiB of 160\u202fGiB used</summary>" in page
    assert page.count("<summary>no GPU is there</summary>") == FEW_NODES
    assert "<details open>" not in page
    node.devices.update(used_by=[stranger], is_clean=False)
    page = browser.get("/nodes/").content.decode()
    assert page.count("<details open>") == 1
