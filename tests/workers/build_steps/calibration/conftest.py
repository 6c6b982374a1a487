"""A tokenizer, a hub and places for the tests of calibration data."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from controlplane.sources import SourceOptions
from tests.hub_server import HubServer
from tests.manual_clock import ManualClock
from tests.tiny_checkpoint import write_tokenizer
from workers.build_steps.calibration.dataset import Places

TEXT = "The capital of France is Paris, and number {} of these lines says so once more."


def lines(*rows: Any) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def texts(count: int, first: int = 0) -> list[dict[str, str]]:
    return [{"text": TEXT.format(number)} for number in range(first, first + count)]


@pytest.fixture(scope="session")
def tokenizer_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    write_tokenizer(folder)
    return folder


@pytest.fixture
def tokenizer(tokenizer_folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(tokenizer_folder)


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as server:
        yield server


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(sleeping_moves_it=True)


@pytest.fixture
def places(tmp_path: Path, hub: HubServer, clock: ManualClock) -> Places:
    options = {
        "local_checkpoint_roots": [str(tmp_path)],
        "hf_endpoint": hub.url,
        "attempts": 2,
    }
    return Places(sources=replace(SourceOptions.from_mapping(options), clock=clock), kept={})
