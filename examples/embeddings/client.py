"""Find the text that is nearest to a question: `python client.py`."""

import math
import os

from openai import OpenAI

TEXTS = ["The engine holds its KV cache on the GPU.", "Bread rises when it is warm."]
QUESTION = "Where are keys and values kept?"


def cosine(left: list[float], right: list[float]) -> float:
    """Return how alike two vectors are, 1 at most."""
    product = sum(a * b for a, b in zip(left, right, strict=True))
    return product / (math.hypot(*left) * math.hypot(*right))


client = OpenAI(
    base_url=os.environ["ENGINEHOUSE_ENDPOINT"], api_key=os.environ["ENGINEHOUSE_API_KEY"]
)
answer = client.embeddings.create(model="minilm", input=[QUESTION, *TEXTS])
question, *vectors = [each.embedding for each in answer.data]
similarities = [cosine(question, each) for each in vectors]
similarity, text = max(zip(similarities, TEXTS, strict=True))
print(f"{similarity:.3f} {text}")
