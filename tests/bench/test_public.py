"""The paper's public files, on small ones of the same format."""

import numpy as np
import pytest
from bench import data, public

PEOPLE = 3000


def write_acs(path, rows=PEOPLE):
    """A person file: numbers, codes and flags, many of which are empty for many people."""
    rng = np.random.default_rng(0)
    lines = ["RT,SERIALNO,ST,PUMA,AGEP,SEX,SCHL,PINCP,WAOB,FSEXP,MIG"]
    for i in range(rows):
        age = int(rng.integers(0, 90))
        lines.append(
            ",".join([
                "P", f"2018HU{i:07}", "06", f"{rng.integers(101, 400):05}", f"{age:02}", str(rng.integers(1, 3)),
                f"{rng.integers(1, 25):02}" if age >= 3 else "", str(rng.integers(0, 10**5)) if age >= 15 else "",
                str(rng.integers(1, 9)), str(rng.integers(0, 2)), "" if i == 7 else str(rng.integers(1, 4)),
            ])
        )  # fmt: skip
    path.write_text("\n".join(lines) + "\n")
    return path


def test_acs_keeps_what_everybody_answers_and_few_values_say(tmp_path):
    table = public.acs(write_acs(tmp_path / "psam_p06.csv"))
    # RT and ST say one thing, SERIALNO and PUMA too many, SCHL and PINCP are not asked of children, one left MIG empty
    assert table.domain.names == ("AGEP", "SEX", "WAOB", "FSEXP")
    assert table.domain.sizes == (90, 2, 8, 2)
    assert table.columns.shape[1] == PEOPLE


LOANS = """Notes offered by Prospectus (https://www.lendingclub.com/info/prospectus.action)
"id","loan_amnt","term","int_rate","grade","purpose","desc","policy_code","emp_length"
"","5000"," 36 months"," 10.65%","B","credit_card","  Borrower added, ""café"" ","1","10+ years"
"","2500"," 60 months"," 15.27%","C","car","","1","n/a"

Loans that do not meet the credit policy
"","2400"," 36 months"," 15.27%","C","small_business","","1","< 1 year"
"","5000"," 60 months","","B","car","","1","n/a"
Total amount funded in policy code 1: 460296150,,,,,,,,
"""


@pytest.mark.parametrize("notes", [True, False])
def test_loans_are_told_from_what_stands_between_them(tmp_path, notes):
    path = tmp_path / "LoanStats3a.csv"
    path.write_bytes((LOANS if notes else LOANS.split("\n", 1)[1]).encode("latin-1"))
    table = public.loans(path)
    # one loan has no rate, and "n/a" is an answer
    assert table.domain.names == ("loan_amnt", "term", "grade", "purpose", "emp_length")
    assert table.domain.sizes == (3, 2, 2, 3, 3)
    np.testing.assert_array_equal(table.columns[1], [0, 1, 0, 1])


def test_attributes_with_too_many_values_go(tmp_path):
    path = tmp_path / "psam_p06.csv"
    rows = [f"{i},{i % public.MOST_VALUES},{i % (public.MOST_VALUES + 1)},{i % 2}" for i in range(500)]
    path.write_text("\n".join(["SERIALNO,AGEP,PINCP,SEX", *rows]))
    assert public.acs(path).domain.names == ("AGEP", "SEX")


def test_adult_is_coded_by_its_sorted_values(tmp_path):
    path = tmp_path / "adult.csv"
    names = ",".join(f"c{i}" for i in range(15))
    path.write_text(f"{names}\n{','.join(['10'] * 15)}\n{','.join(['9'] * 15)}\n{','.join(['100'] * 15)}\n")
    table = public.adult(path)
    assert table.columns[0].tolist() == [1, 0, 2]


@pytest.mark.parametrize("read", [public.adult, public.acs, public.loans])
@pytest.mark.parametrize(
    "content", [None, "", "a,b\n", "a,b\n1,2\n", "a,b\n1\n2,3,4\n", "x" * 100, b"\xff\xfe\x00\x81"]
)
def test_a_file_that_is_something_else_is_refused_in_a_line(tmp_path, read, content):
    path = tmp_path / "other.csv"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        path.write_text(content)
    with pytest.raises(public.UnreadableError) as refused:
        read(path)
    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)


def test_a_stand_in_takes_the_place_of_a_file_that_is_not_named(monkeypatch, tmp_path):
    monkeypatch.delenv("ACS", raising=False)
    monkeypatch.setitem(data.FILES, "acs", "")
    assert data.at_hand("acs") == "acs-shaped"
    assert data.is_stand_in("acs-shaped")
    monkeypatch.setitem(data.FILES, "acs", str(write_acs(tmp_path / "psam_p06.csv")))
    assert data.at_hand("acs") == "acs"
    assert data.load("acs").domain.names[0] == "AGEP"


def test_a_wrong_path_is_no_reason_to_measure_a_stand_in(monkeypatch):
    monkeypatch.setenv("LOANS", "nowhere.csv")
    assert data.at_hand("loans") == "loans"


def test_some_attributes_of_a_table_come_at_regular_distances():
    table = data.tree([2, 3, 4, 5, 6], 100)
    some = data.some_attributes(table, 3)
    assert (some.domain.names, some.domain.sizes) == (("x0", "x2", "x4"), (2, 4, 6))
    np.testing.assert_array_equal(some.columns, table.columns[[0, 2, 4]])


@pytest.mark.parametrize("name", data.PAPER)
def test_stand_ins_have_the_shape_that_the_paper_states(name):
    from bench.quoted import DATA_SETS

    shape, paper = data.SHAPES[name], DATA_SETS[name]
    assert (shape["rows"], len(shape["sizes"])) == (paper.rows, paper.attributes)
    assert np.mean(shape["sizes"]) == pytest.approx(paper.average_size, rel=0.005)
