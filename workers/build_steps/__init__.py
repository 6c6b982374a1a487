"""The steps of a build, each a child process of the build worker, and what supervises them."""
