"""What keeps the promise: the account of the privacy budget."""
