"""Every block of docs/guide runs as it is written; only host and ports are those of the test."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.debian_parts import program
from tests.e2e.newcomer.conftest import Stack
from tests.one_file_at_a_time import items_at_work
from tests.waiting import DEADLINE_SECONDS

pytestmark = [pytest.mark.e2e]
ROOT = Path(__file__).resolve().parents[3]
GUIDE = ROOT / "docs" / "guide"
SERVED = {
    "first_model_on_a_cpu": "first-model",
    "from_a_hosted_product": "from-hosted",
    "from_vllm": "from-vllm",
}
"""Each chapter, and how the name of the model that it leaves behind begins."""
NOT_RUN = {
    ("first_model_on_a_cpu", "starts the installation that all other blocks talk to"),
    (
        "first_model_on_a_cpu",
        "turns 135 million parameters into a folder, as the demonstration does in its own test",
    ),
}
FENCE = re.compile(r"(?:<!-- not run: (.+?) -->\n)?^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PYTHON = "\npython3 - <<'END_OF_BLOCK'\n{}END_OF_BLOCK\n"


@dataclass(frozen=True, kw_only=True)
class Block:
    """One block of code in a chapter."""

    language: str
    text: str
    why_not: str
    """Why it is not run, as the comment above it says."""


def blocks(chapter: str) -> Iterator[Block]:
    for why_not, language, text in FENCE.findall((GUIDE / f"{chapter}.md").read_text()):
        yield Block(language=language, text=text, why_not=why_not)


def script(chapter: str, stack: Stack) -> str:
    """Return the blocks one after another, as they would be pasted."""
    pasted = [
        PYTHON.format(block.text) if block.language == "python" else block.text
        for block in blocks(chapter)
        if not block.why_not
    ]
    services = stack.here.services
    return (
        "\n".join(pasted)
        .replace("http://127.0.0.1:8000", services.public_url)
        .replace("http://127.0.0.1:8001", services.gateway_url)
    )


@dataclass(frozen=True, kw_only=True)
class Pasted:
    """A shell that a chapter's blocks were pasted into."""

    shell: subprocess.Popen[bytes]
    output: Path


@pytest.fixture(scope="module")
def pasted(
    request: pytest.FixtureRequest, stack: Stack, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Pasted]]:
    """All chapters of this run at once: while one waits for an engine, another computes."""
    answers = {each.callspec.params.get("chapter") for each in items_at_work(request.session)
             if hasattr(each, "callspec")}  # fmt: skip
    program("curl")
    with ExitStack() as running:
        yield {
            chapter: running.enter_context(paste(chapter, stack, tmp_path_factory.mktemp(chapter)))
            for chapter in SERVED
            if chapter in answers
        }


@contextmanager
def paste(chapter: str, stack: Stack, folder: Path, *, times: int = 1) -> Iterator[Pasted]:
    python = str(Path(sys.executable).parent)
    output = folder / "output.txt"
    with (
        output.open("wb") as file,
        subprocess.Popen(
            ["bash", "-euo", "pipefail", "-c", "\n".join([script(chapter, stack)] * times)],
            cwd=ROOT,
            env=os.environ
            | {
                "DATA_DIR": str(stack.here.folder),
                "TMPDIR": str(folder),
                "PATH": f"{python}:{os.environ['PATH']}",
            },
            stdout=file,
            stderr=subprocess.STDOUT,
        ) as shell,
    ):
        try:
            yield Pasted(shell=shell, output=output)
        finally:
            shell.kill()


@pytest.mark.parametrize(
    "chapter",
    [
        "first_model_on_a_cpu",
        pytest.param("from_a_hosted_product", marks=pytest.mark.long),
        pytest.param("from_vllm", marks=pytest.mark.long),
    ],
)
def test_a_chapter_ends_with_an_answer(
    chapter: str, stack: Stack, pasted: dict[str, Pasted]
) -> None:
    ran = pasted[chapter]
    with suppress(subprocess.TimeoutExpired):
        ran.shell.wait(3 * DEADLINE_SECONDS)
    text = ran.output.read_text(encoding="utf-8", errors="replace")
    assert ran.shell.returncode == 0, text
    assert "The build succeeded" in text
    assert models_of(chapter, stack)


@pytest.mark.long
def test_a_chapter_can_be_pasted_twice_into_one_shell(stack: Stack, tmp_path: Path) -> None:
    chapter = "first_model_on_a_cpu"
    before = len(models_of(chapter, stack))
    with paste(chapter, stack, tmp_path, times=2) as ran, suppress(subprocess.TimeoutExpired):
        ran.shell.wait(6 * DEADLINE_SECONDS)
    text = ran.output.read_text(encoding="utf-8", errors="replace")
    assert ran.shell.returncode == 0, text
    assert len(models_of(chapter, stack)) == before + 2


def models_of(chapter: str, stack: Stack) -> list[str]:
    """Return the names of the models that a chapter has left behind."""
    names = [each["name"] for each in stack.here.get("models")["models"]]
    return [name for name in names if name.startswith(f"{SERVED[chapter]}-")]


def test_only_what_says_why_is_left_out() -> None:
    assert {path.stem for path in GUIDE.glob("*.md")} == SERVED.keys()
    rows = [(chapter, block) for chapter in SERVED for block in blocks(chapter)]
    assert {block.language for _, block in rows} == {"sh", "python"}
    assert {(chapter, block.why_not) for chapter, block in rows if block.why_not} == NOT_RUN
    for chapter in SERVED:
        text = (GUIDE / f"{chapter}.md").read_text()
        assert len(list(blocks(chapter))) * 2 == len(re.findall(r"^```", text, re.MULTILINE))
