"""Webhooks: written with the outcome that they tell of, sent by a worker of the queue."""
