"""The real hub client against a loopback hub on its bad days, and what its tracebacks mean."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.domain.failures import Blame
from tests.hub_server import HubServer, Trouble
from tests.workers.build_steps.provoking import explained

CONFIG = {"config.json": b"{}", "model.safetensors": b"x" * 64}
Ask = Callable[[HubServer, Path], Any]


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as started:
        started.add("org/open", CONFIG)
        started.add("org/gated", CONFIG, gated=True, readers={"hf_good"})
        yield started


def file_of(repo: str, path: str = "config.json", **choices: Any) -> Ask:
    def ask(hub: HubServer, folder: Path) -> None:
        from huggingface_hub import hf_hub_download

        target: dict[str, Any] = {"token": False, "local_dir": folder} | choices
        hf_hub_download(repo, path, endpoint=hub.url, **target)

    return ask


def info_of(repo: str, trouble: Trouble | None = None) -> Ask:
    def ask(hub: HubServer, _folder: Path) -> None:
        from huggingface_hub import HfApi

        if trouble is not None:
            hub.troubles["info"] = trouble
        HfApi(endpoint=hub.url, token=False).model_info(repo)

    return ask


def locally_only(_hub: HubServer, folder: Path) -> None:
    from huggingface_hub import snapshot_download

    snapshot_download("org/open", cache_dir=folder, local_files_only=True)


ASKED = [
    ("EHF-GATED", file_of("org/gated"), Blame.CONFIGURATION),
    ("EHF-NOT-FOUND", file_of("org/absent"), Blame.CONFIGURATION),
    ("EHF-REVISION", file_of("org/open", revision="v9"), Blame.CONFIGURATION),
    ("EHF-ENTRY", file_of("org/open", "tokenizer.model"), Blame.CHECKPOINT),
    ("EHF-RATE-LIMIT", info_of("org/open", Trouble(status=429)), Blame.MACHINE),
    ("EHF-UNAVAILABLE", info_of("org/open", Trouble(status=500)), Blame.MACHINE),
    ("EHF-TOKEN", info_of("org/open", Trouble(status=401)), Blame.CONFIGURATION),
    ("EHF-OFFLINE-MODE", locally_only, Blame.MACHINE),
]


@pytest.mark.parametrize(("code", "ask", "blame"), ASKED, ids=[each[0] for each in ASKED])
def test_what_the_hub_client_raises_is_explained(
    code: str, ask: Ask, blame: Blame, hub: HubServer, tmp_path: Path
) -> None:
    failure = explained(lambda: ask(hub, tmp_path), step="fetch")
    assert (failure.code, failure.blame) == (code, blame), failure.detail
    assert "{" not in failure.sentence
