"""What every test needs before it imports anything."""

import os

from hypothesis import settings

# The real classes are built from configurations alone; nothing is ever fetched.
os.environ["HF_HUB_OFFLINE"] = "1"

# No deadline: the first model of a run loads PyTorch. On CI the examples are the same in every run, so that a red
# build is red for everyone who repeats it; on a developer's machine each run looks at new ones.
settings.register_profile("bertcalc", deadline=None, max_examples=60, derandomize=bool(os.environ.get("CI")))
# For make test-all.
settings.register_profile("all", deadline=None, max_examples=600)
# For python -m pytest --hypothesis-profile bulk: see tests/README.md.
settings.register_profile("bulk", deadline=None, max_examples=20_000)
settings.load_profile("bertcalc")
