"""Write peft's adapter_config.json, which describes an adapter; config.json describes only the model."""

import json
from dataclasses import asdict

from bertcalc.changes.adapter import PeftChange
from bertcalc.text.arguments import checked


@checked
def adapter_config(adapter: PeftChange) -> str:
    """The text of an adapter_config.json, which ``peft.PeftConfig.from_pretrained`` reads as this adapter.

    >>> from bertcalc.changes.lora import Lora
    >>> json.loads(adapter_config(Lora(r=4)))["peft_type"]
    'LORA'
    """
    values = asdict(adapter)  # type: ignore[call-overload]  # all adapters are dataclasses
    content = {"peft_type": adapter.peft_type, **values}
    return json.dumps(content, indent=2, sort_keys=True) + "\n"
