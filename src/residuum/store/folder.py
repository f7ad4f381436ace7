"""A folder that is written as a whole or not at all, and whose files are checked when they are read."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from hashlib import file_digest, sha256
from pathlib import Path
from tempfile import mkdtemp
from typing import BinaryIO

from residuum.errors import ReleaseError

MANIFEST = "manifest.json"
"""The file that makes a folder a release: it comes last, and says what the others must be."""
RESIDUALS, SPENDS, VALUES = FILES = ("residuals.arrow", "spends.arrow", "values.arrow")
MODEL = "model.arrow"
"""What was fitted to a release, which can be done again: no part of it."""
JOURNAL = "journal"
"""The record of a run, which may be in the folder already; its locks have names that begin like it."""
_UNFINISHED = ".unfinished-"


@contextmanager
def filled(path: Path) -> Iterator[Path]:
    """A private place to write files in, which the folder at `path` has once all are written.

    Where there is no folder yet, the place becomes it in one step. Into one that is there, the files are moved with the
    manifest last: until then, it holds no release.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as parent:
    ...     with filled(Path(parent, "new")) as place:
    ...         write(place / "manifest.json", b"{}")
    ...     Path(parent, "new", "manifest.json").read_bytes()
    b'{}'
    """
    try:
        with ExitStack() as undo:
            there = path.is_dir()
            if there:
                undo.enter_context(_locked(path))
                _require_room(path)
            elif os.path.lexists(path):
                raise ReleaseError(f"Expected a new folder for the release, but {str(path)!r} is a file.")
            place = Path(mkdtemp(prefix=_UNFINISHED, dir=path if there else path.parent))
            undo.callback(shutil.rmtree, place, ignore_errors=True)
            yield place
            flush(place)
            if there:
                _move(place, path)
            else:
                place.rename(path)
                flush(path.parent)
    except OSError as error:
        raise ReleaseError(f"The release could not be written to {str(path)!r}: {reason(error)}.") from None


@contextmanager
def created(path: Path) -> Iterator[BinaryIO]:
    """A new file to write to, for its owner alone, which is on the disk when the block ends.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with created(Path(place, "new")) as file:
    ...         _ = file.write(b"text")
    ...     oct(Path(place, "new").stat().st_mode & 0o777)
    '0o600'
    """
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode=0o600)) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def write(path: Path, data: bytes) -> None:
    """Write a new file, as `created` does.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     write(Path(place, "new"), b"text")
    ...     Path(place, "new").read_bytes()
    b'text'
    """
    with created(path) as file:
        file.write(data)


def listing(place: Path) -> dict[str, dict[str, int | str]]:
    """Size and SHA-256 of each file of a release, the manifest apart.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     for name in FILES:
    ...         write(Path(place, name), b"text")
    ...     listing(Path(place))["values.arrow"]["bytes"]
    4
    """
    entries = {}
    for name in FILES:
        with open(place / name, "rb") as file:
            entries[name] = {"bytes": os.stat(file.fileno()).st_size, "sha256": file_digest(file, "sha256").hexdigest()}
    return entries


@dataclass(frozen=True, slots=True)
class Folder:
    """A release's folder, read with care: what is not as it was written is an error."""

    path: Path

    @classmethod
    def existing(cls, path: Path) -> "Folder":
        """The folder at a path, once it is clear that there is a release in it."""
        shown = str(path)
        try:
            names = os.listdir(path)
        except FileNotFoundError:
            raise ReleaseError(f"Expected a release in {shown!r}, but there is no such folder.") from None
        except NotADirectoryError:
            raise ReleaseError(f"Expected a release in {shown!r}, which is a file. Name a release's folder.") from None
        except OSError as error:
            raise ReleaseError(f"The release in {shown!r} cannot be read: {reason(error)}.") from None
        if MANIFEST not in names:
            if JOURNAL in names:
                raise ReleaseError(f"The run in {shown!r} has not finished: there is a journal and no release yet.")
            raise ReleaseError(f"Expected a release in {shown!r}, but it has no {MANIFEST}. Name a release's folder.")
        return cls(path.absolute())

    def damaged(self, what: str) -> ReleaseError:
        """The error to raise when something is not as it was written."""
        return ReleaseError(f"The release in {str(self.path)!r} is damaged: {what}. Restore it from a copy.")

    def read(self, name: str) -> bytes:
        """All that a file holds."""
        with self._opened(name) as file:
            return file.read()

    def read_whole(self, name: str, entry: Mapping[str, int | str]) -> bytes:
        """All that a file holds, if that is what the manifest says of it."""
        data = self.read(name)
        if len(data) != entry["bytes"] or sha256(data).hexdigest() != entry["sha256"]:
            raise self.damaged(f"{name} is not as it was written")
        return data

    def read_part(self, name: str, offset: int, count: int, digest: bytes) -> bytearray:
        """So many bytes of a file, if they have this SHA-256."""
        part = bytearray(count)
        with self._opened(name) as file:
            file.seek(offset)
            got = file.readinto(part)  # type: ignore[attr-defined]
        if got != count or sha256(part).digest() != digest:
            raise self.damaged(f"{name} is not as it was written")
        return part

    def require_size(self, name: str, entry: Mapping[str, int | str]) -> None:
        """Refuse a file that is shorter or longer than the manifest says, without reading it."""
        with self._opened(name) as file:
            if os.stat(file.fileno()).st_size != entry["bytes"]:
                raise self.damaged(f"{name} is not as long as it was written")

    @contextmanager
    def _opened(self, name: str) -> Iterator[BinaryIO]:
        path = self.path / name
        try:
            if not path.is_file():  # a pipe, say, would keep us waiting
                raise self.damaged(f"{name} is not there" if not os.path.lexists(path) else f"{name} is not a file")
            with open(path, "rb") as file:
                yield file
        except OSError as error:
            raise ReleaseError(f"{name} in {str(self.path)!r} cannot be read: {reason(error)}.") from None


def reason(error: OSError) -> str:
    """What went wrong, in the system's words, on one line.

    >>> reason(PermissionError(13, "Permission denied", "/secret"))
    'Permission denied'
    """
    return error.strerror or " ".join(str(error).split()) or type(error).__name__


def _require_room(path: Path) -> None:
    """Refuse a folder with anything in it but a run's journal, and what an earlier attempt to save it left behind."""
    names = set(os.listdir(path))
    if MANIFEST in names:
        raise ReleaseError(f"There is a release in {str(path)!r} already. Name another folder.")
    journal = {name for name in names if name.startswith(JOURNAL)}
    left = {name for name in names if name in FILES or name.startswith(_UNFINISHED)} if journal else set()
    if names - journal - left:
        raise ReleaseError(f"The folder {str(path)!r} is not empty. Name another one, or one that does not exist yet.")
    tidy(path)


def tidy(path: Path) -> None:
    """Remove what attempts to save that died have left in a folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     _ = mkdtemp(prefix=_UNFINISHED, dir=place)
    ...     tidy(Path(place))
    ...     os.listdir(place)
    []
    """
    for name in os.listdir(path):
        if name.startswith(_UNFINISHED):
            shutil.rmtree(path / name)


def _move(place: Path, path: Path) -> None:
    moved = []
    try:
        for name in [*FILES, MANIFEST]:
            if name == MANIFEST:
                flush(path)
            moved.append(path / name)
            os.replace(place / name, path / name)
        flush(path)
    except BaseException:
        for file in reversed(moved):
            file.unlink(missing_ok=True)
        raise


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes from saving to the same folder; the lock ends with the process, however that ends."""
    import fcntl

    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError):  # some network drives have no locks
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ReleaseError(f"Another process is writing to {str(path)!r}. Name another folder.") from None
        yield
    finally:
        os.close(handle)


def flush(path: Path) -> None:
    """Have the names in a folder written to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
