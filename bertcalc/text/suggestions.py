"""Suggest the name that the user probably meant."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 100  # maximum number of characters to compare; the time grows quadratically
_SIMILAR = 0.6  # difflib's own default


def nearest(name: str, options: Iterable[str], *, similarity: float = _SIMILAR, beginning: bool = True) -> str | None:
    """Return the option most similar to a name, or None if none is similar. Case, spaces, - and _ make no difference.

    An option that begins with the name takes precedence over similar ones (bert-base means bert-base-uncased, not
    roberta-base), unless ``beginning`` is False. With a ``similarity`` of 0, the result is None only if there are no
    options.

    >>> nearest("bertmodel", ["AlbertModel", "BertModel"]), nearest("T5Model", ["roberta-base"])
    ('BertModel', None)
    """
    wanted = _plain(name[:_LONGEST])
    plain: dict[str, str] = {}
    for option in options:
        plain.setdefault(_plain(option), option)
    if wanted in plain:
        return plain[wanted]
    starts = [option for text, option in plain.items() if wanted and text.startswith(wanted)]
    if beginning and starts:
        return starts[0]
    similar = get_close_matches(wanted, plain, n=1, cutoff=similarity)
    return plain[similar[0]] if similar else None


def _plain(name: str) -> str:
    return re.sub(r"[-_ ]", "", name.casefold())
