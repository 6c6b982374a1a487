"""Whether each LoRA adapter of an artifact is there and answers."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from controlplane.domain.runtimes import RUNTIMES
from controlplane.domain.spec import Spec
from controlplane.domain.spec.adapter_folders import adapter_folder
from workers.build_steps.question import ask, check_is_listed

log = logging.getLogger(__name__)


def ask_adapters(
    spec: Spec, model: Path, url: str, *, has_chat_template: bool
) -> list[dict[str, Any]]:
    answers = []
    for number, name in enumerate(spec.engine_build.lora_adapters or {}, start=1):
        chosen_by = _chosen_by(spec, model, url, name, number)
        answer = ask(url, has_chat_template=has_chat_template, chosen_by=chosen_by)
        log.info("adapter %s answered %r", name, answer.text)
        answers.append(
            {
                "name": name,
                "answer": answer.text,
                "first_token_seconds": answer.first_token_seconds,
            }
        )
    return answers


def _chosen_by(spec: Spec, model: Path, url: str, name: str, number: int) -> Mapping[str, Any]:
    runtime, folder = RUNTIMES[spec.runtime_name], adapter_folder(str(model), name)
    if chosen_by := runtime.adapter_choice(name, number, folder):
        return chosen_by
    check_is_listed(url, name)
    return {"model": name}
