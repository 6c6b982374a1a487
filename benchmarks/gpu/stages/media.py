"""Whether an engine asks for an image that a request names: a server on the loopback counts.

Asked through the gateway, and at the engine itself, whose own refusal is what stands behind it.
"""

import base64
import json
import struct
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2

from benchmarks.gpu.image_checkpoint import make_image_checkpoint
from benchmarks.gpu.product import Missed, Show
from benchmarks.gpu.stages import serving
from benchmarks.gpu.stages.building import told

NAME = "images"
_CONFIG = """\
model_name: images
resources:
  accelerator: {device}
trt_llm:
  build:
    base_model: decoder
    checkpoint_repository: {{source: LOCAL, repo: images}}
    max_seq_len: 1024
    max_batch_size: 8
    quantization_type: no_quant
enginehouse:
  runtime: vllm
"""
_QUESTION = {"type": "text", "text": "What is to be seen?"}
_MOST_LETTERS = 300


def media(show: Show) -> dict[str, Any]:
    """A model that takes no images, asked for one at an address that counts who comes."""
    return _asked_everywhere(show, show.model("smollm2"))


def media_images(show: Show) -> dict[str, Any]:
    """A model that takes images, random and small, asked so too, and with the image itself."""
    folder = show.data / "checkpoints" / NAME
    if not (folder / "config.json").exists():
        make_image_checkpoint(folder, show.checkpoint)
    text = _CONFIG.format(device=show.device["kind"])
    ended = show.built(NAME, text)
    seen: dict[str, Any] = {**told(show, ended, text, folder), "runtime": ended["runtime"]}
    seen["deployed"] = serving.deployed(show, NAME, ended)
    model = show.model(NAME)
    try:
        seen |= _asked_everywhere(show, model)
        seen["with_the_image_itself"] = _answer(_gateway(show, model), *_chat(_picture()), show)
    finally:
        seen["taken_down"] = serving.taken_down(show, model)
    return seen


def _asked_everywhere(show: Show, model: Mapping[str, Any]) -> dict[str, Any]:
    """Return each answer and who came to the counting server. Raises Missed where anybody did."""
    places = {"gateway": _gateway(show, model), "engine": show.engine()["url"]}
    with _counting_server() as (url, seen):
        answers = [
            {"at": at, **_answer(place, route, body, show)}
            for at, place in places.items()
            for route, body in _forms(f"{url}/image.png")
        ]
    values = {"answers": answers, "connections_counted": len(seen), "asked_for": seen}
    if seen:
        raise Missed(f"{len(seen)} connections came to the counting server", values)
    if passed := [each for each in answers if each["at"] == "gateway" and each["status"] != 400]:
        raise Missed(f"the gateway answered {passed[0]['status']}", values)
    return values


def _forms(url: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the ways to name an image by its place, with the route that reads each."""
    yield _chat(url)
    plain = {"role": "user", "content": [_QUESTION, {"type": "image_url", "image_url": url}]}
    yield "/v1/chat/completions", _body(messages=[plain], max_tokens=8)
    shown = [{"type": "input_text", "text": "x"}, {"type": "input_image", "image_url": url}]
    requests = [{"role": "user", "content": shown}]
    yield "/v1/responses", _body(input=requests, max_output_tokens=8)
    source = {"type": "image", "source": {"type": "url", "url": url}}
    message = {"role": "user", "content": [_QUESTION, source]}
    yield "/v1/messages", _body(messages=[message], max_tokens=8)


def _chat(url: str) -> tuple[str, dict[str, Any]]:
    content = [_QUESTION, {"type": "image_url", "image_url": {"url": url}}]
    message = {"role": "user", "content": content}
    return "/v1/chat/completions", _body(messages=[message], max_tokens=8)


def _body(**fields: Any) -> dict[str, Any]:
    return {"model": "any", **fields}


def _gateway(show: Show, model: Mapping[str, Any]) -> str:
    return show.base_url(model).removesuffix("/v1")


def _answer(place: str, route: str, body: dict[str, Any], show: Show) -> dict[str, Any]:
    """Return the status and what was said; an engine knows its model by its own name alone."""
    headers = {"Authorization": f"Bearer {show.api_key}"}
    with httpx2.Client(trust_env=False, timeout=60) as client:
        if place == show.engine()["url"]:
            served = client.get(f"{place}/v1/models").json()["data"][0]["id"]
            body = body | {"model": served}
        answer = client.post(f"{place}{route}", json=body, headers=headers)
    text = answer.text[:_MOST_LETTERS]
    return {"route": route, "sent": _form_of(body), "status": answer.status_code, "said": text}


def _form_of(body: Mapping[str, Any]) -> str:
    return json.dumps(body.get("messages") or body.get("input"))[-_MOST_LETTERS:]


def _picture() -> str:
    """Return 28 × 28 red points as a PNG in a `data:` URL."""
    side = 28
    rows = (b"\0" + b"\xc8\x1e\x1e" * side) * side
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*each) for each in parts)
    return f"data:image/png;base64,{base64.b64encode(png).decode()}"


def _chunk(kind: bytes, content: bytes) -> bytes:
    check = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)


@contextmanager
def _counting_server() -> Iterator[tuple[str, list[str]]]:
    """Give the address of a server on the loopback, and what it is asked for."""
    seen: list[str] = []

    class Counting(BaseHTTPRequestHandler):
        def setup(self) -> None:
            super().setup()
            seen.append("a connection")

        def do_GET(self) -> None:
            seen[-1] = self.requestline
            self.send_error(404)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Counting)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", seen
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
