"""Embeddings, scores and labels: one forward per text instead of one per token."""

import os

os.environ["HF_HUB_OFFLINE"] = "1"  # read at import: a folder is all that is ever loaded
os.environ["TRANSFORMERS_OFFLINE"] = "1"
