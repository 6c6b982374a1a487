"""One HTTP request to one address of a user's URL, through nothing that the URL could not name."""

import os
import ssl
from collections.abc import Mapping
from contextlib import ExitStack
from functools import cache

import httpx2

from controlplane.sources.addresses import Target

HTTP_ERRORS: tuple[type[Exception], ...] = (httpx2.RequestError, httpx2.HTTPStatusError)
"""What a request may raise."""
NOT_CONNECTED: tuple[type[Exception], ...] = (httpx2.ConnectError, httpx2.ConnectTimeout)
"""Of them, those after which another address may be tried."""


def send_one_way(
    stack: ExitStack,
    way: Target,
    *,
    method: str = "GET",
    headers: Mapping[str, str],
    content: bytes | None = None,
    timeout_seconds: float,
) -> httpx2.Response:
    """Return the answer, its body unread, open for as long as the stack. Raises HTTP_ERRORS."""
    client = stack.enter_context(
        httpx2.Client(
            verify=_trusted(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")),
            proxy=way.proxy,
            trust_env=False,
            timeout=timeout_seconds,
        )
    )
    request = client.build_request(
        method,
        way.url,
        content=content,
        headers={"user-agent": "enginehouse", "accept": "*/*", "host": way.host, **headers},
        extensions={"sni_hostname": way.server_name} if way.server_name else {},
    )
    response = client.send(request, stream=True)
    stack.callback(response.close)
    return response


@cache
def _trusted(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Return what certificates are held against: the machine's, or those that its settings name."""
    return httpx2.create_ssl_context()
