"""Pure mathematics on NumPy arrays: no randomness, no input or output."""
