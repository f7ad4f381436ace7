"""Only a few modules draw randomness, and the curator reaches none of them but the noise and its simulator."""

from pathlib import Path

import grimp
import pytest

import residuum
from tests.privacy.randomness import UNKNOWN, drawn

NOISE = {"residuum.privacy.noise", "residuum.privacy.simulator"}
OTHERS = {
    "residuum.cli.tour",  # the same people, written to a file
    "residuum.data.sample",  # made-up people for the demo
    "residuum.estimate.latent",  # where a fit to noisy answers starts
    "residuum.privacy.opendp",  # noise that has to be asked for
    "residuum.release",  # synthetic rows, which cost nothing
}
HARMLESS = {
    "residuum": {UNKNOWN},  # public names that are imported when first asked for
    "residuum.cli": {UNKNOWN},  # commands, likewise
    "residuum.cli.common": {"tempfile.mkstemp"},  # where a file is written before it has its name
    "residuum.cli.export": {"tempfile.mkdtemp"},
    "residuum.cli.truth": {"numpy.random.default_rng"},  # which marginals are compared, for the owner's eyes
    "residuum.cli.tour": {"tempfile.mkdtemp"},
    "residuum.data.sources.engine": {"tempfile.TemporaryDirectory"},  # for what does not fit in memory
    "residuum.estimate.decode": {"numpy.random.Generator"},  # names of a type, as in the next two
    "residuum.estimate.evidence": {"numpy.random.Generator"},
    "residuum.estimate.rows": {"numpy.random.Generator"},
    "residuum.kernels": {"tempfile.TemporaryDirectory", UNKNOWN},  # for compiled code; the modules beside it
    "residuum.mechanism.run": {"secrets.token_hex"},  # the name of a run
    "residuum.privacy.noise": {"secrets.token_hex"},  # the name of a source of noise
    "residuum.marginal": {UNKNOWN},  # libraries that tables are handed out with
    "residuum.present.notebook": {UNKNOWN},  # a library that plots are drawn with
    "residuum.store.folder": {"tempfile.mkdtemp"},  # where a release is written before it has its place
    "residuum.store.model": {"tempfile.mkstemp"},
}
"""Random names, and imports by a name that is not written out: no number that is released comes from these."""

OFFENDERS = {
    "import random": "random",
    "import random as r\nr.gauss(0, 1)": "random.gauss",
    "from secrets import randbelow": "secrets.randbelow",
    "import numpy as np\nnp.random.normal()": "numpy.random.normal",
    "import numpy as np\nrng = np.random\nrng.normal()": "numpy.random",
    "import numpy.random as draw\ndraw.normal()": "numpy.random.normal",
    "from numpy.random import default_rng as rng": "numpy.random.default_rng",
    "from numpy import random": "numpy.random",
    "import numpy as np\ngetattr(np, 'random').normal()": "numpy.random.normal",
    "def noise():\n    import os as system\n    return system.urandom(4)": "os.urandom",
    "from os import getrandom": "os.getrandom",
    "import uuid\nname = uuid.uuid4()": "uuid.uuid4",
    "import opendp.prelude as dp": "opendp.prelude",
    "import importlib\nimportlib.import_module('random')": "random",
    "__import__(name)": UNKNOWN,
    "import numpy as np\nfrom numba import njit\n@njit\ndef f():\n    return np.random.random()": "numpy.random.random",
}


def sources():
    root = Path(residuum.__file__).parent
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path.read_text(encoding="utf-8")


def test_only_listed_modules_draw_randomness():
    found = {module: names for module, source in sources() if (names := drawn(source))}
    for module, names in HARMLESS.items():
        assert names <= found[module], f"{module} no longer needs its place on the list"
        found[module] -= names
    assert {module for module, names in found.items() if names} == NOISE | OTHERS


def test_tokens_are_drawn_once_in_a_module_to_give_a_name():
    for module, source in sources():
        lines = [line for line in source.splitlines() if "token_hex" in line]
        expected = 1 if "secrets.token_hex" in HARMLESS.get(module, ()) else 0
        assert len(lines) == expected, module
        assert all(line.split("=")[0].strip() in ("name", "self.name") for line in lines), module


def test_noise_comes_from_the_operating_system_and_the_simulator_from_a_keyed_generator():
    texts = dict(sources())
    assert drawn(texts["residuum.privacy.noise"]) == {"os.urandom", "secrets.token_hex"}
    assert drawn(texts["residuum.privacy.simulator"]) == {"numpy.random.Philox"}


def test_the_curator_reaches_no_sampler_but_the_noise():
    reached = grimp.build_graph("residuum", cache_dir=None).find_upstream_modules("residuum.mechanism.curator")
    assert "residuum.privacy.noise" in reached
    assert not reached & (OTHERS | {"residuum.mechanism.run"})


def test_an_import_from_the_curator_would_be_seen():
    graph = grimp.build_graph("residuum", cache_dir=None)
    graph.add_import(importer="residuum.data.differences", imported="residuum.data.sample")
    assert "residuum.data.sample" in graph.find_upstream_modules("residuum.mechanism.curator")


@pytest.mark.parametrize(("source", "name"), OFFENDERS.items())
def test_offenders_are_found(source, name):
    assert drawn(source) == {name}


def test_what_draws_nothing_is_left_alone():
    assert drawn("import numpy as np\nimport os\nrandom = np.zeros(3)\nrandom.sum()\nos.path.join('random')") == set()
