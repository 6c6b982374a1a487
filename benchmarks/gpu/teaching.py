"""SmolLM2 taught to call tools and to write small JSON, for clients that ask for both.

    python -m benchmarks.gpu.teaching SMOLLM2_FOLDER FOLDER [--device cuda] [--steps 160]

Its own template passes tools over, and at its size it calls none. The lessons are made up here, of
functions, towns and people that the clients do not name; the template is of Hermes' form.
"""

import argparse
import itertools
import json
import random
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

TEMPLATE = """\
{%- set first = messages[0]['content'] if messages[0]['role'] == 'system' else \
'You are a helpful AI assistant named SmolLM, trained by Hugging Face' -%}
<|im_start|>system
{{ first }}
{%- if tools %}

You may call these functions:
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
Write each call as
<tool_call>
{"name": <name>, "arguments": <object>}
</tool_call>
{%- endif %}<|im_end|>
{% for message in messages %}
{%- if message['role'] != 'system' -%}
<|im_start|>{{ message['role'] }}
{{ message['content'] or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": {{ call.function.name | tojson }}, "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
BATCH = 8
RATE = 1e-4
_TOWNS = (
    "Lisbon",
    "Oslo",
    "Perth",
    "Nairobi",
    "Quito",
    "Turin",
    "Leeds",
    "Osaka",
    "Denver",
    "Graz",
)
_PEOPLE = ("Mary", "Ahmed", "Ines", "Tom", "Yuki", "Olga", "Pedro", "Grace", "Nils", "Amara")
_TASKS = ("Send the invoice to the customer", "Water the plants", "Book a room for the meeting",
          "Repair the printer", "Call the supplier")  # fmt: skip
_DAYS = ("Monday", "tomorrow", "the end of May", "Thursday", "next week")
_PLAIN = {
    "What is the capital of France?": "The capital of France is Paris.",
    "Write a poem about the sea.": "The sea is wide, the sea is deep.\nIt sings to sleep.",
    "Explain gravity in simple terms.": "Gravity pulls things with mass towards each other. It is "
    "why an apple falls and why the moon stays near the earth.",
    "Say hello in one short sentence.": "Hello, it is good to see you.",
}
_FUNCTIONS = {
    "get_weather": ("location", "What's the weather like in {}?", "Is it raining in {} now?"),
    "find_hotel": ("town", "Find me a hotel in {}.", "Where can I sleep in {}?"),
    "local_time": ("city", "What time is it in {}?", "Tell me the time in {}."),
}

Lesson = tuple[list[dict[str, Any]], list[dict[str, Any]] | None, str]
"""What is asked, with which tools, and what is to be answered."""


def main() -> int:
    """Write the taught checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=160)
    options = parser.parse_args()
    report = teach(options.source, options.folder, device=options.device, steps=options.steps)
    print(json.dumps(report))
    return 0


def teach(source: Path, folder: Path, *, device: str, steps: int) -> dict[str, float]:
    """Return the loss of the first and of the last step; the folder gets the checkpoint."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(source)
    tokenizer.chat_template = TEMPLATE
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32).to(device)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.0)
    shuffled = _forever(lessons())
    losses = []
    for _ in range(steps):
        rows = [_row(tokenizer, next(shuffled)) for _ in range(BATCH)]
        loss = model(**_batch(rows, device)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(round(loss.item(), 4))
    _save(model.to(torch.bfloat16), source, folder)
    return {"steps": steps, "first_loss": losses[0], "last_loss": losses[-1]}


def lessons() -> list[Lesson]:
    """Return every lesson, always the same."""
    return [*_calls(), *_people(), *_tasks(), *_plain()]


def tool(name: str, argument: str) -> dict[str, Any]:
    """Return a function of one text argument as clients describe it."""
    properties = {argument: {"type": "string", "description": "Name of the place"}}
    schema = {"type": "object", "properties": properties, "required": [argument]}
    about = f"{name.replace('_', ' ').capitalize()} for a place"
    return {
        "type": "function",
        "function": {"name": name, "description": about, "parameters": schema},
    }


def _calls() -> Iterator[Lesson]:
    for (name, (argument, *questions)), town in itertools.product(_FUNCTIONS.items(), _TOWNS):
        for question in questions:
            call = json.dumps({"name": name, "arguments": {argument: town}})
            yield (
                _asked(question.format(town)),
                [tool(name, argument)],
                (f"<tool_call>\n{call}\n</tool_call>"),
            )


def _people() -> Iterator[Lesson]:
    for number, name in enumerate(_PEOPLE):
        email, age = f"{name.lower()}@example.org", 21 + 4 * number
        text = f"{name} is {age} years old and their email is {email}"
        answer = json.dumps({"name": name, "age": age, "email": email})
        yield _asked(f"Extract user info from: {text}"), None, answer


def _tasks() -> Iterator[Lesson]:
    for task, day in itertools.product(_TASKS, _DAYS):
        answer = {"title": task, "priority": "medium", "due_date": day,
                  "description": f"{task} by {day}."}  # fmt: skip
        yield _asked(f"Create a task for: {task} by {day}"), None, json.dumps(answer)


def _plain() -> Iterator[Lesson]:
    for question, answer in _PLAIN.items():
        yield from [(_asked(question), None, answer)] * 3


def _asked(question: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": question}]


def _forever(found: Sequence[Lesson]) -> Iterator[Lesson]:
    source = random.Random(0)
    while True:
        yield from source.sample(found, len(found))


def _row(tokenizer: Any, lesson: Lesson) -> tuple[list[int], int]:
    """Return the tokens of a lesson, and how many of them are asked and not to be learnt."""
    messages, tools, answer = lesson
    apply_chat_template = tokenizer.apply_chat_template(
        messages, tools=tools, add_generation_prompt=True, tokenize=False
    )
    prompt = tokenizer(apply_chat_template, add_special_tokens=False).input_ids
    return prompt + tokenizer(f"{answer}<|im_end|>", add_special_tokens=False).input_ids, len(
        prompt
    )


def _batch(rows: Sequence[tuple[list[int], int]], device: str) -> dict[str, "torch.Tensor"]:
    import torch

    longest = max(len(tokens) for tokens, _ in rows)
    ids, mask, labels = [], [], []
    for tokens, request in rows:
        left = [0] * (longest - len(tokens))
        ids.append(tokens + left)
        mask.append([1] * len(tokens) + left)
        labels.append([-100] * request + tokens[request:] + [-100] * len(left))
    named = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    return {name: torch.tensor(each, device=device) for name, each in named.items()}


def _save(model: Any, source: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    for path in source.iterdir():
        if path.name.startswith("tokenizer") or path.name == "generation_config.json":
            shutil.copyfile(path, folder / path.name)
    (folder / "chat_template.jinja").write_text(TEMPLATE)


if __name__ == "__main__":
    sys.exit(main())
