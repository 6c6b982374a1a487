"""What the gateway is compared with in the same run: no proxy work at all, and the usual one."""

import argparse
import asyncio

import httpx
import uvicorn
import uvloop


class Splice(asyncio.Protocol):
    """Bytes in, bytes out: no parsing, no keys, no routes. The floor for Python."""

    def __init__(self, upstream_port: int) -> None:
        self.upstream_port = upstream_port
        self.other = None
        self.early = b""

    def connection_made(self, transport):
        self.transport = transport
        asyncio.get_running_loop().create_task(self.connect())

    async def connect(self):
        back = SpliceBack(self.transport)
        await asyncio.get_running_loop().create_connection(
            lambda: back, "127.0.0.1", self.upstream_port
        )
        self.other = back.transport
        self.other.write(self.early)

    def data_received(self, data):
        if self.other is None:
            self.early += data
        else:
            self.other.write(data)

    def connection_lost(self, error):
        if self.other is not None:
            self.other.abort()


class SpliceBack(asyncio.Protocol):
    def __init__(self, client) -> None:
        self.client = client

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        if not self.client.is_closing():
            self.client.write(data)


def asgi_proxy(upstream_port: int):
    """Return a minimal ASGI proxy on httpx: what most Python gateways are made of."""
    client = httpx.AsyncClient(limits=httpx.Limits(max_connections=200), trust_env=False)

    async def app(scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body += message["body"]
            more = message.get("more_body", False)
        url = f"http://127.0.0.1:{upstream_port}{scope['path']}"
        headers = {"content-type": "application/json"}
        async with client.stream("POST", url, content=body, headers=headers) as answer:
            kept = [(k, v) for k, v in answer.headers.raw if k.lower() != b"transfer-encoding"]
            await send(
                {"type": "http.response.start", "status": answer.status_code, "headers": kept}
            )
            async for chunk in answer.aiter_raw():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    return app


async def splice(options) -> None:
    server = await asyncio.get_running_loop().create_server(
        lambda: Splice(options.upstream_port), "127.0.0.1", options.port, backlog=4096
    )
    await server.serve_forever()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["splice", "asgi"])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--upstream-port", type=int, required=True)
    chosen = parser.parse_args()
    if chosen.kind == "splice":
        uvloop.run(splice(chosen))
    else:
        app = asgi_proxy(chosen.upstream_port)
        uvicorn.run(app, port=chosen.port, log_level="warning", access_log=False, lifespan="off")
