"""From tables to true marginals. What is in this room is private."""
