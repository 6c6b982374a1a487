"""The client of each example, run as it is against an engine on the CPU."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import DEADLINE_SECONDS
from tests.workers.engine.pooling.encoders import make_encoder, write_sentence_files
from tests.workers.runtimes.native.server import EngineServer

pytestmark = [pytest.mark.engine, pytest.mark.process]
FOLDER = Path(__file__).resolve().parents[2] / "examples"
PRINTED = {
    "cpu_chat": r".+",
    "large_model_chat": r".*\n\d+ tokens\n",
    "code_with_lookahead": r".+",
    "structured_output": r"(billing|network|other), (urgent|can wait)\n",
    "function_calling": r"track_parcel\(\{'carrier': '(north|south)'\}\)\n",
    "many_at_once": r"Oslo: .*Perth: .*",
}
"""What each prints, whatever a model without any knowledge writes."""


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineServer]:
    base = tmp_path_factory.mktemp("embedder")
    folder = make_encoder("Bert", base / "model")
    write_sentence_files(folder, {"pooling_mode_mean_tokens": True})
    with EngineServer(folder, log=base / "engine.log") as server:
        yield server


@pytest.mark.parametrize("name", PRINTED)
def test_a_client_prints_what_the_model_answers(name: str, indifferent: EngineServer) -> None:
    assert re.fullmatch(PRINTED[name], _run(name, indifferent), re.DOTALL)


def test_the_client_of_the_embedder_prints_the_nearest_text(embedder: EngineServer) -> None:
    assert re.fullmatch(r"-?\d\.\d{3} (The engine|Bread).+\n", _run("embeddings", embedder))


def _run(name: str, server: EngineServer) -> str:
    ran = subprocess.run(
        [sys.executable, str(FOLDER / name / "client.py")],
        env={
            "PATH": os.environ["PATH"],
            "ENGINEHOUSE_ENDPOINT": f"{server.url}/v1",
            "ENGINEHOUSE_API_KEY": "any",
        },
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
