"""Read tables in TOML files beside modules."""

from functools import cache
from typing import Any


@cache
def table_beside(module: str, name: str = "") -> dict[str, Any]:
    """Read the TOML file ``name`` in the directory of a module, given as its ``__file__``.

    By default, the file has the module's name with the suffix .toml. Call this function where the table is needed, not
    at import: reading all tables would slow down the library's import.
    """
    import tomllib
    from pathlib import Path

    path = Path(module).with_name(name) if name else Path(module).with_suffix(".toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))
