"""A gateway whose loop hangs says where, and ends so that it can be started anew."""

import pytest

from tests.waiting import DEADLINE_SECONDS
from tests.workers.gateway.stage.connections import read_answer, request_bytes
from tests.workers.gateway.stage.gateway_process import GatewayProcess
from tests.workers.gateway.stage.scripts import answers
from workers.watchdog import EXIT_STATUS

pytestmark = pytest.mark.process


class HangingGateway(GatewayProcess):
    module = "tests.workers.gateway.stage.hanging"


def test_a_loop_that_hangs_is_told_of_and_the_next_process_serves_on(process_house):
    process_house.publish(process_house.engine(answers))
    gateway = process_house.gateway(kind=HangingGateway)
    with gateway.connect() as client:
        client.sendall(request_bytes())
        assert read_answer(client)[0] == 200
        client.sendall(b"GET /health?hang HTTP/1.1\r\nhost: g\r\n\r\n")
        assert gateway.process.wait(DEADLINE_SECONDS) == EXIT_STATUS

    log = gateway.log.read_text()
    assert "the loop has not turned for 30 s" in log
    assert "in hanging" in log, "the stack that held it up"
    gateway.start()
    with gateway.connect() as client:
        client.sendall(request_bytes())
        assert read_answer(client)[0] == 200
