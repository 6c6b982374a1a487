"""Tasks of lm-eval that both models do."""
