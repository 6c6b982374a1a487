"""Text to calibrate on: found, pinned, turned into tokens and counted.

Imports none of it: workers and most steps need the names of kept sets alone, and no Parquet.
"""
