"""One model by its name, as OpenAI clients ask for it at `/v1/models/<name>`."""

import json

from workers.gateway.refusals import Refusal, not_found
from workers.gateway.routing import Target
from workers.gateway.snapshot import Deployment

_OWNER = "enginehouse"


def model_answer(target: Target, deployment: Deployment) -> bytes | Refusal:
    """Return the model that is asked for as OpenAI's object, or why there is none.

    An engine without a served name takes every name, so every name is there.
    """
    served, name = deployment.served_model_name, target.route
    if served is not None and name != served and name not in deployment.adapters:
        known = ", ".join(f"`{each}`" for each in (served, *sorted(deployment.adapters)))
        words = f"There is no model `{name[:200]}` here. This deployment answers as {known}."
        return not_found(words, "model_not_found")
    # When it was made no engine tells alike: vLLM names the moment of the question.
    model = {"id": name, "object": "model", "created": 0, "owned_by": _OWNER}
    if name in deployment.adapters:
        model["parent"] = served or ""
    return json.dumps(model).encode()
