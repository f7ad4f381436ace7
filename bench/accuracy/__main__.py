"""`make bench-accuracy` runs every part; `python -m bench.accuracy adult tables …` runs those named.

Every number is measured in the run that prints it, except those marked as quoted. Progress goes to standard error.
"""

import sys

from bench.accuracy import adult, intervals, large, rows, schedule, tables
from bench.accuracy.show import console

PARTS = {part.__name__.rpartition(".")[2]: part for part in (adult, tables, schedule, intervals, rows, large)}


def main(names: list[str]) -> None:
    if unknown := [name for name in names if name not in PARTS]:
        sys.exit(f"There is no part {unknown[0]!r}. The parts are: {', '.join(PARTS)}.")
    for name in names or PARTS:
        PARTS[name].main()
        console.print()


if __name__ == "__main__":
    main(sys.argv[1:])
