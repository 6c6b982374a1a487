"""What the environment and the command line say, and what of it is never shown."""

import pytest

from controlplane.process_settings.wrong import WrongSetting
from workers.gateway.settings import read_settings


def test_a_wrong_setting_stops_the_start_and_is_named(tmp_path):
    with pytest.raises(WrongSetting, match="CONTROL_PLANE_URL"):
        read_settings([], {"DATA_DIR": str(tmp_path), "CONTROL_PLANE_URL": "localhost"})


@pytest.mark.parametrize("text", ["a day", "0", "-1", "nan", "inf"])
def test_routes_hold_for_a_number_of_hours(text):
    given = {"CONTROL_PLANE_URL": "http://x"}
    assert read_settings([], given).bounds.honour_routes_seconds == 24 * 3600
    half = read_settings([], {**given, "GATEWAY_ROUTES_HOURS": "0.5"})
    assert half.bounds.honour_routes_seconds == 1800
    with pytest.raises(WrongSetting, match=f"GATEWAY_ROUTES_HOURS: `{text}` is not"):
        read_settings([], {**given, "GATEWAY_ROUTES_HOURS": text})


def test_a_token_is_not_shown():
    given = {"CONTROL_PLANE_URL": "http://x", "ENROLLMENT_TOKEN": "secret-token"}
    settings = read_settings([], given)
    assert settings.enrollment_token == "secret-token"
    assert "secret-token" not in repr(settings)


def test_as_many_requests_wait_as_the_operator_says():
    given = {"CONTROL_PLANE_URL": "http://x"}
    assert read_settings([], given).bounds.waiting_requests == 1024
    more = read_settings([], {**given, "GATEWAY_WAITING_REQUESTS": "4000"})
    assert more.bounds.waiting_requests == 4000
    with pytest.raises(WrongSetting, match="GATEWAY_WAITING_REQUESTS: `0` is below 1"):
        read_settings([], {**given, "GATEWAY_WAITING_REQUESTS": "0"})
