"""What a page sends to a custom component."""

import json
from typing import Any


def sent_to(component: Any) -> Any:
    """The data in a component's message: bytes of JSON from ``component(...)``, otherwise JSON."""
    return json.loads(component.bytes or component.json)
