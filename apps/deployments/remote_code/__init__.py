"""The page and the REST of grants for code of checkpoints, with what runs by them."""
