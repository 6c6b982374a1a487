"""Messages to channels: written with the change that they tell of, sent by a control worker."""
