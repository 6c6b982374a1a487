"""Plans a chat: its prompt, what holds its answer, and who reads it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from workers.engine.engine import Engine
from workers.engine.errors import RequestRefused
from workers.engine.grammar import Grammar
from workers.engine.server.answer_check import AnswerCheck
from workers.engine.server.constraints import compile_constraint
from workers.engine.server.fields import ChatFields
from workers.engine.server.plan import Plan
from workers.engine.server.tools.dialects import HERMES, Dialect, choose_dialect
from workers.engine.server.tools.fields import AllowedToolChoice, Function, Tool, ToolChoice
from workers.engine.server.tools.forced import call_grammar, closed_schema
from workers.engine.server.tools.generic import generic_messages
from workers.engine.server.tools.reader import THINK, THINK_END, ChatReader

UNSUPPORTED = "unsupported_parameter"


def plan_chat(engine: Engine, fields: ChatFields) -> Plan:
    """Render, choose the dialect and compile. Raises: `RequestRefused`."""
    return _Chat(engine, fields).plan()


class _Chat:
    """A chat beside what the checkpoint's template knows of tools."""

    def __init__(self, engine: Engine, fields: ChatFields) -> None:
        self._engine, self._fields = engine, fields
        self._functions = _offered(fields)
        self._is_generic = self._needs_our_prompt()
        self._dialect = self._choose_dialect() if self._functions else None

    def plan(self) -> Plan:
        codec = self._engine.codec
        text = self._rendered()
        grammar, check = self._constraints()
        thinks = THINK_END in codec.chat_template
        is_thinking = thinks and text.rstrip().endswith(THINK)
        if is_thinking and grammar is not None:
            end = codec.token_of(THINK_END)
            is_thinking = end is not None
            grammar = grammar if end is None else grammar.copy(starts_after=end)
        plan = Plan(prompts=[codec.encode_rendered(text)], grammar=grammar, check=check)
        if self._dialect is None and not thinks:
            return plan
        markers = (
            *(self._dialect.markers if self._dialect else ()),
            *((THINK, THINK_END) * thinks),
        )
        return replace(
            plan,
            shows_special_tokens=not codec.special_tokens.keys().isdisjoint(markers),
            make_reader=partial(
                ChatReader, self._dialect, thinks=thinks, is_thinking=is_thinking,
                tool_names=[one.name for one in self._functions],
                holds_to_names=isinstance(self._fields.tool_choice, AllowedToolChoice),
                is_parallel=self._fields.parallel_tool_calls,
            ),
        )  # fmt: skip

    def _needs_our_prompt(self) -> bool:
        """Whether the template says nothing of tools. Raises: `RequestRefused` if it must."""
        about_tools = [at for at, one in enumerate(self._fields.messages) if one.is_about_tools]
        if self._engine.codec.renders_tools or not (self._functions or about_tools):
            return False
        if self._engine.settings.generic_tools:
            return True
        field = "tools" if self._functions else f"messages.{about_tools[0]}.role"
        raise RequestRefused(
            f"`{field}` is about tool calls, which this checkpoint's chat template does not "
            "render. Serve a checkpoint that was trained for tools, or deploy with "
            "`enginehouse.generic_tools: true`.",
            field=field,
            code=UNSUPPORTED,
        )

    def _choose_dialect(self) -> Dialect:
        template = self._engine.codec.chat_template
        dialect = HERMES if self._is_generic else choose_dialect(template)
        if dialect is None:
            raise RequestRefused(
                "`tools`: the calls that this checkpoint's chat template teaches are in none of "
                "the forms that the engine reads: Hermes, Llama 3, Mistral, DeepSeek, pythonic.",
                field="tools",
                code=UNSUPPORTED,
            )
        return dialect

    def _rendered(self) -> str:
        messages = self._fields.messages
        if self._is_generic:
            return self._render(generic_messages(messages, self._functions))
        try:
            return self._render([message.to_template() for message in messages])
        except RequestRefused:
            if not any(message.has_odd_arguments for message in messages):
                raise
            # This template goes through the arguments by name.
            return self._render([each.to_template(wraps_arguments=True) for each in messages])

    def _render(self, messages: Sequence[Mapping[str, Any]]) -> str:
        tools = [tool.model_dump(exclude_none=True) for tool in self._fields.tools]
        is_told = self._functions and not self._is_generic
        return self._engine.codec.render_chat(
            messages, self._fields.chat_template_kwargs, tools=tools if is_told else None
        )

    def _constraints(self) -> tuple[Grammar | None, AnswerCheck]:
        """What holds the answer: its schema, the form of a forced call, or either of the two."""
        constraint = compile_constraint(self._engine.grammars, self._fields)
        check = AnswerCheck(content=constraint.unheld if constraint else None)
        is_forced = self._is_forced()
        if self._dialect is None or (not is_forced and (constraint is None or self._is_generic)):
            return constraint, check
        arguments = self._compiled_arguments()
        forced = self._forced(self._dialect, arguments)
        check = replace(check, calls={name: one.unheld for name, one in arguments.items()})
        if is_forced or constraint is None:
            return forced, check
        return self._engine.grammars.either(forced, constraint, field="tools"), check

    def _is_forced(self) -> bool:
        choice = self._fields.tool_choice
        mode = choice.allowed_tools.mode if isinstance(choice, AllowedToolChoice) else choice
        # A model that never saw tools calls none by itself; once it was answered it may speak.
        may_speak = self._is_generic and self._fields.messages[-1].role == "tool"
        return mode != "auto" or (self._is_generic and not may_speak)

    def _compiled_arguments(self) -> Mapping[str, Grammar]:
        """What holds the arguments of each function by itself, so that a refusal names the one."""
        places = {tool.function.name: at for at, tool in enumerate(self._fields.tools)}
        return {
            one.name: self._engine.grammars.compile(
                closed_schema(one), field=f"tools.{places[one.name]}.function.parameters"
            )
            for one in self._functions
        }

    def _forced(self, dialect: Dialect, arguments: Mapping[str, Grammar]) -> Grammar:
        is_single = isinstance(self._fields.tool_choice, Tool) or self._is_generic
        calls = call_grammar(
            dialect, {name: one.schema or {} for name, one in arguments.items()},
            special_tokens=self._engine.codec.special_tokens,
            is_parallel=self._fields.parallel_tool_calls and not is_single,
        )  # fmt: skip
        return self._engine.grammars.compile_lark(calls, field="tools", may_warn=True)


def _offered(fields: ChatFields) -> list[Function]:
    """The functions that may be called: all of them, those that are named, or none."""
    functions = [tool.function for tool in fields.tools]
    choice = fields.tool_choice
    if choice in ("auto", "none"):
        return [] if choice == "none" else functions
    if not functions:
        raise RequestRefused(
            "`tool_choice` asks for tools, but `tools` is empty.", field="tool_choice"
        )
    known = ", ".join(f"`{one.name}`" for one in functions)
    named = _named(choice)
    for field, name in named.items():
        if name not in (one.name for one in functions):
            raise RequestRefused(f"`{field}` is `{name}`; `tools` has {known}.", field=field)
    return [one for one in functions if one.name in named.values()] if named else functions


def _named(choice: ToolChoice) -> Mapping[str, str]:
    if isinstance(choice, Tool):
        return {"tool_choice.function.name": choice.function.name}
    tools = choice.allowed_tools.tools if isinstance(choice, AllowedToolChoice) else ()
    return {
        f"tool_choice.allowed_tools.tools.{at}.function.name": tool.function.name
        for at, tool in enumerate(tools)
    }
