"""Imitate the next versions of Streamlit, uvicorn and websockets, in which names have changed.

A server runs this file as its ``sitecustomize``. Each name in the environment variable RENAMED is renamed in all
sources of these packages as they are imported, so the packages still work.
"""

import os
import re
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType

NAMES = os.environ["RENAMED"].split(",")
WORDS = re.compile(rf"\b({'|'.join(map(re.escape, NAMES))})\b")
FIELDS = [name for name in NAMES if len(name) >= 10]  # shorter names would also match parts of other names


class Renaming(SourceFileLoader):
    """Loads a module with renamed names."""

    def get_code(self, fullname: str):  # type: ignore[no-untyped-def]  # no stub where the server runs
        """Compile the changed source without caching it, so that it does not replace the real module's bytecode."""
        path = self.get_filename(fullname)
        source = self.get_data(path).decode()
        if path.endswith("_pb2.py"):
            changed = source
            for name in FIELDS:
                changed = changed.replace(name, renamed(name))
        else:
            changed = WORDS.sub(lambda word: renamed(word[0]), source)
        return super().get_code(fullname) if changed == source else self.source_to_code(changed.encode(), path)


class Finder(MetaPathFinder):
    """Finds the modules of the three packages."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module as usual, and load it with renamed names."""
        if fullname.partition(".")[0] not in ("streamlit", "uvicorn", "websockets"):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec and type(spec.loader) is SourceFileLoader:
            spec.loader = Renaming(fullname, spec.loader.path)
        return spec


def renamed(name: str) -> str:
    """Return another name of the same length: the descriptors of protobuf messages store the lengths of names."""
    return name[:-1] + ("X" if name[-1] != "X" else "Y")


sys.meta_path.insert(0, Finder())
