import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from residuum import (
    Domain,
    DomainError,
    Estimates,
    Marginal,
    NoisyMarginal,
    NoisyResidual,
    Release,
    ReleaseError,
    ResiduumError,
    Table,
    Workload,
    aim,
    residual_planner,
)
from residuum.estimate.nonnegative import to_simplex
from residuum.release import fingerprint, measurements

DOMAIN = Domain({"age": 3, "sex": 2, "educ": 4, "city": 2})
WORKLOAD = Workload(DOMAIN, [("age", "sex", "educ"), ("city",)])
TABLE = Table.from_codes(np.random.default_rng(0).integers(0, DOMAIN.sizes, size=(500, 4)), DOMAIN)


def release_of(*measured, rho=1.0, caveats=("made up",), workload=WORKLOAD, lineage="here"):
    estimates = Estimates(workload, measured)
    return Release(estimates, rho, (), {"mechanism": "by hand", "caveats": caveats}, frozenset({lineage}))


@pytest.fixture(scope="module")
def release():
    return aim(TABLE, WORKLOAD, rho=1.0, seed=1)


class TestMarginal:
    @pytest.mark.parametrize(
        "asked",
        [
            ("educ", "age", "sex"),
            ("age", "sex", "educ"),
            (2, 0, 1),
            (2, "sex"),
            ["sex", "educ"],
            (np.int64(1), np.int64(0)),
            iter(["educ", "sex"]),
        ],
        ids=str,
    )
    def test_axes_in_the_order_asked_for(self, release, asked):
        asked = list(asked)
        marginal = release.marginal(iter(asked), "mle")
        places = [DOMAIN.clique(attribute)[0] for attribute in asked]
        gamma = tuple(sorted(places))
        assert marginal.attributes == tuple(DOMAIN.names[i] for i in places)
        assert marginal.values.shape == tuple(DOMAIN.sizes[i] for i in places)
        assert marginal.values.flags.c_contiguous
        expected = release.estimates.marginal(gamma)
        np.testing.assert_array_equal(np.transpose(marginal.values, np.argsort(places)), expected)

    @pytest.mark.parametrize("asked", ["educ", 2, ("educ",), [2]])
    def test_one_attribute(self, release, asked):
        marginal = release.marginal(asked, "mle")
        assert marginal.attributes == ("educ",)
        np.testing.assert_array_equal(marginal.values, release.estimates.marginal((2,)))

    def test_one_attribute_as_a_numpy_number(self, release):
        assert release.marginal(np.int64(2), "mle").attributes == ("educ",)

    def test_the_total(self, release):
        marginal = release.marginal((), "mle")
        assert marginal.attributes == ()
        assert marginal.values.shape == ()
        assert marginal.values == pytest.approx(500, abs=6 * marginal.noise_stderr)
        assert marginal.noise_stderr == pytest.approx(1 / sqrt(release.estimates.precision(())))

    def test_the_values_are_the_callers_own(self, release):
        before = release.marginal(("age", "sex"), "mle").values
        release.marginal(("age", "sex"), "mle").values[:] = 0
        np.testing.assert_array_equal(release.marginal(("age", "sex"), "mle").values, before)

    def test_noise_stderr_by_hand(self):
        """Prop. 4.4 with the variances combined: for sizes 3 and 2."""
        release = release_of(
            NoisyResidual((), 100.0, 4.0),
            NoisyResidual((), 90.0, 12.0),  # combined: 3
            NoisyResidual((0,), [1.0, 2.0], 5.0),
            NoisyResidual((1,), [3.0], 7.0),
            NoisyResidual((0, 1), [[1.0], [1.0]], 11.0),
        )
        variance = 3 / 36 + 5 * (2 / 3) / 4 + 7 * (1 / 2) / 9 + 11 * (2 / 3) * (1 / 2)
        for asked in (("age", "sex"), ("sex", "age")):
            marginal = release.marginal(asked, "mle")
            assert marginal.noise_stderr == pytest.approx(sqrt(variance))
            assert marginal.unmeasured == ()
        assert release.marginal("age", "mle").noise_stderr == pytest.approx(sqrt(3 / 9 + 5 * (2 / 3)))

    def test_a_measured_marginal_has_its_own_standard_error(self):
        release = release_of(NoisyMarginal((0, 1, 2), np.zeros((3, 2, 4)), 6.25))
        assert release.marginal((0, 1, 2), "mle").noise_stderr == pytest.approx(2.5)
        assert release.marginal((0, 2), "mle").noise_stderr == pytest.approx(2.5 * sqrt(2))

    def test_what_nobody_measured_is_named(self):
        release = release_of(NoisyResidual((), 100.0, 4.0), NoisyResidual((1,), [3.0], 7.0))
        marginal = release.marginal(("educ", "sex"), "mle")
        assert marginal.unmeasured == (("educ",), ("sex", "educ"))
        assert marginal.noise_stderr == pytest.approx(sqrt(4 / 64 + 7 / 2 / 16))
        nothing = release_of().marginal("age", "mle")
        assert nothing.unmeasured == ((), ("age",))
        assert nothing.noise_stderr == 0
        assert not nothing.values.any()

    def test_outside_the_closure(self, release):
        with pytest.raises(ReleaseError, match=r"no marginal over 'age', 'city'.*cliques contains together"):
            release.marginal(("city", "age"), "mle")

    def test_unknown_attributes(self, release):
        with pytest.raises(DomainError, match="Unknown attribute 'income'"):
            release.marginal(("age", "income"), "mle")
        with pytest.raises(DomainError, match="Unknown attribute 9"):
            release.marginal(9, "mle")
        with pytest.raises(DomainError, match="named twice"):
            release.marginal(("age", 0), "mle")
        with pytest.raises(ResiduumError):
            release.marginal((1.5,), "mle")


def marginal_of(shape, *labels, names=None, stderr=2.0):
    names = names or tuple("abcdefg"[: len(shape)])
    values = np.arange(np.prod(shape, dtype=int), dtype=float).reshape(shape)
    return Marginal(names, values, 2.0, (), labels, "mle", None if stderr is None else np.full(shape, stderr))


class TestTables:
    def test_a_row_per_cell(self):
        marginal = marginal_of((2, 3), ("f", "m"), None, names=("sex", "age"))
        table = marginal.to_arrow()
        assert table.column_names == ["sex", "age", "value", "stderr", "lower", "upper"]
        assert table["sex"].to_pylist() == ["f", "f", "f", "m", "m", "m"]
        assert table["age"].to_pylist() == [0, 1, 2, 0, 1, 2]
        assert table["value"].to_pylist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
        assert set(table["stderr"].to_pylist()) == {2.0}
        np.testing.assert_allclose(table["upper"].to_numpy(), marginal.values.ravel() + 1.959963984540054 * 2)
        np.testing.assert_allclose(table["lower"].to_numpy(), marginal.values.ravel() - 1.959963984540054 * 2)

    def test_pandas_and_polars_say_the_same(self):
        marginal = marginal_of((2, 3), ("f", "m"), (10, 20, 30))
        expected = marginal.to_arrow().to_pydict()
        assert marginal.to_pandas().to_dict("list") == expected
        assert marginal.to_polars().to_dict(as_series=False) == expected
        assert marginal.to_pandas()["b"].dtype == np.int64

    def test_no_interval_where_the_error_is_not_known(self):
        marginal = marginal_of((2,), ("f", "m"), stderr=None)
        assert marginal.to_arrow()["lower"].to_pylist() == marginal.to_arrow()["upper"].to_pylist() == [None, None]
        assert marginal.to_pandas()["upper"].isna().all()
        assert marginal.to_pandas()["upper"].dtype == np.float64
        assert marginal.to_polars()["lower"].null_count() == 2
        assert marginal.to_arrow()["value"].null_count == 0

    def test_the_total_is_one_row(self):
        table = marginal_of(()).to_arrow()
        assert table.column_names == ["value", "stderr", "lower", "upper"]
        assert table.num_rows == len(marginal_of(()).to_pandas()) == marginal_of(()).to_polars().height == 1

    def test_attributes_keep_their_names(self):
        table = marginal_of((2, 2, 2), None, None, None, names=("value", "upper", "value_")).to_arrow()
        assert table.column_names == ["value", "upper", "value_", "value__", "stderr", "lower", "upper_"]
        assert table["value__"].to_pylist() == list(range(8))

    @pytest.mark.parametrize(
        ("labels", "expected"),
        [
            (("f", None), ["f", None]),
            ((True, False), [True, False]),
            ((1, 2), [1, 2]),
            ((0.5, 1), [0.5, 1.0]),
            ((np.int64(3), np.int64(4)), [3, 4]),
            ((Decimal("1.10"), Decimal("2")), [Decimal("1.10"), Decimal("2.00")]),
            (("none", 1, 2.5, None), ["none", "1", "2.5", None]),
            (("1", 1), ["'1'", "1"]),
            ((10**30, 1), [str(10**30), "1"]),
            ((Fraction(1, 3), 2), ["1/3", "2"]),
        ],
        ids=repr,
    )
    def test_labels_keep_their_type_or_become_text(self, labels, expected):
        column = marginal_of((len(labels),), labels).to_arrow()["a"].to_pylist()
        assert column == expected
        assert [type(label) for label in column] == [type(label) for label in expected]

    def test_a_release_hands_its_labels_on(self):
        domain = Domain({"age": 3, "sex": ["f", "m"]})
        release = release_of(workload=Workload.all_kway(domain, 2))
        assert release.marginal(("sex", "age"), "mle").labels == (("f", "m"), None)
        assert release.marginal(("sex", "age"), "mle").to_arrow()["sex"].to_pylist() == ["f"] * 3 + ["m"] * 3

    def test_the_interval_covers_the_truth_as_often_as_it_says(self):
        draw = np.random.default_rng(5)
        truth = np.arange(24.0).reshape(3, 2, 4)
        covered = 0
        for _ in range(200):
            noisy = NoisyMarginal((0, 1, 2), truth + draw.normal(scale=2.0, size=truth.shape), 4.0)
            table = release_of(noisy).marginal(("educ", "age"), "mle").to_arrow()
            true = truth.sum(axis=1).T.ravel()
            covered += np.sum((table["lower"].to_numpy() <= true) & (true <= table["upper"].to_numpy()))
        assert covered / (200 * 12) == pytest.approx(0.95, abs=0.02)

    @pytest.mark.parametrize(
        ("library", "method", "requirement"),
        [
            ("pandas", "to_pandas", "residuum[pandas]"),
            ("polars", "to_polars", "residuum[polars]"),
            ("pyarrow", "to_arrow", "residuum"),
        ],
    )
    def test_a_missing_library_is_named(self, monkeypatch, library, method, requirement):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ReleaseError) as caught:
            getattr(marginal_of((2,), None), method)()
        assert str(caught.value) == f"This needs {library}, which is not installed. Run: pip install '{requirement}'"


def test_domain_and_workload(release):
    assert release.domain is DOMAIN
    assert release.workload is WORKLOAD
    assert "spends" not in repr(release)


def test_measurements_build_the_same_estimates_again(release):
    again = Estimates(WORKLOAD, measurements(release.estimates))
    for gamma in WORKLOAD.closure:
        np.testing.assert_allclose(again.marginal(gamma), release.estimates.marginal(gamma))
        assert again.precision(gamma) == pytest.approx(release.estimates.precision(gamma))


def test_fingerprints_tell_runs_apart():
    prints = [fingerprint(aim(TABLE, WORKLOAD, rho=1.0, seed=seed).estimates) for seed in (1, 1, 2)]
    assert prints[0] == prints[1] != prints[2]


class TestCombine:
    def test_by_precision(self):
        one = aim(TABLE, WORKLOAD, rho=0.3, seed=1)
        two = residual_planner(TABLE, WORKLOAD, rho=0.5, seed=2)
        merged = one.combine(two)
        for tau in WORKLOAD.closure:
            a, b = one.estimates.precision(tau), two.estimates.precision(tau)
            assert merged.estimates.precision(tau) == pytest.approx(a + b)
            expected = (a * one.estimates.residual(tau) + b * two.estimates.residual(tau)) / (a + b)
            np.testing.assert_allclose(merged.estimates.residual(tau), expected)
        assert one.rho + two.rho < merged.rho <= (one.rho + two.rho) * (1 + 1e-15)
        assert merged.spends == one.spends + two.spends
        assert merged.lineage == one.lineage | two.lineage
        assert merged.provenance["parts"] == (one.provenance, two.provenance)
        assert merged.marginal((0, 1), "mle").noise_stderr < min(
            one.marginal((0, 1), "mle").noise_stderr, two.marginal((0, 1), "mle").noise_stderr
        )

    def test_neither_is_changed(self):
        one, two = (aim(TABLE, WORKLOAD, rho=0.3, seed=seed) for seed in (1, 2))
        before = fingerprint(one.estimates), fingerprint(two.estimates)
        one.combine(two)
        assert (fingerprint(one.estimates), fingerprint(two.estimates)) == before

    def test_what_only_one_measured(self):
        one = release_of(NoisyResidual((), 10.0, 1.0), lineage="one")
        two = release_of(NoisyResidual((0,), [1.0, 2.0], 2.0), lineage="two")
        merged = one.combine(two)
        assert merged.estimates.precision(()) == 1
        assert merged.estimates.precision((0,)) == 0.5
        assert merged.marginal("age", "mle").unmeasured == ()
        np.testing.assert_allclose(merged.estimates.residual((0,)), [1.0, 2.0])

    def test_caveats_are_merged(self):
        one = release_of(lineage="one", caveats=("old data", "seeded"))
        two = release_of(lineage="two", caveats=("seeded", "rounded"))
        assert one.combine(two).provenance["caveats"] == ("old data", "seeded", "rounded")

    def test_shared_measurements_are_refused(self):
        one, two, three = (aim(TABLE, WORKLOAD, rho=0.3, seed=seed) for seed in (1, 2, 3))
        after = aim(TABLE, WORKLOAD, rho=0.1, seed=4, prior=one)
        later = aim(TABLE, WORKLOAD, rho=0.1, seed=5, prior=after)
        both = one.combine(two)
        for left, right in ((one, one), (one, after), (after, one), (one, later), (both, two), (both, later)):
            with pytest.raises(ReleaseError, match="share measurements"):
                left.combine(right)
        assert both.combine(three).lineage == one.lineage | two.lineage | three.lineage
        assert after.combine(two).rho == pytest.approx(0.7)

    def test_another_workload_or_domain(self):
        one = release_of(lineage="one")
        weights = dict(WORKLOAD.weights)
        other_weights = Workload(DOMAIN, {gamma: 2 * weight for gamma, weight in weights.items()})
        other_domain = Domain(dict(zip(DOMAIN.names, (4, 2, 4, 2), strict=True)))
        for workload in (
            Workload(DOMAIN, [("age", "sex")]),
            other_weights,
            Workload(other_domain, list(weights)),
        ):
            with pytest.raises(ReleaseError, match="same domain and the same workload"):
                one.combine(release_of(workload=workload, lineage="two"))
        assert one.combine(release_of(workload=Workload(DOMAIN, list(weights)), lineage="two"))


def test_runs_with_one_seed_are_not_combined():
    one, two = (residual_planner(TABLE, WORKLOAD, rho=rho, seed=1) for rho in (0.5, 0.6))
    with pytest.raises(ReleaseError, match="share measurements or a seed"):
        one.combine(two)


def test_runs_for_other_people_are_not_combined():
    one, two = (residual_planner(TABLE, WORKLOAD, rho=0.5, rows_per_person=k, seed=k) for k in (1, 2))
    with pytest.raises(ReleaseError, match="same rows_per_person"):
        one.combine(two)


PAIRS = Workload.all_kway(Domain({"age": 3, "sex": ["f", "m"], "educ": 4}), 2)
PAIR = NoisyMarginal((0, 1), [[60, -2], [0, 40], [30, 30]], sigma2=4.0)


@pytest.fixture(scope="module")
def made():
    return release_of(PAIR, workload=PAIRS)


class TestEstimates:
    """What is measured of age and sex, and nothing of education."""

    def test_the_most_likely_one_is_what_was_measured(self, made):
        marginal = made.marginal((0, 1), "mle")
        np.testing.assert_allclose(marginal.values, PAIR.values)
        assert marginal.lower.min() < -2 < marginal.upper.min()

    def test_a_nonnegative_one_is_the_nearest(self, made):
        np.testing.assert_allclose(
            made.marginal((1, 0), "nonnegative").values, to_simplex(np.transpose(PAIR.values), 158.0)
        )
        assert made.marginal((1, 0), "nonnegative").stderr is None

    def test_latent_classes_agree_and_spread_evenly_what_is_not_known(self, made):
        pair = made.marginal((0, 1), "latent").values
        np.testing.assert_allclose(pair.sum(axis=1), made.marginal(0, "latent").values, rtol=1e-5)
        np.testing.assert_allclose(made.marginal(2, "latent").values, 158 / 4, rtol=0.25)
        np.testing.assert_allclose(pair, PAIR.values, atol=6)

    def test_the_best_is_between_and_its_interval_no_wider_than_the_noise(self, made):
        best = made.marginal(("age", "sex"))
        assert best.estimate == "best"
        assert best.values.min() >= 0
        assert best.values.sum() == pytest.approx(158)
        assert (best.stderr <= best.noise_stderr).all()
        assert best.lower.min() == 0
        assert made.marginal(("age", "educ")).stderr.min() > best.noise_stderr

    def test_names_of_estimates(self, made):
        with pytest.raises(ReleaseError, match="among 'best', 'mle', 'nonnegative', 'latent', got 'truth'"):
            made.marginal(0, "truth")

    def test_the_fit_is_the_same_again_and_told_about(self, made):
        shares = []
        again = release_of(PAIR, workload=PAIRS).fit(progress=shares.append)
        np.testing.assert_array_equal(again.shares, made.fit().shares)
        assert shares[-1] == 1
        assert shares == sorted(shares)
        other = replace(release_of(PAIR, workload=PAIRS), lineage=frozenset({"another"})).fit()
        assert not np.array_equal(other.shares, again.shares)

    def test_the_rows_have_labels_and_come_again_with_a_seed(self, made):
        rows = made.sample(seed=1)
        assert rows.num_rows == 158
        assert rows.column_names == ["age", "sex", "educ"]
        assert set(rows["sex"].to_pylist()) == {"f", "m"}
        assert rows.equals(made.sample(158, seed=1))
        assert not rows.equals(made.sample(158, seed=2))
        assert not made.sample(158).equals(made.sample(158))

    @pytest.mark.parametrize("seed", [-1, "x", 1.0, True])
    def test_a_seed_of_rows_is_a_whole_number(self, made, seed):
        with pytest.raises(ReleaseError, match=f"Expected a seed to be a whole number from 0, got {seed!r}"):
            made.sample(seed=seed)

    def test_a_wrong_number_of_rows_is_told_before_the_first_is_asked_for(self, made):
        with pytest.raises(ReleaseError, match="got -1"):
            made.sample_batches(-1)

    def test_whole_numbers(self, made):
        whole = made.marginal((0, 1)).to_integers()
        assert whole.values.dtype == np.int64
        assert whole.values.sum() == 158
        assert whole.to_arrow()["value"].type == "int64"
