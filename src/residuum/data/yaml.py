"""YAML as the files of a release use it: every scalar is text, and what is expected says what it means.

So `no` is the value "no" and not a boolean, `007` keeps its zeros, and `12:30` is no number in base 60.
"""

from typing import Any

from yaml import BaseLoader, MappingNode, MarkedYAMLError, Node, YAMLError, dump
from yaml.events import AliasEvent

from residuum.errors import ResiduumError, SchemaError


class _Loader(BaseLoader):
    """Refuses keys given twice, of which one would be lost, and references, which can grow without bound."""

    def compose_node(self, parent: Node | None, index: Any) -> Node | None:
        if self.check_event(AliasEvent):
            raise MarkedYAMLError(
                problem="references (*name) are not allowed", problem_mark=self.peek_event().start_mark
            )
        return super().compose_node(parent, index)

    def construct_mapping(self, node: MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key.value, str):
                raise MarkedYAMLError(problem="a key must be a text", problem_mark=key.start_mark)
            if key.value in keys:
                raise MarkedYAMLError(problem=f"the key {key.value!r} is given twice", problem_mark=key.start_mark)
            keys.add(key.value)
        return super().construct_mapping(node, deep=deep)


def parse(text: str, what: str = "The schema", error: type[ResiduumError] = SchemaError) -> Any:
    """Maps, lists and texts from YAML; `what` is the file's name in the `error` that is raised where it is none.

    >>> parse("answers: [yes, no, 007]")
    {'answers': ['yes', 'no', '007']}
    """
    loader = None
    try:
        loader = _Loader(text)
        return loader.get_single_data()
    except MarkedYAMLError as found:
        mark = found.problem_mark or found.context_mark
        place = f" in line {mark.line + 1}" if mark else ""
        raise error(f"{what} is not valid YAML{place}: {found.problem or found.context}.") from None
    except YAMLError:
        raise error(f"{what} is not valid YAML: it has a character that YAML does not allow.") from None
    except (RecursionError, ValueError, TypeError):
        raise error(f"{what} is not valid YAML, or nested too deeply.") from None
    finally:
        if loader is not None:
            loader.dispose()


def scalar(text: str) -> str:
    """A text as YAML, in quotes, on one line.

    >>> print(scalar('>50K "and" more'))
    ">50K \\"and\\" more"
    """
    return dump(text, default_style='"', width=float("inf"), allow_unicode=True).strip()
