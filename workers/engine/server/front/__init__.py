"""An HTTP front of asyncio protocols: what is asked most goes past ASGI, all else through it."""
