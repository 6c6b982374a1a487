"""The artifact store in a bucket that speaks S3."""
