"""Where a command is found: in scripts, wrappers, containers, compose, Kubernetes and files."""

from typing import Any

import pytest

from controlplane.domain.commands.invocation import MAX_COMMAND_BYTES, RefusedCommandError
from controlplane.domain.commands.report import CommandImport
from controlplane.domain.runtimes.importing import import_command
from controlplane.domain.spec import Spec, parse_text

IMAGE = "vllm/vllm-openai:v0.25.1"


def spec_of(text: str) -> Spec:
    spec = parse_text(import_command(text).text).spec
    assert spec is not None
    return spec


def reasons(imported: CommandImport) -> dict[str, str]:
    return {each.flag: each.reason for each in imported.not_carried}


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve owner/name --tensor-parallel-size 2 --max-model-len 4096",
        "vllm serve owner/name --tensor_parallel_size=2 --max_model_len=4096",
        "vllm serve --enable-lora owner/name -tp 2 --max-model-le 4096",
        "vllm serve owner/name -tp=2 --max-model-len '4096' > log.txt 2>&1 &",
        "vllm serve owner/name \\\n  -tp2 \\\n  --max-model-len \"4096\"  # long enough\n",
        "vllm serve owner/name \\  \n  -tp 2 \\\n# not this\n  --max-model-len 4096 | tee log",
        "vllm serve owner/name \\\n  -tp 2 \\  # GPUs\n  # --quantization fp8 \\\n"
        "  --max-model-len 4096",
        "vllm serve owner/name `\r\n  -tp 2 `\r\n  --max-model-len 4096",
        "vllm serve owner/name ^\n  -tp 2 ^\n  --max-model-len 4096\n",
        "[Service]\nExecStart=-/usr/bin/vllm serve owner/name -tp 2 --max-model-len 4096\n",
        "```bash\n$ vllm serve owner/name -tp 2 --max-model-len 4096\n```",
        "vllm serve owner/name –tensor-parallel-size 2 —max-model-len “4096”",
        "FOO=bar CUDA_VISIBLE_DEVICES=0,1 nohup sudo -E vllm serve owner/name -tp 2 "
        "--max-model-len 4096 &",
        "cd /srv && source venv/bin/activate; exec vllm serve owner/name -tp 2 --max-model-len 4k6"
        .replace("4k6", "4096"),
        "TP=2\nexport LEN=4096\nvllm serve owner/name -tp $TP --max-model-len ${LEN}",
        "vllm serve owner/name -tp ${TP:-2} --max-model-len ${LEN:-${OTHER:-4096}}",
        "python3 -m vllm.entrypoints.openai.api_server --model owner/name -tp 2 "
        "--max-model-len 4096",
        "/opt/venv/bin/vllm serve --model owner/name -tp 2 --max-model-len 4096",
        "uv run --with vllm vllm serve owner/name -tp 2 --max-model-len 4096",
        "bash -lc 'vllm serve owner/name -tp 2 --max-model-len 4096'",
        f"docker run --gpus all -d --name vllm -p 8000:8000 {IMAGE} --model owner/name -tp 2 "
        "--max-model-len 4096",
        f"podman run --rm --entrypoint vllm {IMAGE} serve owner/name -tp 2 --max-model-len 4096",
        f"docker run {IMAGE} bash -c 'pip list && vllm serve owner/name -tp 2 "
        "--max-model-len 4096'",
        "docker exec -it box vllm serve owner/name -tp 2 --max-model-len 4096",
        "kubectl exec pod -- vllm serve owner/name -tp 2 --max-model-len 4096",
        "--model owner/name --tensor-parallel-size 2 --max-model-len 4096",
        '["vllm", "serve", "owner/name", "-tp", "2", "--max-model-len", "4096"]',
        "- --model=owner/name\n- --tensor-parallel-size=2\n- --max-model-len 4096\n",
        f"image: {IMAGE}\ncommand: --model owner/name -tp 2 --max-model-len 4096\n",
        f"services:\n  a:\n    image: {IMAGE}\n    command: [--model, owner/name, -tp, '2', "
        "--max-model-len, 4096]\n",
        "kind: Service\n---\nspec:\n  containers:\n  - command: [vllm, serve]\n"
        "    args: [owner/name, -tp, '2', --max-model-len, '4096']\n",
        "args: [--model, owner/name, --tensor-parallel-size=2, --max-model-len=4096]\n",
        "start_command: sh -c \"vllm serve owner/name -tp 2 --max-model-len 4096\"\n",
        "model: owner/name\ntensor-parallel-size: 2\nmax_model_len: 4096\n",
        "cat > a.yaml <<'EOF'\nmodel: owner/name\nmax_model_len: 4096\nEOF\n"
        "vllm serve --config a.yaml -tp 2",
    ],
)  # fmt: skip
def test_the_same_command_is_found_in_every_form(text: str) -> None:
    spec = spec_of(text)
    assert spec.checkpoint is not None
    assert (spec.checkpoint.source, spec.checkpoint.repo) == ("HF", "owner/name")
    assert (spec.tensor_parallel, spec.max_seq_len) == (2, 4096)
    assert spec.runtime_name == "vllm"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("ls -la", "not a `vllm serve`"),
        ("--" * 100, "not a `vllm serve`"),
        ("--verbose --color auto", "not a `vllm serve`"),
        ("vllm serve 'owner/name", r"quote \('\) on line 1"),
        ('a\nvllm serve "owner', r'quote \("\) on line 2'),
        ("vllm serve `hostname", "backtick"),
        ("vllm serve ${MODEL", "never closed"),
        ("vllm bench serve --model x", "`vllm bench` serves no model"),
        ("python -m sglang.launch_server --model-path x", "SGLang"),
        ("docker run ghcr.io/huggingface/text-generation-inference --model-id x", "inference"),
        ("trtllm-serve disaggregated -c x.yaml", "not one server"),
        ("docker run nvcr.io/nvidia/tensorrt-llm/release:1.2 nvidia-smi", "without `trtllm-serve`"),
        ("trt_llm:\n  build: {}\n", "`config.yaml` already"),
        ("x" * (MAX_COMMAND_BYTES + 1), "larger than 64 KiB"),
        ("vllm serve \ud800", "not UTF-8"),
        ("vllm serve a\x00", "character"),
        ("A=" + "x" * 4000 + "\nvllm serve " + "$A " * 800, "variables"),
        ("vllm serve " + "a " * 2000, "words"),
    ],
)
def test_what_is_no_command_is_refused_in_plain_words(text: str, words: str) -> None:
    with pytest.raises(RefusedCommandError, match=words):
        import_command(text)


def test_a_variable_from_outside_is_asked_for_and_not_guessed() -> None:
    imported = import_command("vllm serve $MODEL -tp $TP --served-model-name {{ .Values.name }}")
    assert not imported.complete
    assert {each.field.rsplit(".", 1)[-1] for each in imported.questions} == {
        "checkpoint_repository", "tensor_parallel_count", "served_model_name", "accelerator",
    }  # fmt: skip
    assert parse_text(imported.text).spec is None


def test_the_default_of_a_variable_is_taken_and_said() -> None:
    (change,) = import_command("vllm serve a/b -tp ${TP:-2}").changed
    assert (change.value, "`$TP`" in change.reason) == (2, True)


def test_a_folder_in_a_container_becomes_the_folder_on_the_host() -> None:
    spec = spec_of(f"docker run -v /data/llm:/models:ro {IMAGE} --model /models/qwen")
    assert spec.checkpoint is not None
    assert (spec.checkpoint.source, spec.checkpoint.repo) == ("LOCAL", "/data/llm/qwen")
    assert spec.secret_names == frozenset()


@pytest.mark.parametrize(
    ("model", "source", "repo"),
    [
        ("gpt2", "HF", "gpt2"),
        ("https://huggingface.co/a/b", "HF", "a/b"),
        ("./a", "LOCAL", "./a"),
        ("a/b/c", "LOCAL", "a/b/c"),
        ("s3://bucket/a", "S3", "s3://bucket/a"),
    ],
)
def test_the_source_follows_from_how_the_model_is_written(
    model: str, source: str, repo: str
) -> None:
    checkpoint = spec_of(f"vllm serve {model}").checkpoint
    assert checkpoint is not None
    assert (checkpoint.source, checkpoint.repo) == (source, repo)


def test_a_name_that_could_be_a_folder_is_asked_about() -> None:
    imported = import_command("vllm serve models/qwen --revision v1")
    (question,) = [q for q in imported.questions if q.field.endswith("checkpoint_repository")]
    assert [choice.patch[question.field]["source"] for choice in question.choices] == [
        "HF", "LOCAL",
    ]  # fmt: skip
    assert "revision: v1" in imported.text


def test_the_devices_that_the_command_sees_are_told_beside_those_it_needs() -> None:
    for text in (
        "CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve a/b -tp 2 -pp 1",
        f"docker run --gpus 4 {IMAGE} --model a/b -tp 2",
        f"containers: [{{image: '{IMAGE}', args: [--model, a/b, -tp, '2'], "
        "resources: {limits: {nvidia.com/gpu: 4}}}]",
        f"services: {{a: {{image: '{IMAGE}', command: --model a/b -tp 2, deploy: {{resources: "
        "{reservations: {devices: [{driver: nvidia, count: 4}]}}}}}",
    ):
        (question,) = import_command(text).questions
        assert "needs 2 of one kind" in question.question
        assert "sees 4" in question.question
        patches: list[Any] = [choice.patch["resources.accelerator"] for choice in question.choices]
        assert patches[0] == "H100:2"
        assert "H100:2" in patches


def test_everything_around_the_command_is_said_to_stay_behind() -> None:
    imported = import_command(
        f"docker run --ipc=host -p 1:1 -e VLLM_USE_V1=1 {IMAGE} --model a/b --port 1 --nonsense 3 "
        "-- --data x"
    )
    left = reasons(imported)
    assert set(left) == {"VLLM_USE_V1=1", "--ipc", "-p", "--port 1", "--nonsense 3", "-- --data x"}
    assert "No setting" in left["--nonsense 3"]
