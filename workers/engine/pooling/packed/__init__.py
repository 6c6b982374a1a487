"""Rows one behind the other, without padding, through Transformers' own classes."""
