"""The model types of transformers and their classes, as data: a page offers them before anybody has asked PyTorch.

``python -m bertcalc.discover.types`` writes them down for the installed transformers.
"""

import json
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

FILE = "types.json"
# The tables of transformers in the order in which their classes are offered; the others come after them.
_FIRST = ("CAUSAL_LM", "MASKED_LM", "SEQ_TO_SEQ_CAUSAL_LM")


@cache
def types() -> Mapping[str, tuple[str, ...]]:
    """The classes of each model type, by its name: language models first, then the base model, then the others."""
    found = json.loads(files("bertcalc.discover").joinpath(FILE).read_text(encoding="utf-8"))
    return {name: tuple(classes) for name, classes in found.items()}


def installed(only: Collection[str] = ()) -> dict[str, list[str]]:
    """The same of the installed transformers; of these types alone, where any are named."""
    import transformers
    from transformers.models.auto import modeling_auto as auto
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    tables = [name for name in dir(auto) if name.startswith("MODEL_") and name.endswith("_MAPPING_NAMES")]
    first = [*(f"MODEL_FOR_{name}_MAPPING_NAMES" for name in _FIRST), "MODEL_MAPPING_NAMES"]
    found, exported = dict[str, list[str]](), set(dir(transformers))
    for kind in sorted(only or CONFIG_MAPPING_NAMES):
        named: dict[str, None] = {}
        for table in (*first, *(name for name in tables if name not in first)):
            classes = getattr(auto, table).get(kind) or ()
            named |= dict.fromkeys([classes] if isinstance(classes, str) else classes)
        if classes := [name for name in named if name in exported]:
            found[kind] = classes
    return found


def main() -> None:
    """Write the file."""
    write(installed(), Path(__file__).parent / FILE)


def write(found: Mapping[str, Any], path: Path) -> None:
    """One line for each key, so that a change can be read."""
    lines = [f"{json.dumps(key)}:{json.dumps(each)}" for key, each in found.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
