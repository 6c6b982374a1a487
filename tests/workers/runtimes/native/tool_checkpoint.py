"""A tiny checkpoint whose chat template renders tools and marks reasoning, as Qwen's does."""

from pathlib import Path

from tokenizers import AddedToken, Tokenizer

from tests.tiny_checkpoint import make_tiny_checkpoint

TEMPLATE = """{%- if tools %}<|im_start|>system
# Tools
<tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
Write <tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>
{%- if message.role == 'tool' %}user
<tool_response>{{ message.content }}</tool_response>
{%- else %}{{ message.role }}
{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}{% endif %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if enable_thinking %}<think>
{% endif %}{% endif %}
{#- </think> ends what was thought #}"""
THINK_TOKENS = ("<think>", "</think>")


def make_tool_checkpoint(directory: Path) -> Path:
    """Fill `directory` with a checkpoint that is random but knows the markers as tokens."""
    make_tiny_checkpoint(directory)
    path = str(directory / "tokenizer.json")
    tokenizer = Tokenizer.from_file(path)
    tokenizer.add_tokens([AddedToken(token, special=False) for token in THINK_TOKENS])
    tokenizer.save(path)
    (directory / "chat_template.jinja").write_text(TEMPLATE)
    return directory
