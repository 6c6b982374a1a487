"""EH9: settings that were taken back, or that do nothing here."""
