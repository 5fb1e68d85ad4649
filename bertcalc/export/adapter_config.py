"""Write the adapter_config.json of peft, which describes an adapter beside the config.json of its model."""

import json
from dataclasses import asdict

from bertcalc.changes.adapter import PeftChange
from bertcalc.changes.ia3 import IA3, LNTuning
from bertcalc.changes.lora import Lora
from bertcalc.changes.prompts import PrefixTuning, PromptEncoder, PromptTuning
from bertcalc.text.arguments import checked

_PEFT_TYPES: dict[type[PeftChange], str] = {
    Lora: "LORA",
    IA3: "IA3",
    LNTuning: "LN_TUNING",
    PromptTuning: "PROMPT_TUNING",
    PrefixTuning: "PREFIX_TUNING",
    PromptEncoder: "P_TUNING",
}


@checked
def adapter_config(adapter: PeftChange) -> str:
    """The text of an adapter_config.json, which ``peft.PeftConfig.from_pretrained`` reads as this adapter.

    >>> json.loads(adapter_config(Lora(r=4)))["peft_type"]
    'LORA'
    """
    values = asdict(adapter)  # type: ignore[call-overload]  # all adapters are dataclasses
    content = {"peft_type": _PEFT_TYPES[type(adapter)], **values}
    return json.dumps(content, indent=2, sort_keys=True) + "\n"
