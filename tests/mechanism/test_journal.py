import errno
import os
import resource

import numpy as np
import pytest

from residuum import ReleaseError
from residuum.mechanism.journal import Journal


def ask(journal, number, value=None):
    """Put a question to a journal that it may know; where it does not, a value is drawn or there is to be none."""

    def draw():
        assert value is not None, "drawn again"
        return [np.array([float(value), 0.5]), np.array(number)]

    return journal.once({"number": number}, draw)


def write(folder, answers=3):
    """A journal with a reservation and answers, as a run leaves it that died."""
    journal = Journal.create(folder, {"name": "run"})
    journal.begin(lambda _: None, lambda: None)
    journal.write({"reserved": "12"})
    for number in range(answers):
        ask(journal, number, value=10 * number)
    journal.close()
    return (folder / "journal").read_bytes()


def reopened(folder):
    """What a journal tells when it is opened again: how it started, the answers that it knows, and what is reserved."""
    journal, start = Journal.open(folder)
    try:
        journal.begin(lambda _: None, lambda: None)
        known = []
        while journal.recalling:
            known.append(ask(journal, len(known))[0].tolist())
        return start, known, journal.reserved
    finally:
        journal.close()


KNOWN = [[0.0, 0.5], [10.0, 0.5], [20.0, 0.5]]


class TestWriting:
    def test_what_was_answered_is_not_drawn_again(self, place):
        write(place / "run")
        assert reopened(place / "run") == ({"name": "run"}, KNOWN, 12)

    def test_it_goes_on_where_it_ended(self, place):
        write(place, answers=2)
        journal, _ = Journal.open(place)
        journal.begin(lambda _: None, lambda: None)
        for number in range(3):
            ask(journal, number, value=None if number < 2 else 20)
        journal.close()
        assert reopened(place)[1] == KNOWN

    def test_losses_are_told_where_they_were(self, place):
        journal = Journal.create(place, {})
        journal.begin(lambda _: None, lambda: None)
        journal.write({"lost": "1"})
        ask(journal, 0, value=0)
        journal.write({"lost": "2"})
        journal.close()
        journal, _ = Journal.open(place)
        told = []
        journal.begin(lambda units: told.append(f"lost {units}"), lambda: told.append("end"))
        assert told == ["lost 1"]
        ask(journal, 0)
        assert told == ["lost 1", "lost 2", "end"]
        journal.close()

    def test_another_question_is_an_error(self, place):
        write(place)
        journal, _ = Journal.open(place)
        with pytest.raises(ReleaseError, match="does not fit this run"):
            ask(journal, 1)
        journal.close()

    def test_after_the_end_nothing_is_drawn(self, place):
        journal = Journal.create(place, {})
        journal.write({"end": "0", "charges": 0})
        journal.close()
        journal, _ = Journal.open(place)
        journal.begin(lambda _: None, lambda: None)
        with pytest.raises(ReleaseError, match="does not fit this run"):
            ask(journal, 0, value=1)
        journal.close()

    def test_it_is_for_its_owner_alone(self, place):
        write(place / "a" / "run")
        assert (place / "a" / "run").stat().st_mode & 0o777 == 0o700
        assert (place / "a" / "run" / "journal").stat().st_mode & 0o777 == 0o600

    def test_new_folders_are_synced_with_the_folders_they_are_named_in(self, place, monkeypatch):
        synced = []
        monkeypatch.setattr("residuum.mechanism.journal.flush", synced.append)
        write(place / "a" / "run")
        assert set(synced) == {place / "a" / "run", place / "a", place}

    def test_it_stays_where_it_was_when_the_process_moves(self, place, monkeypatch):
        monkeypatch.chdir(place)
        os.mkdir("other")
        write(place / "run")
        os.chdir("run")
        journal, _ = Journal.open(place.__class__("."))
        os.chdir("../other")
        assert journal.folder == place / "run"
        journal.close()

    def test_the_folder_must_be_empty(self, place):
        write(place)
        with pytest.raises(ReleaseError, match=r"is not empty. Name a new one, or resume what is in it"):
            Journal.create(place, {})
        assert reopened(place)[1] == KNOWN

    def test_there_must_be_one_to_open(self, place):
        (place / "file").touch()
        for folder in (place, place / "nowhere", place / "file"):
            with pytest.raises(ReleaseError, match="There is no run to resume in"):
                Journal.open(folder)

    def test_one_at_a_time(self, place):
        journal = Journal.create(place, {})
        with pytest.raises(ReleaseError, match="Another process is at work on the run in"):
            Journal.open(place)
        journal.close()
        Journal.open(place)[0].close()

    def test_one_that_is_removed_while_it_is_being_opened(self, place, monkeypatch):
        import fcntl

        write(place)
        monkeypatch.setattr(fcntl, "flock", lambda *_: (place / "journal").unlink())
        with pytest.raises(ReleaseError, match="another process has ended it"):
            Journal.open(place)


class TestDamage:
    def test_cut_off_anywhere(self, place):
        """What was written whole is kept, and the journal can be added to."""
        whole = write(place)
        ends, lengths = [], []
        for answers in range(4):
            lengths.append(len(write(place / str(answers), answers)))
        begun = lengths[0] - 16 - len(b'{"reserved": "12"}\n')
        for length in range(len(whole)):
            (place / "journal").write_bytes(whole[:length])
            if length < begun:
                with pytest.raises(ReleaseError, match=r"died before it began. Remove the folder and start it anew"):
                    Journal.open(place)
                continue
            kept = sum(length >= end for end in lengths[1:])
            assert reopened(place) == ({"name": "run"}, KNOWN[:kept], 12 if length >= lengths[0] else 0)
            ends.append(os.path.getsize(place / "journal"))
        assert set(ends) == {begun, *lengths[:-1]}

    def test_zeros_in_place_of_the_end(self, place):
        """As a file system shows them that knew of the length before a power cut, and not of the content."""
        whole = write(place)
        two = len(write(place / "two", answers=2))
        for length in (two, two + 5, two + 16, two + 30, len(whole) - 9):
            (place / "journal").write_bytes(whole[:length].ljust(9000, b"\0"))
            assert reopened(place)[1] == KNOWN[:2]

    def test_every_byte_in_turn(self, place):
        """Damage is an error; only in the record that was written last can it look like a run that died."""
        whole = write(place)
        last = len(write(place / "two", answers=2)) + 16
        for position in range(len(whole)):
            for flip in (1, 0x80, 0xFF):
                damaged = bytearray(whole)
                damaged[position] ^= flip
                (place / "journal").write_bytes(damaged)
                if position >= last:
                    assert reopened(place)[1] == KNOWN[:2]
                    continue
                with pytest.raises(ReleaseError, match="is damaged") as caught:
                    Journal.open(place)
                assert "\n" not in str(caught.value)
                assert (place / "journal").read_bytes() == damaged

    def test_other_files(self, place):
        (place / "journal").write_text("dear diary")
        with pytest.raises(ReleaseError, match="damaged, or of another version"):
            Journal.open(place)


class TestTrouble:
    def test_a_full_disk(self, place):
        """As far as a file may grow: what was written before is kept."""
        journal = Journal.create(place, {})
        journal.begin(lambda _: None, lambda: None)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 14, before[1]))
        numbers = iter(range(10**6))
        try:
            with pytest.raises(ReleaseError, match=r"cannot go on: File too large\. What it has charged") as caught:
                any(ask(journal, number, value=number) is None for number in numbers)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        journal.close()
        assert "\n" not in str(caught.value)
        assert os.path.getsize(place / "journal") == 1 << 14
        assert reopened(place)[1] == [[float(number), 0.5] for number in range(next(numbers) - 1)]

    @pytest.mark.parametrize("step", ["fsync", "flock"])
    def test_nothing_is_left_of_one_that_could_not_be_begun(self, place, monkeypatch, step):
        import fcntl

        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr({"fsync": os, "flock": fcntl}[step], step, full)
        with pytest.raises(ReleaseError, match="No space left on device"):
            Journal.create(place / "run", {})
        assert os.listdir(place) == []

    def test_what_json_has_no_form_for_leaves_nothing(self, place):
        with pytest.raises(TypeError):
            Journal.create(place / "run", {"object": object()})
        assert os.listdir(place) == []

    def test_a_read_only_folder(self, tmp_path, unprivileged):
        tmp_path.chmod(0o555)
        with unprivileged(tmp_path / "run"), pytest.raises(ReleaseError, match=r"Permission denied. Name another"):
            Journal.create(tmp_path / "run", {})

    def test_a_read_only_journal(self, tmp_path, unprivileged):
        write(tmp_path)
        (tmp_path / "journal").chmod(0o444)
        with unprivileged(tmp_path / "journal"), pytest.raises(ReleaseError, match="cannot go on: Permission denied"):
            Journal.open(tmp_path)
        assert reopened(tmp_path)[1] == KNOWN
