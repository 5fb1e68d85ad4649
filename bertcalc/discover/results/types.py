"""The model types of transformers and their classes, as data: a page offers them without importing PyTorch.

``python -m bertcalc.discover.results.types`` writes them for the installed transformers.
"""

import json
import re
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

FILE = "types.json"
# Tables of transformers, each with the classes of a task by type, whole models first: an encoder-decoder stands before
# its decoder alone, and BERT as it was trained before BERT as a decoder.
SEQ2SEQ = ("FOR_SEQ_TO_SEQ_CAUSAL_LM_", "FOR_SPEECH_SEQ_2_SEQ_")
LANGUAGE = ("FOR_MASKED_LM_", "FOR_CAUSAL_LM_")
BASE = ""


@cache
def types() -> Mapping[str, tuple[str, ...]]:
    """The classes of each model type, by its name: language models first, then the base model, then the others."""
    found = json.loads(files("bertcalc.discover.results").joinpath(FILE).read_text(encoding="utf-8"))
    return {name: tuple(classes) for name, classes in found.items()}


def installed(only: Collection[str] = ()) -> dict[str, list[str]]:
    """The same for the installed transformers; for these types alone, if any are named."""
    import transformers
    from transformers.models.auto import modeling_auto as auto
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    every = [table for name in dir(auto) for table in re.findall("^MODEL_(.*)MAPPING_NAMES$", name)]
    exported = set(dir(transformers))
    found = {
        kind: [cls for cls in listed(kind, *SEQ2SEQ, *LANGUAGE, BASE, *every) if cls in exported]
        for kind in sorted(only or CONFIG_MAPPING_NAMES)
    }
    return {kind: classes for kind, classes in found.items() if classes}


def listed(kind: str, *tables: str) -> list[str]:
    """The classes of a model type in these tables of the installed transformers, in order."""
    from transformers.models.auto import modeling_auto as auto

    found: dict[str, None] = {}
    for table in tables:
        classes = getattr(auto, f"MODEL_{table}MAPPING_NAMES").get(kind) or ()
        found |= dict.fromkeys([classes] if isinstance(classes, str) else classes)
    return list(found)


def main() -> None:
    write(installed(), Path(__file__).parent / FILE)


def write(found: Mapping[str, Any], path: Path) -> None:
    """Write one line for each key, so that a diff is readable."""
    lines = [f"{json.dumps(key)}:{json.dumps(each)}" for key, each in found.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
