"""The integers of a transformers configuration, also in nested configurations and lists, and how to change them.

A field is named by its path: ``hidden_size``, ``text_config.hidden_size``, ``block_sizes[0]``.
"""

import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from itertools import pairwise
from math import inf
from time import thread_time
from typing import Any

from bertcalc.discover.search.build import Ended, Refused
from bertcalc.text import N_

_LONGEST_LIST = 8  # a list of sizes, such as one per stage; the entries of a list with one per layer are not fields
_MOST_LEVELS = 3
_MOST_FIELDS = 300  # no type of transformers has a hundred
# Facts about files and programs, not about the model.
_NEVER = ("transformers_version", "chunk_size_feed_forward", "bos_token_id", "eos_token_id", "return_dict")

_STEP = re.compile(r"([A-Za-z_]\w*)|\[(\d+)\]")


class Recipe:
    """A configuration as the arguments that its class is given; all others are the defaults of its class.

    What the class derives if it is not given, such as head_dim from hidden_size, is derived when sizes change, too.
    What is given stays, even if it is what the class would derive now.
    """

    def __init__(self, kind: Any, changes: Mapping[str, Any], until: float = inf) -> None:
        self.kind = kind
        self.config: Any = kind(**deepcopy(dict(changes)))
        self.fields = integers(self.config)
        if len(self.fields) > _MOST_FIELDS:
            message = N_("This configuration has more than {most} sizes: its formula is not looked for.")
            raise Refused.because(message, most=_MOST_FIELDS)
        self.given = dict(changes)
        self._nested = {name: _as_given(value) for name, value in vars(self.config).items() if is_config(value)}
        self.follows: set[str] = set()  # fields that the class derives from others
        self.leaders: dict[str, list[str]] = {}  # field -> the fields with which it changes
        self._look_for_followers(until)

    def changed(self, values: Mapping[str, Any]) -> Any:
        """Return the configuration with some fields changed. Raises what its class raises."""
        given = deepcopy(self.given)
        for path, value in values.items():
            self._put(given, path, value)
        return self.kind(**given)

    def plainly(self, values: Mapping[str, Any]) -> Any:
        """Return the configuration with these fields given as one writes them: {"text_config": {"hidden_size": 64}}.

        ``changed`` keeps the other fields of a nested configuration; here, its class fills them in. Raises what the
        class raises.
        """
        for typed in (False, True):  # some classes need the nested configuration's model_type
            given = deepcopy(self.given)
            for path, value in values.items():
                self._put(given, path, value, plain=True, typed=typed)
            try:
                return self.kind(**given)
            except Exception:  # transformers raises exceptions of all types
                if typed:
                    raise
        raise AssertionError

    def _put(self, given: dict[str, Any], path: str, value: Any, *, plain: bool = False, typed: bool = False) -> None:
        path_steps = steps(path)
        place: Any = given
        here: Any = self.config
        for step, following in pairwise(path_steps):
            here = here[step] if isinstance(step, int) else getattr(here, step)
            if isinstance(place, dict) and step not in place:
                nested = self._nested.get(str(step)) if place is given else None
                whole = (nested or _as_given(here)) if is_config(here) else here
                if plain and is_config(here):
                    whole = {"model_type": here.model_type} if typed else {}
                place[step] = deepcopy(whole)
            if isinstance(following, int) and isinstance(place[step], tuple):
                place[step] = list(place[step])
            place = place[step]
        place[path_steps[-1]] = value

    def _look_for_followers(self, until: float) -> None:
        """Change each field: the fields that change with it follow it, unless it follows others itself."""
        for path, value in self.fields.items():
            leads = path not in self.follows
            if thread_time() > until:
                raise Ended
            for other in (2 * value, value + 1):
                try:
                    after = integers(self.changed({path: other}))
                except Exception:  # transformers raises exceptions of all types
                    continue
                moved = [name for name, here in self.fields.items() if name != path and after.get(name, here) != here]
                if after.get(path) == other:
                    for name in moved:
                        self.leaders.setdefault(name, []).append(path)
                    self.follows |= {*moved} if leads else set()
                elif leads and value > 0:
                    self.follows.add(path)  # derived even if it is given


def inside(config: Any, cls: Any) -> str:
    """The name of the nested configuration that a class takes, such as the text's; "" if it takes its type's own."""
    if cls.config_class is config:
        return ""
    return next((name for name, inner in config.sub_configs.items() if inner is cls.config_class), "")


def recipe_of(config: Any, cls: Any, given: Mapping[str, Any], until: float) -> Recipe:
    """The recipe of the configuration that a class takes."""
    if not inside(config, cls):
        return Recipe(config, given, until)
    here = configured(config, cls, given)
    nested = given.get(inside(config, cls))
    least = minimal(cls.config_class, here, until)
    arguments = here.to_dict() if least is None else {**least, **(nested if isinstance(nested, Mapping) else {})}
    return Recipe(cls.config_class, arguments, until)


def configured(config: Any, cls: Any, given: Mapping[str, Any]) -> Any:
    """The configuration that a class takes: its type's own or, as transformers' AutoModel does, the text's in it."""
    here, inner = config(**deepcopy(dict(given))), inside(config, cls)
    return (getattr(here, inner) or cls.config_class()) if inner else here


def integers(config: Any) -> dict[str, int]:
    """Every integer of a configuration, by its path."""
    found = dict(_integers(config, "", 0))
    labels = getattr(config, "num_labels", None)
    return found | ({"num_labels": labels} if isinstance(labels, int) else {})


def left_open(config: Any) -> list[str]:
    """The integer fields of a configuration that are None."""
    kinds: dict[str, Any] = {}
    for above in type(config).__mro__:
        kinds |= vars(above).get("__annotations__", {})
    return [
        name
        for name, value in vars(config).items()
        if value is None and "int" in f"{kinds.get(name, '')}" and not name.endswith(("_id", "num_labels"))
    ]


def is_config(value: Any) -> bool:
    """Whether a value is a nested configuration."""
    return hasattr(value, "model_type") and hasattr(value, "to_dict")


def _integers(value: Any, path: str, level: int) -> Iterator[tuple[str, int]]:
    if isinstance(value, bool) or level > _MOST_LEVELS:
        return
    if isinstance(value, int):
        yield path, value
    elif isinstance(value, list | tuple) and len(value) <= _LONGEST_LIST:
        for index, entry in enumerate(value):
            yield from _integers(entry, f"{path}[{index}]", level + 1)
    elif is_config(value):
        for name, entry in vars(value).items():
            if name.isidentifier() and not name.startswith("_") and name not in _NEVER:
                yield from _integers(entry, f"{path}.{name}" if path else name, level + 1)


def steps(path: str) -> list[str | int]:
    """The names and indices in a field's path, in order."""
    return [name or int(index) for name, index in _STEP.findall(path)]


def put(given: Mapping[str, Any], path: str, value: Any, default: Any = None) -> dict[str, Any]:
    """Return the arguments of a configuration with one more, by its path.

    For an entry of a list, the list comes from the arguments or from the ``default`` configuration. Raises IndexError
    if it has no such entry.
    """
    whole = deepcopy(dict(given))
    place: Any = whole
    here = default
    path_steps = steps(path)
    for step, following in pairwise(path_steps):
        here = here[step] if isinstance(step, int) else getattr(here, step, None)
        inside = place[step] if isinstance(step, int) else place.get(step)
        if isinstance(following, int):
            usual = here if isinstance(here, list | tuple) else []
            inside = list(inside if isinstance(inside, list | tuple) else usual)
        elif not isinstance(inside, dict):
            inside = {}
        place[step] = inside
        place = inside
    place[path_steps[-1]] = value
    return whole


def minimal(kind: Any, config: Any, until: float = inf) -> dict[str, Any] | None:
    """The fewest arguments, in order, with which a class makes the same configuration; None if there are none.

    Raises Ended when the time is up.
    """
    given: dict[str, Any] = {}
    try:
        while (name := next(_differences(kind(**deepcopy(given)), config), None)) is not None:
            if name in given:
                return None
            if thread_time() > until:
                raise Ended
            value = vars(config)[name]
            if is_config(value):
                value = _as_given(value)
            given[name] = deepcopy(value)
    except Ended:
        raise
    except Exception:  # transformers raises exceptions of all types
        return None
    return given


def _as_given(config: Any) -> dict[str, Any]:
    """A nested configuration as the fewest arguments that make it."""
    return {"model_type": config.model_type, **(minimal(type(config), config) or {})}


def _differences(one: Any, other: Any) -> Iterator[str]:
    for name, value in vars(other).items():
        if name.startswith("_") or name == "transformers_version":
            continue
        # A configuration whose layers differ raises where such a field is read as an attribute (transformers 5.23).
        here: Any = vars(one)[name] if name in vars(one) else getattr(one, name, None)
        if is_config(here) and is_config(value):
            here, value = here.to_dict(), value.to_dict()
        if here != value:
            yield name
