"""The ways of the step `push`: to the hub and to a bucket."""
