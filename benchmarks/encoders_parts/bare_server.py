"""sentence-transformers behind uvicorn and nothing more: one request is one `encode`.

python -m benchmarks.encoders_parts.bare_server FOLDER PORT THREADS
"""

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
import uvicorn
from sentence_transformers import SentenceTransformer


def main() -> None:
    """Serve until told to end."""
    folder, port, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    torch.set_num_threads(threads)
    model = SentenceTransformer(folder, device="cpu")
    one_by_one = ThreadPoolExecutor(1)  # torch's threads are shared, so more would only contend

    def encoded(body: bytes) -> bytes:
        vectors = model.encode(json.loads(body)["input"], show_progress_bar=False)
        data = [
            {"object": "embedding", "index": at, "embedding": each.tolist()}
            for at, each in enumerate(vectors)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}  # which it does not count
        values = {"object": "list", "data": data, "model": "served", "usage": usage}
        return json.dumps(values).encode()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while scope["method"] == "POST":
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        answer = b"{}"
        if body:
            answer = await asyncio.get_running_loop().run_in_executor(one_by_one, encoded, body)
        headers = [(b"content-type", b"application/json"),
                   (b"content-length", str(len(answer)).encode())]  # fmt: skip
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    uvicorn.run(app, port=port, log_config=None, lifespan="off", access_log=False)


if __name__ == "__main__":
    main()
