"""How accurate releases are: against the truth, against other methods, and at what cost of time and memory."""
