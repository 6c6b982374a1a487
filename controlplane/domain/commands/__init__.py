"""Command lines of other servers: their words, read into a draft and written from a config."""
