"""Plans a chat: its prompt, what holds its answer, and who reads it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from workers.engine.engine import Engine
from workers.engine.errors import RequestRefused
from workers.engine.grammar import Grammar
from workers.engine.server.constraints import compile_constraint
from workers.engine.server.delta import PlainReader, Reader
from workers.engine.server.fields import ChatFields
from workers.engine.server.tools.dialects import HERMES, Dialect, choose_dialect
from workers.engine.server.tools.fields import Function, NamedChoice
from workers.engine.server.tools.forced import call_grammar
from workers.engine.server.tools.generic import generic_messages
from workers.engine.server.tools.reader import THINK, THINK_END, ChatReader

UNSUPPORTED = "unsupported_parameter"


@dataclass(frozen=True, kw_only=True)
class ChatPlan:
    """What one chat request asks of the engine, sampling apart."""

    prompt: list[int]
    grammar: Grammar | None
    make_reader: Callable[[], Reader]
    shows_special_tokens: bool


def plan_chat(engine: Engine, fields: ChatFields) -> ChatPlan:
    """Render, choose the dialect and compile. Raises: `RequestRefused`."""
    functions = _offered(fields)
    is_generic = _is_generic(engine, fields, functions)
    dialect = _dialect(engine, is_generic=is_generic) if functions else None
    text = _rendered(engine, fields, functions, is_generic=is_generic)
    grammar = _grammar(engine, fields, functions, dialect, is_generic=is_generic)
    thinks = THINK_END in engine.codec.chat_template
    is_thinking = thinks and text.rstrip().endswith(THINK)
    if is_thinking and grammar is not None:
        end = engine.codec.token_of(THINK_END)
        is_thinking = end is not None
        grammar = grammar if end is None else grammar.copy(starts_after=end)
    if dialect is None and not thinks:
        make_reader: Callable[[], Reader] = PlainReader
    else:
        make_reader = partial(
            ChatReader, dialect, thinks=thinks, is_thinking=is_thinking,
            tool_names=[one.name for one in functions],
            is_parallel=fields.parallel_tool_calls is not False,
        )  # fmt: skip
    markers = (*(dialect.markers if dialect else ()), *((THINK, THINK_END) if thinks else ()))
    return ChatPlan(
        prompt=engine.codec.encode_rendered(text),
        grammar=grammar,
        make_reader=make_reader,
        shows_special_tokens=any(one in engine.codec.special_tokens for one in markers),
    )


def _offered(fields: ChatFields) -> list[Function]:
    """The functions that may be called: all of them, the named one, or none."""
    functions = [tool.function for tool in fields.tools or ()]
    choice = fields.tool_choice
    if choice in (None, "auto", "none"):
        return [] if choice == "none" else functions
    if not functions:
        raise RequestRefused(
            "`tool_choice` wants a call, but `tools` is empty.", field="tool_choice"
        )
    if isinstance(choice, NamedChoice):
        named = [one for one in functions if one.name == choice.function.name]
        if not named:
            raise RequestRefused(
                f"`tool_choice` names `{choice.function.name}`; `tools` has "
                f"{', '.join(f'`{one.name}`' for one in functions)}.",
                field="tool_choice.function.name",
            )
        return named
    return functions


def _is_generic(engine: Engine, fields: ChatFields, functions: Sequence[Function]) -> bool:
    """Whether the prompt about tools must be ours. Raises: `RequestRefused` where it may not."""
    about_tools = [at for at, one in enumerate(fields.messages) if one.is_about_tools]
    if engine.codec.renders_tools or not (functions or about_tools):
        return False
    if engine.settings.generic_tools:
        return True
    field = "tools" if functions else f"messages.{about_tools[0]}.role"
    raise RequestRefused(
        f"`{field}` is about tool calls, which this checkpoint's chat template does not render. "
        "Serve a checkpoint that was trained for tools, or deploy with "
        "`enginehouse.generic_tools: true`.",
        field=field,
        code=UNSUPPORTED,
    )


def _dialect(engine: Engine, *, is_generic: bool) -> Dialect:
    dialect = HERMES if is_generic else choose_dialect(engine.codec.chat_template)
    if dialect is None:
        raise RequestRefused(
            "`tools`: the calls that this checkpoint's chat template teaches are in none of the "
            "forms that the engine reads: Hermes, Llama 3, Mistral, DeepSeek, pythonic.",
            field="tools",
            code=UNSUPPORTED,
        )
    return dialect


def _rendered(
    engine: Engine, fields: ChatFields, functions: Sequence[Function], *, is_generic: bool
) -> str:
    options = fields.chat_template_kwargs or {}
    if is_generic:
        return engine.codec.render_chat(generic_messages(fields.messages, functions), options)
    tools = [tool.model_dump(exclude_none=True) for tool in fields.tools or ()]
    messages = [message.to_template() for message in fields.messages]
    return engine.codec.render_chat(messages, options, tools=tools if functions else None)


def _grammar(
    engine: Engine,
    fields: ChatFields,
    functions: Sequence[Function],
    dialect: Dialect | None,
    *,
    is_generic: bool,
) -> Grammar | None:
    """What holds the answer: its schema, the form of a forced call, or either of the two."""
    constraint = compile_constraint(engine.grammars, fields)
    if dialect is None:
        return constraint
    for at, tool in enumerate(fields.tools or ()):
        if tool.function.parameters is not None:
            field = f"tools.{at}.function.parameters"
            engine.grammars.compile(tool.function.parameters, field=field)
    # A model that never saw tools calls none by itself; once it was answered it may speak.
    may_speak = is_generic and fields.messages[-1].role == "tool"
    is_forced = fields.tool_choice not in (None, "auto") or (is_generic and not may_speak)
    if not is_forced and (constraint is None or is_generic):
        return constraint
    is_single = isinstance(fields.tool_choice, NamedChoice) or is_generic
    text = call_grammar(
        dialect, functions, special_tokens=engine.codec.special_tokens,
        is_parallel=fields.parallel_tool_calls is not False and not is_single,
    )  # fmt: skip
    calls = engine.grammars.compile_lark(text, field="tools")
    if is_forced or constraint is None:
        return calls
    return engine.grammars.either(calls, constraint, field="tools")
