from controlplane.domain.failures.kind import configuration, machine

REFUSED = configuration(
    "EHM-REFUSED",
    "`{label}` does not take the requests of this benchmark ({reason}).",
    "Choose a shape that the deployment is for, or shorter prompts and answers.",
)
SILENT = machine(
    "EHM-SILENT",
    "`{label}` did not answer the first request within {seconds:g} s ({reason}).",
    "Look at the deployment's page: it must be active, and a gateway must reach it.",
)
GONE = machine(
    "EHM-GONE",
    "`{label}` stopped answering at {load} ({reason}).",
    "Look at the deployment's page and its log. What was measured until then is kept.",
)
LOST = machine(
    "EHM-LOST",
    "The worker was lost while it ran the benchmark.",
    "Look at the control worker's log, then start the benchmark again. What was measured until "
    "then is kept.",
)
NO_GATEWAY = machine(
    "EHM-NO-GATEWAY",
    "No gateway took over the key of the benchmark within {seconds:g} s.",
    "Look at the page Settings for gateways without a heartbeat, then start the benchmark again.",
)
