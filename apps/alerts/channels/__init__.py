"""Ways out of the house: an address, a mailbox, a chat; made, changed, tried, deleted."""
