"""The data that a page sends to a custom component."""

import json
from typing import Any


def sent_to(component: Any) -> Any:
    """Return the data in a component's message. ``component(...)`` sends JSON as bytes, other components as text."""
    return json.loads(component.bytes or component.json)
