"""What each runtime can do here: its page, and the same over REST."""
