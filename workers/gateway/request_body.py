"""What the gateway changes in a request body so that it can serve any client and meter it."""

import json
import re
from dataclasses import dataclass

from workers.gateway.refusals import Refused, malformed
from workers.gateway.snapshot import Deployment

COMPLETION_ROUTES = frozenset({"/v1/chat/completions", "/v1/completions"})
MODEL_ROUTES = COMPLETION_ROUTES | {"/v1/embeddings", "/v1/responses"}
# A quote inside a JSON string is escaped, so this never matches in a prompt; a nested key may.
_STREAMED = re.compile(rb'"stream"\s*:\s*true')


@dataclass(frozen=True, slots=True)
class Prepared:
    body: bytes
    stream: bool
    hides_usage: bool
    """The client did not ask for usage in its stream; we did, to meter it."""
    ends_with_done: bool


def prepare(body: bytes, route: str, deployment: Deployment) -> Prepared:
    """Return the body for the engine: its own model name, and usage in every stream.

    Bodies that are not a JSON object pass as they are: the engine says what is wrong with them.
    Raises Refused for fields that only the gateway may set.
    """
    if route not in MODEL_ROUTES:
        return Prepared(body, _STREAMED.search(body) is not None, False, False)
    try:
        data = json.loads(body)
    except RecursionError:
        raise Refused(malformed("The JSON body is nested too deeply.")) from None
    except ValueError:
        return Prepared(body, False, False, False)
    if not isinstance(data, dict):
        return Prepared(body, False, False, False)
    return _prepared(body, data, route, deployment)


def _prepared(body: bytes, data: dict[str, object], route: str, deployment: Deployment) -> Prepared:
    if "lora_request" in data:
        raise Refused(
            malformed("`lora_request` is set by the gateway: name the adapter in `model`.")
        )
    changed = _name_model(data, deployment)
    stream = data.get("stream") is True
    streams_completion = stream and route in COMPLETION_ROUTES
    hides_usage = streams_completion and _force_usage(data)
    if changed or hides_usage:
        body = json.dumps(data, separators=(",", ":")).encode()
    return Prepared(body, stream, hides_usage, streams_completion)


def _name_model(data: dict[str, object], deployment: Deployment) -> bool:
    """Any string is accepted as `model`; only an adapter's name means anything."""
    name, served = data.get("model"), deployment.served_model_name
    if served is None or name == served or not isinstance(name, str | None):
        return False
    if name in deployment.adapters:
        return False
    data["model"] = served
    return True


def _force_usage(data: dict[str, object]) -> bool:
    options = data.get("stream_options")
    if options is None:
        data["stream_options"] = {"include_usage": True}
        return True
    if not isinstance(options, dict) or options.get("include_usage") is True:
        return False
    options["include_usage"] = True
    return True
