import os
from contextlib import contextmanager

import pytest
from hypothesis import settings

# The first call of a kernel compiles it, so a deadline would measure the compiler.
settings.register_profile("residuum", deadline=None, derandomize=True)
settings.load_profile("residuum")


@pytest.fixture
def unprivileged():
    """A context in which files are as forbidden as they say, by a user who may look into the folders above a path."""

    @contextmanager
    def context(path):
        if os.geteuid() != 0:
            yield
            return
        modes = {above: above.stat().st_mode for above in path.parents}
        for above, mode in modes.items():
            above.chmod(mode | 0o055)
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)
            for above, mode in modes.items():
                above.chmod(mode)

    return context
