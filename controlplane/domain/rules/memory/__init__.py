"""EH5: whether it fits, and whether what fits serves well."""
