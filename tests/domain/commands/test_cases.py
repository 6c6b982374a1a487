"""Every public command line of the data: imported as expected, and written back as it was meant."""

import json
from typing import Any

import pytest

from controlplane.domain.commands.report import CommandImport
from controlplane.domain.runtimes.exporting import ExportFormat, export_config
from controlplane.domain.runtimes.importing import import_command
from controlplane.domain.spec import parse_text
from tests.domain.commands.command_cases import as_command, command_cases
from tests.domain.commands.golden import FILE, summaries

CASES = command_cases()
_IN_V2 = {
    "tensor_parallel_count": "tensor_parallel_size",
    "pipeline_parallel_count": "pipeline_parallel_size",
    "enable_chunked_context": "enable_chunked_prefill",
    "kv_cache_free_gpu_mem_fraction": "free_gpu_memory_fraction",
    "speculator": "speculative_config",
    "quantization_type": "dtype",
}
"""What says the same in the v2 stack."""
IDS = [facts["id"] for facts in CASES]


def _flags(imported: CommandImport) -> str:
    lines = (*imported.mapped, *imported.changed, *imported.questions, *imported.not_carried)
    return " ".join([each.flag or "" for each in lines] + [s.found_in for s in imported.secrets])


def test_every_case_is_imported_as_the_kept_summary_says() -> None:
    assert summaries() == json.loads(FILE.read_text())


@pytest.mark.parametrize("facts", CASES, ids=IDS)
def test_no_flag_of_a_case_is_lost_in_silence(facts: dict[str, Any]) -> None:
    flags = _flags(import_command(as_command(facts)))
    assert [flag for flag in facts["flags"] if flag not in flags] == []


@pytest.mark.parametrize("facts", CASES, ids=IDS)
def test_what_a_case_is_known_to_map_to_is_set_or_asked(facts: dict[str, Any]) -> None:
    imported = import_command(as_command(facts))
    lines = (*imported.mapped, *imported.changed, *imported.questions)
    fields = {each.field.rsplit(".", 1)[-1] for each in lines}
    fields |= {"secret"} if imported.secrets else set()
    if facts["flags"].get("--max-model-len") == "auto":
        fields.add("max_seq_len")
    expected = {name.split()[0].rsplit(".", 1)[-1] for name in facts["mapped"]}
    assert {name for name in expected if not {name, _IN_V2.get(name)} & fields} == set()


@pytest.mark.parametrize("facts", CASES, ids=IDS)
def test_an_exported_import_imports_to_the_same_config(facts: dict[str, Any]) -> None:
    imported = import_command(as_command(facts))
    if not imported.complete:
        assert any(each.field.endswith("checkpoint_repository") for each in imported.questions)
        return
    line = export_config(imported.text, ExportFormat.VLLM).text
    first, again = parse_text(imported.text).spec, parse_text(import_command(line).text).spec
    assert first is not None
    assert again is not None
    assert again.model_dump(mode="json") == first.model_dump(mode="json")
