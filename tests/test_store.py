"""Releases as folders: they come back bit for bit, or not at all."""

import errno
import fcntl
import json
import multiprocessing
import os
import pickle
import random
import shutil
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from residuum import (
    Domain,
    Estimates,
    NoisyResidual,
    Release,
    ReleaseError,
    Table,
    Workload,
    aim,
    load,
    residual_planner,
    save,
)
from residuum.core.units import Unit
from residuum.core.zcdp import Spend
from residuum.release import fingerprint
from residuum.store import folder, manifest

DOMAIN = Domain({"age": 3, "sex": ["f", "m"], "educ": ["none", 1, 2.5, None], "city": 2})
WORKLOAD = Workload(DOMAIN, {("age", "sex", "educ"): 0.1, ("city",): 3.0})
TABLE = Table.from_codes(np.random.default_rng(0).integers(0, DOMAIN.sizes, size=(200, 4)), DOMAIN)
FILES = ["manifest.json", *folder.FILES]

fuzz = settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])


def release_of(*measured, workload=WORKLOAD, spends=(), rho=1.0, lineage=("here",), schema=None, **provenance):
    entries = {"mechanism": "by hand", "caveats": ("made up",), **provenance}
    return Release(Estimates(workload, measured), rho, spends, entries, frozenset(lineage), schema)


def assert_same(one: Release, two: Release) -> None:
    assert one.domain == two.domain
    assert [[type(x) for x in labels or ()] for labels in one.domain.labels] == [
        [type(x) for x in labels or ()] for labels in two.domain.labels
    ]
    assert list(one.workload.weights.items()) == list(two.workload.weights.items())
    assert (one.rho, one.spends, one.lineage) == (two.rho, two.spends, two.lineage)
    assert (one.provenance, one.schema) == (two.provenance, two.schema)
    assert repr(one.provenance) == repr(two.provenance)
    for tau in one.workload.closure:
        assert one.estimates.precision(tau) == two.estimates.precision(tau)
        assert one.estimates.residual(tau).tobytes() == two.estimates.residual(tau).tobytes()


def one_line(work) -> str | None:
    """The one line that a ReleaseError says, or None if the work gets through; any other error is a failure."""
    try:
        work()
    except ReleaseError as error:
        (line,) = str(error).splitlines()
        return line
    return None


def answers(release: Release) -> list[bytes]:
    return [release.marginal(gamma, "mle").values.tobytes() for gamma in release.workload.closure]


@pytest.fixture(scope="module")
def release():
    return aim(TABLE, WORKLOAD, epsilon=1.0, delta=1e-6, seed=1)


@pytest.fixture
def saved(release, tmp_path):
    save(release, tmp_path / "release")
    return tmp_path / "release"


class TestModel:
    """The latent classes, which are kept in the folder and are no part of the release."""

    def test_it_is_fitted_once(self, release, saved, monkeypatch):
        model = load(saved).fit()
        monkeypatch.setattr("residuum.estimate.latent.fit", None)
        again = load(saved).fit()
        assert (again.sizes, again.total) == (model.sizes, model.total)
        assert again.weights.tobytes() == model.weights.tobytes()
        assert again.shares.tobytes() == model.shares.tobytes()
        np.testing.assert_array_equal(again.shares, release.fit().shares if release.fitted else model.shares)

    def test_what_was_fitted_before_is_saved(self, tmp_path, monkeypatch):
        release = release_of(NoisyResidual((), 100.0, 4.0))
        release.fit()
        save(release, tmp_path / "release")
        monkeypatch.setattr("residuum.estimate.latent.fit", None)
        assert load(tmp_path / "release").fitted is not None

    @pytest.mark.parametrize("how", ["flipped", "cut", "empty", "of another release", "a folder"])
    def test_one_that_is_damaged_is_as_good_as_none(self, saved, tmp_path, how):
        expected = load(saved).fit()
        file = saved / folder.MODEL
        if how == "flipped":
            data = bytearray(file.read_bytes())
            for at in range(0, len(data), 97):
                data[at] ^= 4
            file.write_bytes(data)
        elif how == "cut":
            file.write_bytes(file.read_bytes()[:-100])
        elif how == "empty":
            file.write_bytes(b"")
        elif how == "of another release":
            other = release_of(NoisyResidual((), 100.0, 4.0), lineage=("elsewhere",))
            other.fit()
            save(other, tmp_path / "other")
            shutil.copy(tmp_path / "other" / folder.MODEL, file)
        else:
            file.unlink()
            file.mkdir()
        assert load(saved).fitted is None
        assert load(saved).fit().shares.tobytes() == expected.shares.tobytes()

    def test_a_folder_that_cannot_be_written_to_is_no_hindrance(self, saved, monkeypatch):
        def forbidden(*_args, **_options):
            raise PermissionError

        monkeypatch.setattr("residuum.store.model.mkstemp", forbidden)
        load(saved).fit()
        assert sorted(path.name for path in saved.iterdir()) == sorted(FILES)


def test_units_come_back(tmp_path):
    units = {
        "age": Unit("integer", (0, 20, 40), last=99, without=(17,)),
        "height": Unit("real", (0.5, 1.5), last=2.25),
        "born": Unit("date", ("2000-01-01", "2001-01-01"), last="2001-12-31", form="%d.%m.%Y"),
        "sex": Unit("category", missing=2),
    }
    domain = Domain({"age": 3, "height": 2, "born": 2, "sex": ["f", "m", "(missing)"], "city": 2}, units)
    save(release_of(workload=Workload.all_kway(domain, 1)), tmp_path / "release")
    assert load(tmp_path / "release").domain.units == (*units.values(), None)


@pytest.mark.parametrize("unit", [1, {}, {"kind": "age"}, {"kind": "integer"}, {"kind": "boolean", "colour": 1},
                                  {"kind": "real", "starts": [10**400], "last": 1}, {"kind": ["date"]}])  # fmt: skip
def test_units_that_make_no_sense(saved, unit):
    rewrite(saved, {"domain": [{"name": "age", "size": 3, "unit": unit}], "workload": [[[0], 1.0]]})
    assert "makes no sense" in one_line(lambda: load(saved))


class TestRoundTrip:
    def test_a_run(self, release, saved):
        again = load(saved)
        assert_same(again, release)
        assert answers(again) == answers(release)
        assert fingerprint(again.estimates) == fingerprint(release.estimates)
        assert sorted(path.name for path in saved.iterdir()) == sorted(FILES)

    def test_a_run_upon_a_run_and_both_combined(self, release, tmp_path):
        upon = residual_planner(TABLE, WORKLOAD, rho=0.5, seed=2, prior=release)
        both = upon.combine(aim(TABLE, WORKLOAD, rho=0.1, seed=3))
        for name, one in (("upon", upon), ("both", both)):
            save(one, tmp_path / name)
            assert_same(load(tmp_path / name), one)
        assert load(tmp_path / "both").provenance["parts"][0]["prior"]["caveats"] == ("not private: seeded",)

    def test_a_loaded_release_is_a_prior_and_can_be_combined(self, release, saved):
        other = aim(TABLE, WORKLOAD, rho=0.1, seed=3)
        assert_same(load(saved).combine(other), release.combine(other))
        upon = (aim(TABLE, WORKLOAD, rho=0.1, seed=4, prior=prior) for prior in (release, load(saved)))
        assert_same(*upon)
        with pytest.raises(ReleaseError, match="share measurements"):
            load(saved).combine(release)

    def test_a_loaded_release_can_be_saved(self, saved, tmp_path):
        save(load(saved), tmp_path / "copy")
        assert all((tmp_path / "copy" / name).read_bytes() == (saved / name).read_bytes() for name in FILES)

    def test_nothing_measured_and_nothing_spent(self, tmp_path):
        save(release_of(), tmp_path / "empty")
        assert_same(load(tmp_path / "empty"), release_of())

    @given(
        rho=st.floats(min_value=5e-324, allow_infinity=False),
        values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2),
        sigma2=st.floats(1e-300, 1e300),
        units=st.lists(st.integers(0, 2**96), max_size=5),
        provenance=st.dictionaries(
            st.text(),
            st.recursive(
                st.none()
                | st.booleans()
                | st.integers()
                | st.floats(allow_nan=False, allow_infinity=False)
                | st.text(),
                lambda inner: st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner),
                max_leaves=10,
            ),
        ),
        lineage=st.sets(st.text()),
    )
    @fuzz
    def test_any_numbers_and_texts(self, tmp_path, rho, values, sigma2, units, provenance, lineage):
        spends = tuple(Spend("gaussian", (0, 3), unit, rho) for unit in units)
        provenance = {"mechanism": "any", **provenance, "caveats": ()}
        measured = Estimates.kept(WORKLOAD, {(0,): np.array(values)}, {(0,): 1 / sigma2})
        release = Release(measured, rho, spends, provenance, frozenset(lineage), provenance)
        shutil.rmtree(tmp_path / "any", ignore_errors=True)
        save(release, tmp_path / "any")
        assert_same(load(tmp_path / "any"), release)

    labels = st.none() | st.text() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.decimals("-9", "9")

    @given(st.dictionaries(st.text(min_size=1), st.lists(labels, min_size=2, max_size=6, unique=True), min_size=1))
    @fuzz
    def test_any_names_and_labels(self, tmp_path, attributes):
        release = release_of(workload=Workload.all_kway(Domain(attributes), 1))
        shutil.rmtree(tmp_path / "any", ignore_errors=True)
        save(release, tmp_path / "any")
        assert_same(load(tmp_path / "any"), release)

    def test_numpys_numbers_and_lists_become_pythons(self, tmp_path):
        workload = Workload.all_kway(Domain({"a": np.array([1, 2]), "b": np.array([0.5, 1.0])}), 2)
        save(
            release_of(workload=workload, rho=np.float64(0.5), seed=np.int64(3), flag=np.True_, sizes=[1, 2]),
            tmp_path / "r",
        )
        again = load(tmp_path / "r")
        assert again.domain == workload.domain
        assert again.domain.labels == ((1, 2), (0.5, 1.0))
        assert again.provenance["seed"] == 3
        assert again.provenance["flag"] is True
        assert again.provenance["sizes"] == (1, 2)

    def test_labels_that_json_has_no_form_for(self, tmp_path):
        labels = [float("inf"), -float("inf"), float("nan"), Decimal("1.10"), -0.0]
        save(release_of(workload=Workload.all_kway(Domain({"a": labels}), 1)), tmp_path / "r")
        assert list(map(repr, load(tmp_path / "r").domain.labels[0])) == list(map(repr, labels))
        assert "Infinity" not in (tmp_path / "r" / "manifest.json").read_text()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"odd": float("nan")}, "finite numbers or lists in provenance, 'odd', got nan"),
            ({"odd": {"deep": (1, float("inf"))}}, "in provenance, 'odd', 'deep', got inf"),
            ({"odd": {1: 2}}, "got a dict"),
            ({"odd": b"raw"}, "got a bytes"),
            ({"odd": np.zeros(2)}, "got a ndarray"),
            ({"caveats": None}, 'Expected entries with a list of caveats as "provenance"'),
        ],
    )
    def test_what_cannot_be_kept_is_refused_before_anything_is_written(self, tmp_path, change, message):
        with pytest.raises(ReleaseError, match=f"The release cannot be saved: .*{message}"):
            save(release_of(**change), tmp_path / "r")
        assert not list(tmp_path.iterdir())

    def test_more_that_cannot_be_kept(self, tmp_path):
        odd = Workload.all_kway(Domain({"a": [Fraction(1, 3), 1j]}), 1)
        deep: dict = {}
        for _ in range(2000):
            deep = {"prior": deep}
        for release in (
            release_of(workload=odd),
            release_of(rho=float("inf")),
            release_of(spends=(Spend("gaussian", (0,), 10**38, 1.0),)),
            release_of(prior=deep),
            "no release",
        ):
            with pytest.raises(ReleaseError):
                save(release, tmp_path / "r")
        assert not list(tmp_path.iterdir())


class TestReading:
    def test_only_the_values_that_are_needed_are_read(self, saved, monkeypatch):
        parts = []
        read_part = folder.Folder.read_part

        def watched(self, name, offset, count, digest):
            parts.append(count // 8)
            return read_part(self, name, offset, count, digest)

        monkeypatch.setattr(folder.Folder, "read_part", watched)
        again = load(saved)
        assert parts == []
        again.marginal("age", "mle")
        assert parts == [1, 2]

    def test_damage_elsewhere_does_not_matter_and_is_found_where_it_does(self, saved, release):
        path = saved / "values.arrow"
        last = next(tau for tau in reversed(WORKLOAD.closure) if release.estimates.precision(tau) > 0)
        where = path.read_bytes().index(release.estimates.residual(last).tobytes())
        damage(path, where)
        again = load(saved)
        assert again.marginal("age", "mle").values.tobytes() == release.marginal("age", "mle").values.tobytes()
        with pytest.raises(ReleaseError, match=r"damaged: values.arrow is not as it was written"):
            again.marginal(last, "mle")

    def test_what_is_absorbed_later_stays_out_of_the_folder(self, saved, release):
        again = load(saved)
        before = again.estimates.precision((0,))
        again.estimates.absorb(NoisyResidual((0,), [1.0, 2.0], 1 / before))
        assert again.estimates.precision((0,)) == pytest.approx(2 * before)
        np.testing.assert_allclose(
            again.estimates.residual((0,)), (release.estimates.residual((0,)) + np.array([1.0, 2.0])) / 2
        )
        assert_same(load(saved), release)

    def test_residuals_of_many_batches(self, tmp_path, monkeypatch):
        monkeypatch.setattr("residuum.store.arrays._BATCH", 3)
        release = residual_planner(TABLE, WORKLOAD, rho=0.5, seed=2)
        save(release, tmp_path / "r")
        assert_same(load(tmp_path / "r"), release)

    def test_relative_paths_and_texts(self, release, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        save(replace(release, rho=1), "here")
        again = load("here")
        monkeypatch.chdir("/")
        assert_same(again, replace(release, rho=1.0))
        assert_same(pickle.loads(pickle.dumps(again)), again)

    def test_other_readers_understand_the_files(self, saved, release):
        pa = pytest.importorskip("pyarrow")
        values = pa.ipc.open_file(saved / "values.arrow").read_all()["value"].to_numpy()
        taus = [tau for tau in WORKLOAD.closure if release.estimates.precision(tau) > 0]
        np.testing.assert_array_equal(values, np.concatenate([release.estimates.residual(tau).ravel() for tau in taus]))
        table = pa.ipc.open_file(saved / "residuals.arrow").read_all()
        assert [tuple(tau) for tau in table["tau"].to_pylist()] == taus
        listed = json.loads((saved / "manifest.json").read_text())["files"]
        for name in folder.FILES:
            assert sha256((saved / name).read_bytes()).hexdigest() == listed[name]["sha256"]


class TestWriting:
    def test_permissions_are_the_users_own(self, saved):
        assert saved.stat().st_mode & 0o777 == 0o700
        assert {path.stat().st_mode & 0o777 for path in saved.iterdir()} == {0o600}

    def test_an_empty_folder_is_filled(self, release, tmp_path):
        (tmp_path / "empty").mkdir()
        save(release, tmp_path / "empty")
        assert_same(load(tmp_path / "empty"), release)
        assert sorted(os.listdir(tmp_path / "empty")) == sorted(FILES)

    def test_beside_a_journal(self, release, tmp_path):
        for name in ("journal", "journal.lock", "values.arrow"):
            (tmp_path / name).write_text("mine")
        (tmp_path / ".unfinished-abc").mkdir()
        with pytest.raises(ReleaseError, match="has not finished: there is a journal and no release yet"):
            load(tmp_path)
        save(release, tmp_path)
        assert_same(load(tmp_path), release)
        assert sorted(os.listdir(tmp_path)) == sorted([*FILES, "journal", "journal.lock"])
        assert (tmp_path / "journal").read_text() == "mine"

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            (["notes.txt"], "is not empty"),
            (["journal", "notes.txt"], "is not empty"),
            (["values.arrow"], "is not empty"),
            (["journal", "manifest.json"], "There is a release in .* already"),
        ],
    )
    def test_a_folder_in_use_is_left_alone(self, release, tmp_path, names, message):
        for name in names:
            (tmp_path / name).write_text("mine")
        with pytest.raises(ReleaseError, match=message):
            save(release, tmp_path)
        assert sorted(os.listdir(tmp_path)) == sorted(names)
        assert all((tmp_path / name).read_text() == "mine" for name in names)

    def test_paths_where_nothing_can_be_written(self, release, tmp_path):
        (tmp_path / "file").write_text("mine")
        (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
        for path, message in (
            (tmp_path / "file", "is a file"),
            (tmp_path / "dangling", "is a file"),
            (tmp_path / "no" / "parent", "could not be written .*: No such file or directory"),
            (tmp_path / "file" / "below", "could not be written .*: Not a directory"),
            (tmp_path / ("long" * 100), "could not be written .*: File name too long"),
            ("a\0b", "Expected the path of a folder"),
            (None, "Expected the path of a folder"),
        ):
            with pytest.raises(ReleaseError, match=message):
                save(release, path)
        assert sorted(os.listdir(tmp_path)) == ["dangling", "file"]

    @pytest.mark.parametrize("there", [False, True])
    @pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=type)
    @pytest.mark.parametrize("call", ["fsync", "rename", "replace", "write"])
    def test_nothing_half_written_remains(self, release, tmp_path, monkeypatch, there, error, call):
        """Every call of a kind fails in turn, until saving gets through without meeting the failure."""
        path = tmp_path / "r"
        for failing in range(100):
            if there:
                path.mkdir(exist_ok=True)
                (path / "journal").touch()
            with monkeypatch.context() as patch:
                calls = fail(patch, call, failing, error)
                with suppress(KeyboardInterrupt):
                    error_text = one_line(lambda: save(release, path))
                    assert error_text is None or "No space left on device" in error_text
            if calls[0] <= failing:
                break
            whole = (path / "manifest.json").exists()  # only the last word to the disk may fail after the commit
            if whole:
                assert call == "fsync"
                assert_same(load(path), release)
                shutil.rmtree(path)
            else:
                assert os.listdir(tmp_path) == (["r"] if there else [])
                assert not there or os.listdir(path) == ["journal"]
        else:
            pytest.fail("saving never got through")
        assert_same(load(path), release)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_a_read_only_folder(self, release, tmp_path):
        tmp_path.chmod(0o500)
        with pytest.raises(ReleaseError, match=r"could not be written .*: Permission denied"):
            save(release, tmp_path / "r")
        tmp_path.chmod(0o700)
        assert not os.listdir(tmp_path)

    def test_two_at_once(self, release, tmp_path):
        handle = os.open(tmp_path, os.O_RDONLY)
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(ReleaseError, match="Another process is writing"):
            save(release, tmp_path)
        os.close(handle)
        save(release, tmp_path)
        assert_same(load(tmp_path), release)

    def test_a_killed_process_leaves_no_release_and_can_be_followed(self, release, tmp_path):
        (tmp_path / "journal").touch()
        child = multiprocessing.get_context("fork").Process(target=_die_before_the_manifest, args=(release, tmp_path))
        child.start()
        child.join()
        assert child.exitcode == 9
        assert "values.arrow" in os.listdir(tmp_path)
        with pytest.raises(ReleaseError, match="has not finished"):
            load(tmp_path)
        save(release, tmp_path)
        assert_same(load(tmp_path), release)


def _die_before_the_manifest(release, path):
    replace_file = os.replace
    os.replace = lambda source, to: os._exit(9) if to.name == "manifest.json" else replace_file(source, to)
    save(release, path)


def fail(patch, call, failing, error):
    """Have one call fail, the one with this number; count them all."""
    calls = [0]

    def counted(original):
        def replacement(*args, **kwargs):
            calls[0] += 1
            if calls[0] == failing + 1:
                raise error
            return original(*args, **kwargs)

        return replacement

    if call == "write":
        patch.setattr("residuum.store.folder.write", counted(folder.write))
        patch.setattr("residuum.store.arrays.created", counted(folder.created))
    elif call == "rename":
        patch.setattr(Path, "rename", counted(Path.rename))
    else:
        patch.setattr(os, call, counted(getattr(os, call)))
    return calls


def damage(path: Path, where: int, flip: int = 1) -> None:
    data = bytearray(path.read_bytes())
    data[where] ^= flip
    path.write_bytes(data)


class TestDamage:
    def check(self, path, release):
        """The right answer or one clear line."""

        def same():
            again = load(path)
            assert answers(again) == answers(release)
            assert_same(again, release)

        error = one_line(same)
        assert error is None or str(path) in error
        return error

    @pytest.mark.parametrize("name", FILES)
    def test_cut_short(self, saved, release, name):
        data = (saved / name).read_bytes()
        for length in {0, 1, len(data) - 1, *random.Random(0).sample(range(len(data)), 40)}:
            (saved / name).write_bytes(data[:length])
            error = self.check(saved, release)
            assert error or data[length:].isspace()

    @pytest.mark.parametrize("name", FILES)
    def test_a_flipped_bit(self, saved, release, name):
        data = (saved / name).read_bytes()
        draw = random.Random(0)
        quiet = 0
        for where in draw.sample(range(len(data)), min(len(data), 250)):
            damage(saved / name, where, 1 << draw.randrange(8))
            quiet += self.check(saved, release) is None
            (saved / name).write_bytes(data)
        assert quiet == 0 or name in ("values.arrow", "manifest.json")  # headers and spaces that nobody reads

    @pytest.mark.parametrize("name", FILES)
    def test_something_added(self, saved, release, name):
        with (saved / name).open("ab") as file:
            file.write(b"more")
        assert self.check(saved, release)

    @pytest.mark.parametrize("name", FILES)
    def test_missing_or_not_a_file(self, saved, release, name):
        (saved / name).unlink()
        assert self.check(saved, release)
        (saved / name).mkdir()
        assert "is not a file" in self.check(saved, release)
        (saved / name).rmdir()
        os.mkfifo(saved / name)
        assert "is not a file" in self.check(saved, release)

    @pytest.mark.parametrize("name", folder.FILES)
    def test_the_file_of_another_release(self, saved, release, tmp_path, name):
        other = aim(TABLE, WORKLOAD, epsilon=1.0, delta=1e-6, seed=2)
        save(other, tmp_path / "other")
        shutil.copy(tmp_path / "other" / name, saved / name)
        assert "is not as" in self.check(saved, release)

    def test_lost_after_opening(self, saved):
        again = load(saved)
        shutil.rmtree(saved)
        with pytest.raises(ReleaseError, match=r"values\.arrow is not there"):
            again.marginal("age", "mle")

    def test_foreign_folders(self, tmp_path):
        (tmp_path / "file").touch()
        (tmp_path / "foreign").mkdir()
        for path, message in (
            (tmp_path / "nowhere", "there is no such folder"),
            (tmp_path / "file", "which is a file"),
            (tmp_path / "file" / "below", "which is a file"),
            (tmp_path / ("long" * 100), "cannot be read: File name too long"),
            (tmp_path / "foreign", "has no manifest.json"),
            (None, "Expected the path"),
        ):
            with pytest.raises(ReleaseError, match=message):
                load(path)
        for text in ("[]", "{}", "1", '{"format": "other"}', '{"name": "an app", "icons": []}'):
            (tmp_path / "foreign" / "manifest.json").write_text(text)
            with pytest.raises(ReleaseError, match=r"manifest.json is of another kind"):
                load(tmp_path / "foreign")
        for text in ("", "{", "NaN", '{"rho": 1e999}', "\xff", "[" * 100_000, "1" * 5000, '{"rho": Infinity}'):
            (tmp_path / "foreign" / "manifest.json").write_text(text)
            with pytest.raises(ReleaseError, match=r"manifest.json is no JSON that residuum writes"):
                load(tmp_path / "foreign")

    def test_a_newer_format(self, saved):
        rewrite(saved, {"version": 2})
        with pytest.raises(ReleaseError, match=r"has format 2, and this residuum reads up to 1\. Install a newer one"):
            load(saved)

    def test_a_changed_manifest(self, saved):
        path = saved / "manifest.json"
        path.write_text(path.read_text().replace('"not private: seeded"', '"fine"'))
        with pytest.raises(ReleaseError, match=r"manifest.json was changed after it was written"):
            load(saved)

    def test_attributes_that_are_larger_than_the_file(self, saved):
        for size in (4, 10**6, 10**30):
            domain = json.loads((saved / "manifest.json").read_text())["domain"]
            domain[0]["size"] = size
            rewrite(saved, {"domain": domain})
            assert "damaged: values.arrow" in one_line(lambda: load(saved).marginal("age", "mle"))

    wrong = ("", "text", 0, -1, 1.5, True, None, [], {}, [[]], [{}], [None], {"a": 1}, [[[0], 1.0], [[9], 1.0]])

    @pytest.mark.parametrize(
        "key", ["version", "rho", "provenance", "lineage", "schema", "files", "domain", "workload"]
    )
    @pytest.mark.parametrize("value", wrong, ids=repr)
    def test_entries_of_the_wrong_kind(self, saved, key, value):
        fits = [("rho", 1.5), ("lineage", []), ("schema", None), ("schema", {}), ("schema", {"a": 1})]
        rewrite(saved, {key: value})
        if (key, value) in fits and type(value) is not bool:
            assert load(saved)
        else:
            with pytest.raises(ReleaseError, match=r"makes no sense|names residuals") as caught:
                load(saved)
            assert "\n" not in str(caught.value)

    @given(st.data())
    @settings(fuzz, max_examples=2500)
    def test_any_change_of_a_manifest(self, tmp_path, release, data):
        """With the checksum made right again, so that the entries themselves are looked at."""
        path = tmp_path / "fuzzed"
        if not path.exists():
            save(release, path)
        content = json.loads((path / "manifest.json").read_text())
        rewrite(path, mutated(content, data))
        one_line(lambda: answers(load(path)))
        rewrite(path, content)

    @pytest.mark.parametrize("name", ["residuals.arrow", "spends.arrow"])
    def test_any_change_of_a_table(self, saved, name):
        """With all checksums made right again, so that Arrow itself looks at the bytes."""
        data = (saved / name).read_bytes()
        draw = random.Random(0)
        for _ in range(400):
            damage(saved / name, draw.randrange(len(data)), 1 << draw.randrange(8))
            rewrite(saved, {"files": folder.listing(saved)})
            one_line(lambda: answers(load(saved)))
            (saved / name).write_bytes(data)


def rewrite(path, changes):
    """Change entries of a manifest and seal it again."""
    content = json.loads((path / "manifest.json").read_text()) | changes
    content.pop("sha256", None)
    files = content.pop("files")
    (path / "manifest.json").write_bytes(manifest.sealed(content, files))


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


def mutated(value, data):
    """The same entries, with one place, however deep, made into something else."""
    if isinstance(value, dict | list) and value and data.draw(st.integers(0, 4)):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = data.draw(st.sampled_from(keys))
        copy = value.copy()
        copy[key] = mutated(value[key], data)
        return copy
    return data.draw(ANYTHING) if not isinstance(value, dict) or "format" not in value else value


def test_schema_is_kept_where_both_agree(release):
    other = aim(TABLE, WORKLOAD, rho=0.1, seed=3)
    one, two, three = replace(release, schema={"a": (1,)}), replace(other, schema={"a": (1,)}), other
    assert one.combine(two).schema == {"a": (1,)}
    assert one.combine(three).schema is None
