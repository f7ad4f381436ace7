"""Makes the examples in docstrings blocks of code: left alone, Markdown would take `>>>` for three quotations."""

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)


class Examples(griffe.Extension):
    """Wraps each run of lines that begins with `>>>` and ends at an empty line."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called for everything that may have a docstring."""
        if obj.docstring is not None:
            obj.docstring.value = _EXAMPLE.sub(lambda found: f"\n```pycon\n{found[0]}\n```\n", obj.docstring.value)
