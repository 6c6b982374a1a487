"""The load generator of benchmarks: asks a deployment through the gateway, and times the answers.

A process of its own, without Django and without a tokenizer: how long prompts are is learned from
the server's own counts. `asyncio` protocols over httptools, as the gateway has them, since a client
library takes more CPU for a request than the gateway that it is to measure.
"""
