"""Teams, people and API keys over REST."""
