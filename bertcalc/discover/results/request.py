"""A request to search for formulas of a transformers class."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from bertcalc.discover.results.result import Discovered
from bertcalc.text.arguments import record

SECONDS = 60.0
# Called with the current activity, the number of steps done, and the total number of steps.
Progress = Callable[[str, int, int], object]


@record
class DiscoveryRequest(NamedTuple):
    """A transformers class, and which of its formulas to infer.

    - ``model``: the model type, or a config.json as a dictionary.
    - ``cls``: the name of the class; by default, the type's base model.
    - ``changes``: fields that differ from the type's default configuration, or from the config.json. They have the same
      effect as ``Config(**changes)`` in transformers: with ``{"text_config": {"hidden_size": 64}}``, or
      ``{"text_config.hidden_size": 64}``, the other fields of that nested configuration take the defaults of its class.
      Some classes are built from a nested configuration, as Emu3ForCausalLM is from the text configuration. They also
      accept the fields of that configuration without its prefix. Unknown fields are refused.
    - ``flops``: also infer formulas for the matrix products of a forward pass. This takes much longer.
    - ``printed``: add the text of ``print(model)`` to the result.
    - ``earlier``: an earlier result for the class. Its formulas are kept, and only missing ones are inferred.
    - ``again``: repeat the search for the parameters of the earlier result ("discover"), or only for the conditions
      under which its formulas hold ("examine"), which is faster. Its FLOPs are kept if they are still right.
    - ``seconds``: the limit of CPU time for the parameters, and again for the FLOPs.
    """

    model: str | Mapping[str, Any]
    cls: str | None = None
    changes: Mapping[str, Any] | None = None
    flops: bool = False
    printed: bool = False
    earlier: Discovered | None = None
    again: Literal["discover", "examine"] | None = None
    seconds: float = SECONDS

    @property
    def model_type(self) -> str:
        return self.model if isinstance(self.model, str) else str(self.model.get("model_type", ""))

    @property
    def config(self) -> dict[str, Any]:
        """The fields of the config.json; empty if only a model type was given."""
        fields = {} if isinstance(self.model, str) else self.model
        return {name: value for name, value in fields.items() if name != "model_type"}

    @property
    def subject(self) -> tuple[str, str | None, str]:
        """A key that is equal for all requests for the same model: its type, its class, and its fields as JSON."""
        fields = json.dumps([self.config, dict(self.changes or {})], sort_keys=True)
        return self.model_type, self.cls, fields
