"""The journal of a run: every answer the curator gave, on disk, so that a run that dies can be resumed.

It holds noisy values, which were paid for, and public parameters. A file of frames: a head (the length of a record, its
checksum, and a checksum of these two) and the record, which is a line of JSON and then the bytes of arrays. Frames are
only ever appended. What was being written when a run died is cut off; damage anywhere else is an error. The head has a
checksum of its own because a wrong length would make all that follows look like one frame that was not written whole.

A resumed run asks the curator the same questions again. `once` answers them from the journal, draws what the journal
does not know, and writes it down.
"""

import json
import os
import struct
import zlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from io import FileIO
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from residuum.errors import ReleaseError
from residuum.store.folder import JOURNAL, flush, reason

_MAGIC = b"residuum journal 1\n"
_HEAD = struct.Struct("<QI")
_CHECKED_HEAD = struct.Struct("<QII")

Arrays = list[NDArray[Any]]
Record = tuple[dict[str, Any], bytes]


class Journal:
    """An open journal. One process at a time has it open.

    `on_loss` is called where the journal notes that budget was given up, with the units spent after that, and
    `on_end` once, when the last known answer has been given: at `begin` where there is none.
    """

    def __init__(self, file: FileIO, folder: Path, records: Sequence[Record] = ()) -> None:
        self._file = file
        self.folder = folder
        """Where it is kept, however the process moves about."""
        self._known = deque(record for record in records if "question" in record[0] or "lost" in record[0])
        self.reserved = max((int(record["reserved"]) for record, _ in records if "reserved" in record), default=0)
        """The units that the run had charged, whether it used them or not."""
        self.end = next((record for record, _ in records if "end" in record), None)
        """The record that closes a run which has measured all it would."""
        self._on_loss: Callable[[int], None] = lambda _: None
        self._on_end: Callable[[], None] = lambda: None

    @classmethod
    def create(cls, folder: Path, start: Mapping[str, Any]) -> "Journal":
        """A new journal in a new or empty folder, which begins with a record of how the run was started."""
        folder = folder.absolute()
        try:
            named = [folder, *(place.parent for place in (folder, *folder.parents) if not place.exists())]
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise ReleaseError(f"The folder {str(folder)!r} is not empty. Name a new one, or resume what is in it.")
            file = open(folder / JOURNAL, "x+b", buffering=0, opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
        except OSError as error:
            raise ReleaseError(f"A run cannot be kept in {str(folder)!r}: {reason(error)}. Name another.") from None
        journal = cls(file, folder)
        try:
            _lock(file, folder)
            journal._append(_MAGIC)
            journal.write(start)
            journal.sync()
            for place in named:
                flush(place)
        except BaseException as error:
            journal.remove()
            journal.close()
            if isinstance(error, OSError):
                raise _unwritable(folder, error) from None
            raise
        return journal

    @classmethod
    def open(cls, folder: Path) -> tuple["Journal", dict[str, Any]]:
        """The journal in a folder, and the record it begins with."""
        folder = folder.absolute()
        try:
            file = open(folder / JOURNAL, "r+b", buffering=0)  # noqa: SIM115 (it stays open)
        except (FileNotFoundError, NotADirectoryError):
            raise ReleaseError(f"There is no run to resume in {str(folder)!r}.") from None
        except OSError as error:
            raise _unwritable(folder, error) from None
        try:
            _lock(file, folder)
            (start, _), *records = _read(file, folder)
        except BaseException as error:
            file.close()
            if isinstance(error, OSError):
                raise _unwritable(folder, error) from None
            raise
        return cls(file, folder, records), start

    def begin(self, on_loss: Callable[[int], None], on_end: Callable[[], None]) -> None:
        """Get ready to answer, telling these of losses and of the end of what is known."""
        self._on_loss, self._on_end = on_loss, on_end
        self._advance()

    @property
    def recalling(self) -> bool:
        """Whether answers are left that the journal knows."""
        return bool(self._known)

    @property
    def answers(self) -> int:
        """How many answers are left that the journal knows."""
        return sum("question" in record for record, _ in self._known)

    def once(self, question: dict[str, Any], draw: Callable[[], Arrays]) -> Arrays:
        """The answer to a question, from the journal where it is known; else it is drawn and written down."""
        if not self._known and not self.end:
            answer = draw()
            kinds = [[array.dtype.str, list(array.shape)] for array in answer]
            self.write({"question": question, "arrays": kinds}, answer)
            return answer
        record, content = self._known.popleft() if self._known else ({}, b"")
        if record.get("question") != question:
            raise ReleaseError(
                "The journal does not fit this run: it was kept by another version of the program, or upon another "
                "prior release. Resume with what the run was started with."
            )
        self._advance()
        return _unpacked(record["arrays"], content)

    def _advance(self) -> None:
        """Go past losses to the next known answer."""
        while self._known and "lost" in self._known[0][0]:
            self._on_loss(int(self._known.popleft()[0]["lost"]))
        if not self._known:
            self._on_end()

    def write(self, record: Mapping[str, Any], arrays: Sequence[NDArray[Any]] = ()) -> None:
        """Append a record. It survives the process, but not a crash of the machine, until `sync`."""
        payload = b"".join([json.dumps(record).encode(), b"\n", *(array.tobytes() for array in arrays)])
        head = _HEAD.pack(len(payload), zlib.crc32(payload))
        self._append(b"".join([head, zlib.crc32(head).to_bytes(4, "little"), payload]))

    def sync(self) -> None:
        """Return when all that was written is safe on disk."""
        try:
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unwritable(self.folder, error) from None

    def remove(self) -> None:
        """Delete the file, and the folder where nothing else is in it."""
        with suppress(OSError):
            (self.folder / JOURNAL).unlink()
            self.folder.rmdir()

    def close(self) -> None:
        """Let go of the file; another process may then resume the run."""
        self._file.close()

    def _append(self, content: bytes) -> None:
        try:
            rest = memoryview(content)
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise _unwritable(self.folder, error) from None


def _read(file: FileIO, folder: Path) -> list[Record]:
    """All records, cutting off a last one that was not written whole."""
    content = file.readall()
    written = len(content.rstrip(b"\0"))  # after a power cut, some file systems show zeros for what is missing
    if not content.startswith(_MAGIC) and not _MAGIC.startswith(content[:written]):
        raise ReleaseError(f"The journal in {str(folder)!r} is damaged, or of another version: it cannot be resumed.")
    records, at = [], len(_MAGIC)
    while at < len(content):
        record, end = _frame(content, at)
        if record is None:
            if end < written:
                raise ReleaseError(
                    f"The journal in {str(folder)!r} is damaged at byte {at:,} and cannot be resumed. Start anew; "
                    "what the run has charged stays charged."
                )
            break
        records.append(record)
        at = end
    if not records:
        raise ReleaseError(f"The run in {str(folder)!r} died before it began. Remove the folder and start it anew.")
    file.truncate(at)
    file.seek(at)
    return records


def _frame(content: bytes, at: int) -> tuple[Record | None, int]:
    """The record at a place, or None if it is not as it was written, and where it ends, as far as that is known."""
    start = at + _CHECKED_HEAD.size
    if start > len(content):
        return None, start
    length, checksum, check = _CHECKED_HEAD.unpack_from(content, at)
    if zlib.crc32(content[at : at + _HEAD.size]) != check:
        return None, start
    end = start + length
    payload = memoryview(content)[start:end]
    if end > len(content) or zlib.crc32(payload) != checksum:
        return None, end
    line, _, rest = bytes(payload).partition(b"\n")
    return (json.loads(line), rest), end


def _unpacked(kinds: Sequence[tuple[str, list[int]]], content: bytes) -> Arrays:
    arrays, at = [], 0
    for dtype, shape in kinds:
        count = prod(shape)
        arrays.append(np.frombuffer(content, dtype=dtype, count=count, offset=at).reshape(shape).copy())
        at += arrays[-1].nbytes
    return arrays


def _lock(file: FileIO, folder: Path) -> None:
    """Keep the file from other processes, or raise where one has it, or has removed it since it was opened."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        gone = not os.path.samestat(os.fstat(file.fileno()), os.stat(folder / JOURNAL))
    except BlockingIOError:
        raise ReleaseError(f"Another process is at work on the run in {str(folder)!r}. Wait for it to end.") from None
    except FileNotFoundError:
        gone = True
    if gone:
        raise ReleaseError(f"There is no run to resume in {str(folder)!r} any more: another process has ended it.")


def _unwritable(path: Path, error: OSError) -> ReleaseError:
    """What to say where a file cannot be written."""
    return ReleaseError(
        f"The run in {str(path)!r} cannot go on: {reason(error)}. What it has charged stays charged; resume it when "
        "the folder can be written to again."
    )
