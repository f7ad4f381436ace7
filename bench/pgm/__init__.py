"""The rival: AIM with a graphical model, on the estimation of the package mbi."""

STEPS, LAST_STEPS = 200, 2500
"""Steps of mirror descent after each round, from the model before it, and after the last."""
