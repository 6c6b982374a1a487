"""What fields and parameters say that mean the same wherever they stand.

A field with a `help_text` of its own keeps it.
"""

from collections.abc import Mapping

COMMON_FIELDS: Mapping[str, str] = {
    "id": "Its permanent id, as addresses name it.",
    "name": "Its name.",
    "code": "Its permanent code.",
    "created_at": "When it was made.",
    "created_by": "Who made it; null where the person is gone.",
    "updated_at": "When it was changed last.",
    "started_at": "When it began; null before.",
    "finished_at": "When it ended; null before.",
    "deleted": "Always true.",
    "email": "The person's e-mail address.",
    "user_id": "The person.",
    "is_active": "Whether the person may sign in and use keys.",
    "team_id": "The team.",
    "team_name": "Name of the team that it belongs to.",
    "items": "The rows of this part of the list.",
    "pagination": "Whether there is more of the list.",
    "expires_at": "When it stops working; null for never.",
    "requests_per_minute": "Requests that it may make in a minute; any number when absent.",
    "tokens_per_minute": "Tokens that it may use in a minute; any number when absent.",
    "parallel_requests": "Requests that it may have open at once; any number when absent.",
}
"""Of bodies, by name."""

PATH_PARAMETERS: Mapping[str, str] = {
    "alert_id": "Id of the alert.",
    "artifact_id": "Id of the artifact.",
    "benchmark_id": "Id of the benchmark.",
    "request_id": "Id of the asynchronous request, as `async_predict` returned it.",
    "channel_id": "Id of the channel.",
    "build_id": "Id of the build.",
    "push_id": "Id of the push.",
    "config_id": "Id of the config.",
    "deployment_id": "Id of the deployment.",
    "device_id": "Id of the GPU.",
    "grant_id": "Id of the grant.",
    "invitation_id": "Id of the invitation.",
    "model_id": "Id of the model.",
    "name": "Its name.",
    "node_id": "Id of the node.",
    "number": "Number of the revision.",
    "pool": "Name of the pool.",
    "prefix": "The key's prefix: what stands before its dot.",
    "preview_id": "Id of the preview.",
    "tuning_id": "Id of the lookahead tuning.",
    "runtime": "Name of the runtime, as `enginehouse.runtime` says it.",
    "set_id": "Id of the calibration set.",
    "team_id": "Id of the team.",
    "test_id": "Id of the test.",
    "user_id": "Id of the person.",
}
"""Of addresses, by name."""
