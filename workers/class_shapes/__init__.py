"""What a class of Transformers says of its own parameters and cache, asked of another process."""
