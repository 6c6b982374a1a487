"""The page on which a model is tried."""
