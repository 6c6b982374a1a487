"""EH4: lookahead decoding, and drafts of the v2 stack."""
