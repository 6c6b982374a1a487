"""The page that deploys a build: where to, and what that changes."""
