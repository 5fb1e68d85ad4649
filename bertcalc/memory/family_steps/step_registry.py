"""The overrides that the modules of this package have registered, by configuration class or version of transformers."""

from bertcalc.config import Config
from bertcalc.memory.simulator.forward_pass import Overrides
from bertcalc.transformers4.version import Version, version_of

_REGISTERED: dict[type[Config] | Version, Overrides] = {}


def register(owner: type[Config] | Version, overrides: Overrides) -> None:
    """Register the overrides for a family, by its configuration class, or for all families in a version.

    Families whose configuration class is derived from that class run its program, and have the same overrides.
    """
    _REGISTERED[owner] = overrides


def overrides_for(config: Config) -> Overrides:
    """The overrides for a configuration: those of its version, or of the nearest class; empty if there are none."""
    owners = (version_of(config), *type(config).__mro__)
    return next((_REGISTERED[owner] for owner in owners if owner in _REGISTERED), Overrides())
