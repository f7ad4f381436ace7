"""From true counts to a release: the curator who guards the counts, and the mechanisms that ask it."""
