"""Read tables in TOML files beside modules."""

from functools import cache
from typing import Any


@cache
def table_beside(module: str, name: str = "") -> dict[str, Any]:
    """Read the TOML file ``name`` beside a module, given by its ``__file__``; by default the file of the module's name.

    Call it where the table is needed: reading all of them takes a tenth of the import time of the library.
    """
    import tomllib
    from pathlib import Path

    path = Path(module).with_name(name) if name else Path(module).with_suffix(".toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))
