"""The tools: name, arguments, answer and its published schema, put together for the SDK. Work is done in `calls`, answers in `answers`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
from mcp.types import (
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
    ToolAnnotations,
)
from mcp_types.version import is_version_at_least
from pydantic import BaseModel, Field, ValidationError

from .. import schema, wire
from ..errors import DeepgrepError
from ..typed import NamedTuple
from . import answers, calls, params, text
from .answers import Answer, Setting, Step
from .budget import Json, dumped
from .calls import Call

# From this revision of the protocol on, a tool asks by an answer that the client completes, before by a request of its own.
_ASKS_BY_ANSWER = "2026-07-28"
_QUESTION = "confirm"
Ctx = Context[Any, Any]


class Spec(NamedTuple):
    """One tool. `answers` is its answer's type, that the published schema is made of."""

    name: str
    title: str
    description: str
    model: type[params.Model]
    answers: type
    work: Answer


SPECS: tuple[Spec, ...] = (
    Spec("search", "Search past conversations", text.SEARCH, params.SearchModel, schema.SearchAnswerJson, answers.search),
    Spec("read", "Read a past conversation", text.READ, params.ReadModel, schema.ReadAnswerJson, answers.read),
    Spec("recent", "List recent conversations", text.RECENT, params.RecentModel, schema.RecentAnswerJson, answers.recent),
    Spec("sources", "Say what can be searched", text.SOURCES, params.SourcesModel, schema.SourcesAnswerJson, answers.sources),
    Spec("explain", "Explain a query and its cost", text.EXPLAIN, params.ExplainModel, schema.ExplainAnswerJson, answers.explain),
)
ANNOTATIONS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)


class _Confirmation(BaseModel):
    """What a person is asked before a scope that they gave is widened."""

    confirm: bool = Field(description="yes: go on and widen the search")


class _Tool(Tool):
    """A tool whose errors are one line without values. A class, because the SDK asks a Tool to run itself."""

    async def run(self, arguments: dict[str, Any], context: Ctx, convert_result: bool = False) -> Any:
        given = {name: value for name, value in arguments.items() if value is not None}  # many clients write null for left out
        try:
            return await super().run(given, context, convert_result)
        except ToolError as error:
            raise ToolError(_said(error, self)) from None


def _said(error: ToolError, tool: Tool) -> str:
    cause = error.__cause__
    if isinstance(cause, ValidationError):
        return params.rejected(cause, tool.fn_metadata.arg_model)
    if isinstance(error, UnexpectedToolError) and not isinstance(cause, DeepgrepError):
        return f"{tool.name}: failed inside deepgrep, which is a bug worth a report; the same call without some of its arguments may do"
    return str(cause or error)


def tools(setting: Setting) -> list[Tool]:
    """The tools of a server, as the SDK takes them."""
    return [_made(spec, setting) for spec in SPECS]


def _made(spec: Spec, setting: Setting) -> Tool:
    async def fn(context: Ctx, **given: Any) -> CallToolResult | InputRequiredResult:
        return await _called(spec, setting, given, context)

    return _Tool(
        fn=fn, name=spec.name, title=spec.title, description=spec.description, parameters=input_schema(spec),
        fn_metadata=FuncMetadata(arg_model=spec.model, output_schema=output_schema(spec)), is_async=True, context_kwarg="context",
        annotations=ANNOTATIONS,
    )  # fmt: skip


def input_schema(spec: Spec) -> Json:
    """What a tool takes. An empty value stands for one that is left out, and need not be shown."""
    out = spec.model.model_json_schema(by_alias=True)
    for name, shape in out["properties"].items():
        shape.pop("title", None)
        if shape.get("default") in ("", [], 0):
            shape.pop("default")
        if "enum" in shape:
            shape["enum"] = [value for value in shape["enum"] if value != ""]
        if shape.get("minimum") in (0, 0.0) and name != "around":
            shape.pop("minimum")
    return {name: value for name, value in out.items() if name != "title"}


def output_schema(spec: Spec) -> Json:
    """What a tool answers."""
    shapes: Json = {}
    top = schema.json_schema(spec.answers, shapes, wire.SCHEMA_VERSION)
    return {**top, "$defs": dict(sorted(shapes.items()))}


async def _called(spec: Spec, setting: Setting, given: Mapping[str, Any], context: Ctx) -> CallToolResult | InputRequiredResult:
    deadline_s = given["deadline_s"] or setting.deadline_s
    work, done = spec.work, None
    if given.get("action"):
        step = await calls.run(lambda call: answers.step(given, setting, call), deadline_s, context.report_progress)
        confirmed = await _confirmed(step, context)
        if isinstance(confirmed, InputRequiredResult):
            return confirmed
        if confirmed:
            done = step.query

    def attempt(call: Call) -> str:
        if done is None:
            return dumped(work(given, setting, call))
        return dumped(answers.searched(answers.asked(done, setting, call), setting, given["max_tokens"]))

    document = await calls.run(attempt, deadline_s, context.report_progress)
    return answered(document)


def answered(document: str) -> CallToolResult:
    """An answer, as structured content and, for clients that know only text, as the same JSON."""
    import json

    return CallToolResult(content=[TextContent(type="text", text=document)], structured_content=json.loads(document))


async def _confirmed(step: Step, context: Ctx) -> bool | InputRequiredResult:
    """Did the person agree? No where nobody can be asked: the action is then only offered again."""
    if step.question is None:
        return True
    capabilities = context.client_capabilities
    asks = capabilities.elicitation if capabilities else None
    if asks is None or (asks.form is None and asks.url is not None):
        return False
    if context.protocol_version and is_version_at_least(context.protocol_version, _ASKS_BY_ANSWER):
        answer = (context.input_responses or {}).get(_QUESTION)
        if answer is None:
            wanted = _Confirmation.model_json_schema()
            request = ElicitRequest(params=ElicitRequestFormParams(message=step.question, requested_schema=wanted))
            return InputRequiredResult(input_requests={_QUESTION: request})
        return isinstance(answer, ElicitResult) and answer.action == "accept" and bool((answer.content or {}).get("confirm"))
    outcome = await context.elicit(step.question, _Confirmation)
    return outcome.action == "accept" and outcome.data.confirm
