"""EH3: how a model is divided over GPUs."""
