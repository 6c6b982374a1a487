"""What a gateway's process does beside answering: it repeats its steps, and writes a log."""

import pytest

from controlplane.processes import ports
from tests.workers.gateway.stage.gateway_process import GatewayProcess
from tests.workers.gateway.stage.routes import CHAT, KEY, METRICS_KEY
from tests.workers.gateway.stage.scripts import answers

pytestmark = pytest.mark.process


class SlippingGateway(GatewayProcess):
    module = "tests.workers.gateway.stage.slipping"


def test_neither_a_broken_sweep_nor_a_mistake_over_new_routes_ends_a_gateway(process_house, http):
    plane = process_house.plane
    process_house.publish(process_house.engine(answers))
    gateway = process_house.gateway(kind=SlippingGateway)
    good = plane.snapshot

    assert http.post(gateway.url + CHAT, content=b"{}").status_code == 200
    process_house.wait_for_log(gateway, "_sweep failed and is repeated in 1 s")
    plane.snapshot = good | {"version": 2, "note": "slip-in-read"}
    process_house.wait_for_log(gateway, "RoutesSync.run failed and is repeated in 1 s")

    assert http.post(gateway.url + CHAT, content=b"{}").status_code == 200
    process_house.publish_snapshot(good | {"version": 3})
    assert plane.applied == [1, 3]
    assert gateway.process.poll() is None


def test_a_process_tells_its_own_metrics_at_a_port_of_its_own(process_house, http):
    process_house.publish(process_house.engine(answers))
    with ports.reserved() as reserved:
        port = ports.port_of(reserved)

        class OwnPort(GatewayProcess):
            variables = {"GATEWAY_METRICS_PORT": str(port)}

        gateway = process_house.gateway(kind=OwnPort)
        http.post(gateway.url + CHAT, content=b"{}")
        bearer = {"authorization": f"Bearer {METRICS_KEY}"}
        page = http.get(f"http://127.0.0.1:{port}/metrics", headers=bearer).text

    assert 'status_class="2xx"} 1' in page


def test_no_log_holds_a_key_or_a_body(process_house, http):
    process_house.publish(process_house.engine(answers))
    gateway = process_house.gateway()
    http.post(gateway.url + CHAT, json={"messages": "very-private-words"})

    log = gateway.log.read_text()

    assert log
    assert KEY not in log
    assert "very-private-words" not in log
