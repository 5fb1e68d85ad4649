"""What every test needs before it imports anything."""

import gc
import os
from collections.abc import Iterator
from functools import cache

import pytest
from hypothesis import settings
from streamlit.components.v2 import manifest_scanner

# The real classes are built from configurations alone; nothing is ever fetched.
os.environ["HF_HUB_OFFLINE"] = "1"
# The models are tiny: more threads would wait for each other, and waiting is work here.
os.environ["OMP_NUM_THREADS"] = "1"

# No deadline: the first model of a run loads PyTorch. On CI the examples are the same in every run, so that a red
# build is red for everyone who repeats it; on a developer's machine each run looks at new ones.
settings.register_profile("bertcalc", deadline=None, max_examples=25, derandomize=bool(os.environ.get("CI")))
# For make test-all.
settings.register_profile("all", deadline=None, max_examples=600)
# For python -m pytest --hypothesis-profile bulk: see tests/README.md.
settings.register_profile("bulk", deadline=None, max_examples=20_000)
settings.load_profile("bertcalc")

# Each run of AppTest (Streamlit 1.67) looks through the metadata of every installed package for components again: a
# third of the time of the pages' tests.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The address and the process of a server that all tests share which need none of their own."""
    from tests.browser.launch import running_server

    with running_server(tmp_path_factory.mktemp("server") / "log") as found:
        yield found


def pytest_collection_finish() -> None:
    """What is imported by now stays: a full collection of garbage takes 0.2 s where it looks through it."""
    gc.collect()
    gc.freeze()
