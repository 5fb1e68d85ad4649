"""The presets of all families, keyed by name; importing this module registers the families."""

from bertcalc.families import PRESETS as PRESETS
from bertcalc.families import preset_named as preset_named

DEFAULT_PRESET = next(iter(PRESETS))
