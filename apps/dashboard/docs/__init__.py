"""The documentation, as pages of the product: the same Markdown as in `docs/`."""
