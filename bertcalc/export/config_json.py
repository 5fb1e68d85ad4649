"""A config.json as Hugging Face writes it: transformers loads it, and bertcalc.config_json reads the same from it.

>>> from bertcalc import BertConfig
>>> from bertcalc.config_json import read
>>> read(write(BertConfig(vocab_size=21128), "BertForMaskedLM")).config.vocab_size
21128
"""

import json

from bertcalc.config import Config
from bertcalc.families import family_of


def write(config: Config, architecture: str) -> str:
    """The text of a config.json that describes the model.

    transformers 5 knows absolute positions only, and has no field for them. Whether the body has a pooler is no
    property of its configuration.
    """
    fields = {"architectures": [architecture], "model_type": family_of(config).name, **vars(config)}
    if config.position_embedding_type == "absolute":
        del fields["position_embedding_type"]
    return json.dumps(fields, indent=2, sort_keys=True) + "\n"
