"""How long the server takes per change in the editor: post of the form in, panel out, over HTTP.

Starts an embedded PostgreSQL and the real web process on a folder of its own, signs in, and plays
changes of several fields and texts on one kept connection, facts of the checkpoint known. In turns
with them it asks the same process with a bare Django view, which loads session and user and renders
a template of that size. The bar compares CPU time, PostgreSQL's included; the times at the clock
stand beside. Exit 1 when it is missed.
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import report
from benchmarks.web_process import Spent, beside, data_folder, in_turns, servers, web_beside_bare

RIVAL = "bare_view"
BARS = {"change_p95_cpu_ratio_to_bare_view": report.at_most(6)}
CHECK = "/configs/new/check/"
TEXT = """\
model_name: llama-3.3-70b
resources:
  accelerator: A100:2
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository:
      source: HF
      repo: meta-llama/Llama-3.3-70B-Instruct
    quantization_type: fp8_kv # half the memory
    max_seq_len: 131072
    tensor_parallel_count: 2
"""
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 8192,
    "intermediate_size": 28672,
    "num_hidden_layers": 80,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
}


def main() -> int:
    """Return the exit status: 0 where the bar is met."""
    options = report.parser(__doc__, full="400 posts a kind, not 60").parse_args()
    summary = report.Report(as_json=options.json)
    with data_folder("wizard") as folder:
        figures = measure(folder, rounds=400 if options.full else 60)
    return summary.end(figures, BARS)


def measure(folder: Path, *, rounds: int) -> dict[str, Any]:
    """Return the time per change, over all changes and of each kind, beside the bare view's."""
    with servers(folder):
        token = _fill()
        with web_beside_bare() as (ours, bare):
            _sign_in(ours, token)
            bare.cookies.set("sessionid", ours.cookies["sessionid"])
            request = _asked(ours)
            size = max(len(ask().content) for ask in request.values())
            request[RIVAL] = partial(bare.get, f"/page?bytes={size}")
            spent = in_turns(request, rounds=rounds, warm_up=5)
            return _figures(spent, size, bare_size=len(request[RIVAL]().content))


def _figures(spent: Mapping[str, Spent], size: int, *, bare_size: int) -> dict[str, Any]:
    kinds = {name: each.figures() for name, each in spent.items()}
    return {
        "changes": sum(len(each.cpu) for name, each in spent.items() if name != RIVAL),
        "largest_answer_bytes": size,
        "bare_view_answer_bytes": bare_size,
        **beside(spent, RIVAL, name="change"),
        **{f"bare_view_{name}": value for name, value in kinds.pop(RIVAL).items()},
        "kinds": kinds,
    }


def _changes() -> dict[str, dict[str, str]]:
    """Return what the editor posts for each kind of change."""
    form = {"base": "0", "view": "form"}
    return {
        "number": form | {"text": TEXT, "changed": "max_seq_len", "max_seq_len": "32768"},
        "choice": form
        | {
            "text": TEXT,
            "changed": "accelerator",
            "accelerator": "H100",
            "accelerator_count": "2",
        },
        "text": form | {"text": TEXT.replace("131072", "8192"), "changed": "text"},
        "slip": form | {"text": TEXT.replace("max_seq_len", "max_seqlen"), "changed": "text"},
        "fix": form | {"text": TEXT, "changed": "", "fix": "1", "fix_code": "EH201"},
    }


def _fill() -> str:
    """Return a sign-in token of a team that knows the checkpoint and has a GPU and secrets."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.utils import timezone

    from apps.accounts.services.bootstrap import admin_ensure
    from apps.accounts.signing_in.links import sign_in_link_create
    from apps.configs.models import CheckpointRecord, FactsState
    from controlplane.domain.facts import checkpoints

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    admin = admin_ensure()
    facts = checkpoints.read(
        LLAMA,
        files=["config.json", "model.safetensors"],
        weight_bytes=141_107_412_992,
        parameters=70_553_706_496,
        has_chat_template=True,
        commit="c" * 40,
    )
    now = timezone.now()
    CheckpointRecord.objects.create(
        team=admin.team,
        source="HF",
        repo="meta-llama/Llama-3.3-70B-Instruct",
        state=FactsState.READY,
        facts=facts.model_dump(mode="json"),
        commit=facts.commit or "",
        requested_at=now,
        fetched_at=now,
    )
    return sign_in_link_create(user=admin)


def _sign_in(client: httpx.Client, token: str) -> None:
    client.get(f"/sign-in/{token}/").raise_for_status()
    csrf = {"csrfmiddlewaretoken": client.cookies["csrftoken"]}
    client.post(f"/sign-in/{token}/", data=csrf)
    client.get("/configs/new/").raise_for_status()


def _asked(client: httpx.Client) -> dict[str, Callable[[], httpx.Response]]:
    headers = {"HX-Request": "true", "X-CSRFToken": client.cookies["csrftoken"]}
    return {
        kind: partial(client.post, CHECK, data=change, headers=headers)
        for kind, change in _changes().items()
    }


if __name__ == "__main__":
    sys.exit(main())
