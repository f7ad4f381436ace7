"""Measurements against the truth and against rivals; the package never imports this."""
