"""What the documents offer for pasting: refusals are shown, and nothing real is written over."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.dashboard.rest_reference.operations import operations
from tests.debian_parts import program
from tests.factories import make_api_key, make_team
from tests.waiting import DEADLINE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")]
CHAPTERS = sorted(ROOT.glob("docs/guide/*.md"))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HELPERS = re.compile(r"^(?:call|field)\(\) \{.*?^\}|^as_text\(\) .*?$", re.DOTALL | re.MULTILINE)


def blocks() -> Iterator[tuple[str, str]]:
    """Yield each block of a shell, with the page that it stands on."""
    for page in PAGES:
        for language, text in FENCE.findall(page.read_text()):
            if language in ("", "sh", "bash", "console"):
                yield page.name, text


def test_no_block_writes_over_a_key_that_the_shell_has() -> None:
    set_anew = [
        (page, line)
        for page, text in blocks()
        for line in re.findall(r"^.*_API_KEY=.*$", text, re.MULTILINE)
        if not re.search(r"_API_KEY=\$\{\w+_API_KEY:[-?]", line)
    ]
    assert set_anew == []


def test_no_block_writes_over_a_secret_that_is_in_use() -> None:
    stored = [(page, text) for page, text in blocks() if '/v1/secrets"' in text and "value" in text]
    assert len(stored) == 2
    for page, text in stored:
        assert '"name": "example_' in text or "${HF_TOKEN:?" in text, page
    example = operations()["secrets_post"].request
    assert example is not None
    assert example.example["name"].startswith("example_")


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_chapter_names_what_it_makes_anew_each_time(chapter: Path) -> None:
    text = chapter.read_text()
    assert "export NAME=" in text
    assert "$(date +%s)" in text
    assert re.findall(r"as_text name (\S+) <", text) == ['"$NAME"']
    assert re.findall(r'call models -d "\{\\"name\\": \\"([^\\]+)\\"', text) == ["$NAME"]


def test_the_chapters_have_the_same_helpers() -> None:
    outcome = [dict.fromkeys(HELPERS.findall(path.read_text())) for path in CHAPTERS]
    assert len(outcome[0]) == 3
    assert all(each == outcome[0] for each in outcome)


@pytest.mark.django_db(transaction=True)
def test_the_helpers_show_the_body_of_a_refusal_and_end_the_line(live_server: Any) -> None:
    program("curl")
    helpers = "\n".join(HELPERS.findall(CHAPTERS[0].read_text()))
    ran = subprocess.run(
        [
            "bash",
            "-uo",
            "pipefail",
            "-c",
            f'{helpers}\nID=$(call configs -d \'{{"nmae": "x"}}\' | field id) || '
            'echo "ended with $?, id=$ID"',
        ],
        env={
            "PATH": "/usr/bin:/bin:/usr/local/bin",
            "ENGINEHOUSE_URL": live_server.url,
            "ENGINEHOUSE_API_KEY": make_api_key(team=make_team()),
        },
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    assert "did you mean `name`?" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == "ended with 1, id=\n"
