from pathlib import Path

import pytest

from tests.mechanism.killing import scratch


@pytest.fixture
def place():
    """A folder in memory where there is one: these tests sync thousands of times."""
    with scratch() as folder:
        yield Path(folder)
