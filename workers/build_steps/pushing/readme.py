import yaml

from workers.build_steps.options import PushOrder


def readme(order: PushOrder) -> bytes:
    """Return a README.md: what it was made of, how it is quantized, and its digest."""
    about: dict[str, object] = {"tags": ["enginehouse"]}
    if order.base_model:
        about |= {"base_model": order.base_model, "base_model_relation": "quantized"}
    lines = [f"---\n{yaml.safe_dump(about, sort_keys=True)}---\n", *_words(order)]
    return "\n".join(lines).encode()


def _words(order: PushOrder) -> list[str]:
    made_of = f" of `{order.base_model}`" if order.base_model else ""
    how = f" Quantization: `{order.quantization_type}`." if order.quantization_type else ""
    return [
        f"A checkpoint{made_of}, built by Enginehouse.{how}\n",
        f"Content digest: `{order.content_digest}`\n",
    ]
