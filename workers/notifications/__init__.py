"""Messages on their way out: to a webhook, to Slack, to mailboxes."""
