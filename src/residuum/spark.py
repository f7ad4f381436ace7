"""Counts made on a Spark cluster, for `aim` and `residual_planner` to take in place of a table."""

from residuum.data.spark import count
from residuum.data.spark.files import read_and_count

__all__ = ["count", "read_and_count"]
