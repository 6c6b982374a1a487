"""Where a collector of OpenTelemetry takes spans, by OTLP over HTTP."""


def traces_endpoint(url: str) -> str:
    """Return the address for spans of the collector at `url`."""
    return f"{url.rstrip('/')}/v1/traces"
