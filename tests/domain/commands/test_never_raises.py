"""Whatever is pasted, the answer is a config or a sentence; nothing raises and no secret stays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.domain.commands.invocation import RefusedCommandError
from controlplane.domain.commands.report import CommandImport
from controlplane.domain.runtimes.exporting import ExportFormat, export_config
from controlplane.domain.runtimes.importing import import_command
from controlplane.domain.runtimes.vllm.flags import READ, REASONS
from controlplane.domain.spec import parse_text
from tests.examples import examples

_WORDS = st.sampled_from(
    ["vllm", "serve", "trtllm-serve", "docker", "run", "vllm/vllm-openai", "bash", "-c", "python",
     "-m", "vllm.entrypoints.openai.api_server", "--", "-", "|", "&&", ";", "\\\n", "\n", "#", "'",
     '"', "$", "${A:-", "}", "$(", ")", "`", "{{", "}}", "<", "<<EOF", "EOF", "A=1", "A=$A$A",
     "args:", "command:", "- ", "[", "]", "{", ": ", "services:", "image: vllm", "a/b", "-tp", "2",
     "--config", "x.yaml", "> x.yaml", "cat", "tee", "/models/x", "-e", "HF_TOKEN=hf_x", "=", "."]
    + [f"--{name}" for name in sorted(READ)]
)  # fmt: skip
_TEXTS = st.lists(_WORDS | st.text(max_size=12), max_size=30).map(" ".join) | st.text(max_size=200)
_VALUES = st.sampled_from(
    ["1", "32k", "auto", "-1", "fp8", "0.5", "true", "{}", '{"method": "ngram"}', "[1]", "null",
     "a=b", "a=/p q=/r", "$X", "${X:-4}", "99999999999999999999", "nan", "1e400", "é", ""]
) | st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)  # fmt: skip
_FLAGS = st.sampled_from(sorted(READ | set(list(REASONS)[::9])))
_LINES = st.lists(st.tuples(_FLAGS, _VALUES), max_size=8)


def _imported(text: str) -> CommandImport | None:
    try:
        return import_command(text)
    except RefusedCommandError:
        return None


@examples(300)
@given(_TEXTS)
def test_any_text_is_imported_or_refused(text: str) -> None:
    imported = _imported(text)
    if imported is not None:
        json.dumps(imported.to_json())
        assert (parse_text(imported.text).spec is not None) == imported.complete


@pytest.mark.wide
@examples(200)
@given(_LINES)
def test_any_flags_and_values_are_imported_and_written_back(
    pairs: list[tuple[str, str]],
) -> None:
    items = ["vllm", "serve", "owner/name", *(word for flag, value in pairs
                                              for word in (f"--{flag}", value))]  # fmt: skip
    imported = _imported(json.dumps(items))
    assert imported is not None
    if imported.complete:
        for target in ExportFormat:
            exported = export_config(imported.text, target)
            json.dumps(exported.to_json())
        line = export_config(imported.text, ExportFormat.VLLM).text
        again = import_command(line)
        first, second = parse_text(imported.text).spec, parse_text(again.text).spec
        assert first is not None
        assert second is not None
        assert second.model_dump(mode="json") == first.model_dump(mode="json")


@examples(60)
@given(
    st.text("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789", min_size=20, max_size=40),
    st.sampled_from(
        ["HF_TOKEN={} vllm serve a/b", "vllm serve a/b --api-key {}",
         "vllm serve a/b --hf-token={}",
         "docker run -e HF_TOKEN={} vllm/vllm-openai --model a/b",
         "docker run --env MY_SECRET={} vllm/vllm-openai --model a/b --served-model-name {}",
         "export WANDB_API_KEY={}; vllm serve a/b --port {}",
         'image: vllm/vllm-openai\nargs: ["--model", "a/b", "--api-key", "{}"]',
         "model: a/b\nmax_model_len: 10\napi_key: {}\n"]
    ),
)  # fmt: skip
def test_a_secret_on_the_line_is_nowhere_in_the_answer(value: str, template: str) -> None:
    imported = _imported(template.replace("{}", value))
    assert imported is not None
    assert imported.secrets
    assert value not in json.dumps(imported.to_json())
