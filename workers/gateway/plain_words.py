"""What a request may say of how it is answered: in one way only, that no engine reads otherwise.

Engines take `1`, `"true"` and the like for true; a stream that the gateway does not know for one
would pass unmetered.
"""

import json
from collections.abc import Mapping

from workers.gateway.refusals import Refused, malformed

_LONGEST_VALUE = 60


def require_plain_words(data: Mapping[str, object]) -> None:
    """Return if the words are plain by which an answer is asked for. Raises Refused."""
    stream, options = data.get("stream"), data.get("stream_options")
    if not (stream is None or isinstance(stream, bool)):
        raise _refused("stream", stream, "Send `true`, `false` or nothing")
    if not (options is None or isinstance(options, dict)):
        raise _refused("stream_options", options, "Send an object or nothing")
    if data.get("background") not in (None, False):
        raise _refused("background", data["background"], "Answers are not fetched later here")
    # An engine keeps answers for whoever knows an id: of keys, and of tenants, it knows nothing.
    if data.get("previous_response_id") is not None:
        what_to_do = "Answers are not kept for a key; send the conversation in `input`"
        raise _refused("previous_response_id", data["previous_response_id"], what_to_do)


def _refused(name: str, value: object, what_to_do: str) -> Refused:
    shown = json.dumps(value)[:_LONGEST_VALUE]
    return Refused(malformed(f"`{name}` is `{shown}`. {what_to_do}."))
