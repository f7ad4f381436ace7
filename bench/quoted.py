"""Figures that were not measured here: what the paper says, and what the stand-alone programs of others took.

Names of tables and strategies are those of the tasks.
"""

from typing import NamedTuple


class DataSet(NamedTuple):
    """A row of the paper's table of data sets. Paper: Table 3."""

    rows: int
    attributes: int
    average_size: float
    domain_size: float

    @property
    def possible(self) -> bool:
        """Whether so many attributes, of two values or more, can have so small a domain."""
        return self.domain_size >= 2.0**self.attributes


DATA_SETS = {
    "adult": DataSet(48_842, 15, 16.4, 9.44e15),
    "acs": DataSet(378_817, 66, 4.22, 3.82e18),
    "loans": DataSet(42_535, 43, 50.01, 1.54e63),
}

ABLATION_SECONDS = {
    "adult": {"lazy+crp": 8.10, "lazy+iid": 16.58, "full+iid": 149.64},
    "acs": {"lazy+crp": 311.60, "lazy+iid": 607.97, "full+iid": 14094.69},
    "loans": {"lazy+crp": 37.87, "lazy+iid": 489.46, "full+iid": 3506.93},
}
"""Paper: Table 2, running time."""

ABLATION_ERRORS = {
    "adult": {"crp": 9.532, "iid": 10.166},
    "acs": {"crp": 0.053, "iid": 0.060},
    "loans": {"crp": 622.507, "iid": 641.795},
}
"""Paper: Table 2, workload error."""

DECOMP_SPEEDUPS = {"attributes of 16 values": 3.14, "three attributes": 3.75}
"""Paper: section 6, mean speed-ups of Decomp with the size fixed at 16, and with the degree fixed at 3."""

RECON_SLOWER, RECON_FASTER = 5e-5, 9.75
"""Paper: section 6, by how many seconds Recon is slower at most, and faster at best."""

BEST_SPEEDUP = 697.0
"""Paper: section 6, AIM+GReM against AIM+PGM on Adult."""

WORST_AGAINST_PLANNER = (1.15, 1.37)
"""Paper: section 6, how far AIM+GReM's error is above ResidualPlanner's at worst, by table."""


class Program(NamedTuple):
    """What another program took on Adult, all triples, on two cores."""

    error: float
    seconds: float
    """The shortest time quoted."""
    times: str


AIM_PGM: dict[tuple[float, float], Program] = {
    (0.1, 50): Program(0.276, 319, "319"),
    (1.0, 50): Program(0.121, 312, "312-851"),
    (10.0, 1): Program(0.082, 124, "124"),
    (10.0, 3): Program(0.081, 203, "203"),
}
"""AIM+PGM with private-pgm's last NumPy version, by ε and the megabytes of its model."""

EXPECTED_ERRORS = {
    "AIM+GReM": {0.1: 1.978, 1.0: 1.399, 10.0: 0.565},
    "ResidualPlanner": {0.1: 47.2, 1.0: 5.13, 10.0: 0.60},
}
"""What a correct build has on Adult: from small stand-alone programs in NumPy."""
