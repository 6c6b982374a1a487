"""Each example has a config that the checks pass, and a client that names its model."""

import re
from pathlib import Path

import pytest

from controlplane.domain.rules import Known, Severity, examine
from controlplane.domain.rules.examples import (
    BERT,
    EVERY_KIND,
    LLAMA_8B,
    LLAMA_70B,
    QWEN2_7B,
    SMOLLM2_135M,
)

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples"
EXAMPLES = {
    "cpu_chat": SMOLLM2_135M,
    "large_model_chat": LLAMA_70B,
    "code_with_lookahead": QWEN2_7B,
    "structured_output": QWEN2_7B,
    "function_calling": LLAMA_8B,
    "many_at_once": LLAMA_8B.model_copy(update={"parameters": 3_212_749_824, "layers": 28}),
    "embeddings": BERT,
}
"""Each with what its checkpoint says of itself."""


def test_every_folder_is_an_example_of_two_files_and_on_the_page() -> None:
    folders = {each.name: sorted(file.name for file in each.iterdir() if file.is_file())
               for each in FOLDER.iterdir() if each.is_dir()}  # fmt: skip
    assert folders == {name: ["client.py", "config.yaml"] for name in EXAMPLES}
    page = (FOLDER / "README.md").read_text()
    assert set(re.findall(r"\((\w+)/config\.yaml\)", page)) == set(EXAMPLES)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_checks_let_its_config_be_built_and_have_hints_at_most(name: str) -> None:
    secrets = frozenset({"hf_access_token"})
    known = Known(checkpoint=EXAMPLES[name], secret_names=secrets, devices=EVERY_KIND)
    examination = examine((FOLDER / name / "config.yaml").read_text(), known)
    assert examination.errors == ()
    assert not examination.blocks_build
    findings = examination.report.findings
    assert [each for each in findings if each.severity is not Severity.HINT] == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_its_first_line_leads_an_editor_to_the_schema(name: str) -> None:
    first = (FOLDER / name / "config.yaml").read_text().partition("\n")[0]
    match = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert match
    assert (FOLDER / name / match[1]).resolve() == ROOT / "docs" / "config.schema.json"


@pytest.mark.parametrize("name", EXAMPLES)
def test_its_client_asks_the_model_of_its_config(name: str) -> None:
    config = (FOLDER / name / "config.yaml").read_text()
    named = re.findall(r"^model_name: (\S+)$", config, re.MULTILINE)
    assert named == re.findall(r'model="([^"]+)"', (FOLDER / name / "client.py").read_text())
