"""What takes seconds and is begun before anybody asks: the latent classes, and the library that draws charts."""

import subprocess
import sys
from contextlib import suppress
from threading import Lock, Thread

from residuum.errors import ResiduumError
from residuum.release import Release

_LIBRARY = "import sys; from residuum.present.plots import library; sys.stdout.buffer.write(library().encode())"


class Fitting:
    """The latent classes of a release on their way, if its folder does not have them.

    >>> from residuum import Domain, Estimates, NoisyMarginal, Workload
    >>> estimates = Estimates(Workload.all_kway(Domain({"sex": 2}), 1), [NoisyMarginal((0,), [48, 53], sigma2=1.0)])
    >>> fitting = Fitting(Release(estimates, 0.5, (), {"caveats": ()}, frozenset()))
    >>> fitting.done
    False
    >>> fitting.start()
    >>> fitting.wait()
    >>> fitting.done
    True
    """

    def __init__(self, release: Release) -> None:
        self.share = 0.0
        """How much of the fit is done."""
        self.problem: str | None = None
        """Why there will be no latent classes, if so."""
        self._release = release
        self._done = release.fitted is not None
        self._thread = Thread(target=self._run, name="residuum-fit", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def wait(self) -> None:
        """Until it is over, one way or the other."""
        self._thread.join()

    @property
    def done(self) -> bool:
        """Whether the latent classes are there."""
        return self._done

    def _run(self) -> None:
        try:
            if not self._done:
                self._release.fit(self._tell)
                self._done = True
            else:  # load the kernels, so that the first view is quick
                self._release.marginal(self._release.workload.targets[0][:1])
        except ResiduumError as error:
            self.problem = None if self._done else str(error)
        except MemoryError:
            self.problem = "There is too little memory for the latent classes."

    def _tell(self, share: float) -> None:
        self.share = max(self.share, share)


class Library:
    """The JavaScript that draws charts, made by another process: this one could not answer in those seconds."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._code: bytes | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Begin."""
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _LIBRARY],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for this process to answer
            )

    def code(self) -> bytes:
        """The code, once it is there; empty where it cannot be made."""
        with self._lock:
            if self._code is None:
                self.start()
                assert self._process is not None
                code, _ = self._process.communicate()
                self._code = b"" if self._process.returncode else code
        return self._code

    def stop(self) -> None:
        """End the other process, if it still runs."""
        if self._process is not None and self._process.poll() is None:
            with suppress(OSError):
                self._process.kill()
