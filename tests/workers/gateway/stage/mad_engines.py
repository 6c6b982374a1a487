"""What engines answer that have gone mad."""

import threading
from contextlib import suppress

from tests.workers.gateway.stage.engine import Call

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
WITHOUT_END = {
    "many headers": (HEAD, b"x: y\r\n" * 1000),
    "one header": (HEAD + b"x: ", b"y" * 32768),
    "interim answers": (b"", b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" * 100),
    "an extension of a chunk": (HEAD + b"transfer-encoding: chunked\r\n\r\n2;", b"y" * 32768),
    "trailers": (HEAD + b"transfer-encoding: chunked\r\n\r\n0\r\n", b"x: y\r\n" * 1000),
}
MANY_DIGITS = b"7" * 5000


def endless_event(call: Call) -> None:
    call.begin_stream()
    call.event({"choices": []})
    with suppress(OSError):
        for _ in range(3200):  # 200 MB
            call.chunk(b"x" * 65536)


def answers_half(call: Call) -> None:
    call.send(HEAD + b"content-length: 100\r\n\r\n{")
    call.connection.close()
    raise OSError


def many_digits(call: Call) -> None:
    header = f"x-compute-tokens: {MANY_DIGITS.decode()}\r\n"
    call.answer(b'{"usage":{"prompt_tokens":%b}}' % MANY_DIGITS, extra=header)


class Endless:
    """The script of an engine that sends until it is hung up on."""

    def __init__(self, begins: bytes, goes_on: bytes) -> None:
        self._begins, self._goes_on = begins, goes_on
        self.was_cut_off = threading.Event()

    def __call__(self, call: Call) -> None:
        try:
            call.send(self._begins)
            for _ in range(2000):
                call.send(self._goes_on)
        except OSError:
            self.was_cut_off.set()


MAD = {name: Endless(*sent) for name, sent in WITHOUT_END.items()} | {
    "an event": endless_event,
    "half an answer": answers_half,
    "many digits": many_digits,
}


class Mad:
    """The script of an engine that goes mad in the way that its request names as `user`."""

    def __init__(self) -> None:
        self.went_mad_by: set[str] = set()

    def __call__(self, call: Call) -> None:
        way = call.json()["user"]
        self.went_mad_by.add(way)
        MAD[way](call)
