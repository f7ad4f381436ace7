"""An empirical audit of the privacy claims, by counting what runs on neighbouring tables tell. No part of the package.

`python -m audit` runs the mechanisms as they are many times on two tables that differ by one person, and asks how well
the two can be told apart from everything that leaves the curator. `make audit` adds the kill test.
"""
