"""Asynchronous requests as the hosted product has them: bodies, states, retries, webhooks."""
