"""The demonstration behind `make demo`: the whole main job here, with a real small model."""
