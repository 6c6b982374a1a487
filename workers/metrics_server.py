"""A page of metrics beside a process's work, on a thread of its own; no port of it is no harm."""

import logging

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.registry import Collector

from controlplane.process_settings.kinds import ports_of

_log = logging.getLogger(__name__)


def metrics_serve(collector: Collector, listen: str) -> int | None:
    """Return the port that `/metrics` is served on: the first free one of `listen`, or None."""
    if not listen:
        return None
    host, ports = ports_of(listen)
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    for port in ports:
        try:
            server, _ = start_http_server(port, addr=host, registry=registry)
        except OSError as error:
            refusal = error
        else:
            _log.info("/metrics is served on %s, port %s", host, server.server_port)
            return int(server.server_port)
    _log.warning("METRICS_LISTEN: no page of metrics, `%s` cannot be had: %s", listen, refusal)
    return None
