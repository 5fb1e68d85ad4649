"""The model types of transformers and their classes, as data, so that pages list them without PyTorch.

``python -m bertcalc.discover.results.types`` writes the data for the installed transformers.
"""

import json
import re
from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

FILE = "types.json"
# Tables of transformers that map model types to the classes for a task. In this order, whole models come first: an
# encoder-decoder comes before its decoder, and BERT as a masked language model before BERT as a decoder.
SEQ2SEQ = ("FOR_SEQ_TO_SEQ_CAUSAL_LM_", "FOR_SPEECH_SEQ_2_SEQ_")
LANGUAGE = ("FOR_MASKED_LM_", "FOR_CAUSAL_LM_")
BASE = ""


@cache
def types() -> Mapping[str, tuple[str, ...]]:
    """Return the classes of each model type: language models first, then the base model, then all others."""
    data = json.loads(files("bertcalc.discover.results").joinpath(FILE).read_text(encoding="utf-8"))
    return {name: tuple(classes) for name, classes in data.items()}


def installed(only: Collection[str] = ()) -> dict[str, list[str]]:
    """Return the classes of each model type in the installed transformers; ``only`` restricts the types."""
    import transformers
    from transformers.models.auto import modeling_auto as auto
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    every = [table for name in dir(auto) for table in re.findall("^MODEL_(.*)MAPPING_NAMES$", name)]
    exported = set(dir(transformers))
    offered = {
        kind: [cls for cls in listed(kind, *SEQ2SEQ, *LANGUAGE, BASE, *every) if cls in exported]
        for kind in sorted(only or CONFIG_MAPPING_NAMES)
    }
    return {kind: classes for kind, classes in offered.items() if classes}


def listed(kind: str, *tables: str) -> list[str]:
    """Return a model type's classes in these tables of the installed transformers, in order, without repetition."""
    from transformers.models.auto import modeling_auto as auto

    names: dict[str, None] = {}
    for table in tables:
        classes = getattr(auto, f"MODEL_{table}MAPPING_NAMES").get(kind) or ()
        names |= dict.fromkeys([classes] if isinstance(classes, str) else classes)
    return list(names)


def main() -> None:
    write(installed(), Path(__file__).parent / FILE)


def write(entries: Mapping[str, Any], path: Path) -> None:
    """Write one line per key, so that diffs are readable."""
    lines = [f"{json.dumps(key)}:{json.dumps(entry)}" for key, entry in entries.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
