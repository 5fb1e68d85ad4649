"""The overrides that this package registers, keyed by configuration class or by version of transformers."""

from bertcalc.config import Config
from bertcalc.memory.simulator.forward_pass import Overrides
from bertcalc.transformers4.version import Version, version_of

_REGISTERED: dict[type[Config] | Version, Overrides] = {}


def register(owner: type[Config] | Version, overrides: Overrides) -> None:
    """Register the overrides for the family of a configuration class, or for all families in a version.

    Subclasses of the configuration class run the same program, so they use the same overrides.
    """
    _REGISTERED[owner] = overrides


def overrides_for(config: Config) -> Overrides:
    """Look up the overrides for a configuration, first by version, then by class; empty if there are none."""
    owners = (version_of(config), *type(config).__mro__)
    return next((_REGISTERED[owner] for owner in owners if owner in _REGISTERED), Overrides())
