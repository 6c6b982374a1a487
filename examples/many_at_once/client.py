"""Ask many things at once, a few at a time: `python client.py`."""

import asyncio
import os

from openai import AsyncOpenAI

NAMES = ["Oslo", "Rome", "Lima", "Cairo", "Quito", "Hanoi", "Turin", "Perth"]
AT_ONCE = 4


async def main() -> None:
    """Print the answers in the order of the questions."""
    allowed = asyncio.Semaphore(AT_ONCE)
    async with AsyncOpenAI(
        base_url=os.environ["ENGINEHOUSE_ENDPOINT"], api_key=os.environ["ENGINEHOUSE_API_KEY"]
    ) as client:
        for name, text in zip(
            NAMES,
            await asyncio.gather(*(ask(client, allowed, name) for name in NAMES)),
            strict=True,
        ):
            print(f"{name}: {text}")


async def ask(client: AsyncOpenAI, allowed: asyncio.Semaphore, name: str) -> str:
    """Return one answer."""
    async with allowed:
        answer = await client.chat.completions.create(
            model="llama-3b-batch",
            messages=[{"role": "user", "content": f"Which country is {name} in?"}],
            max_tokens=16,
        )
    return (answer.choices[0].message.content or "").strip()


asyncio.run(main())
