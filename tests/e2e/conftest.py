"""What every end-to-end test starts from."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _online() -> Iterator[None]:
    # The engine forbids the hub at its import, for its own process; installations inherit from
    # this one, which has imported it where other tests run beside these.
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):
            patch.delenv(name, raising=False)
        yield
