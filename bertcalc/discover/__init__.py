"""Infer a formula for the parameters of any transformers model from the real class.

The class is built on PyTorch's meta device at many sizes. The search finds how each dimension of each tensor depends on
the configuration's fields. A formula is accepted only if it is right at sizes that were not used to find it.

    >>> from bertcalc.discover.results.request import DiscoveryRequest
    >>> roberta = DiscoveryRequest("roberta", "RobertaModel", {"hidden_size": 1024, "num_attention_heads": 16})
    >>> discover(roberta).count(num_hidden_layers=24)
    305002496
"""

from collections.abc import Callable

from bertcalc.discover.results.request import DiscoveryRequest, Progress
from bertcalc.discover.results.result import Discovered
from bertcalc.text.arguments import checked

__all__ = ["discover"]


@checked
def discover(
    request: DiscoveryRequest,
    *,
    progress: Progress = lambda _doing, _done, _of: None,
    wanted: Callable[[], object] | None = None,
) -> Discovered:
    """Infer the formulas of a class.

    ``progress`` is called with the current activity, the steps done, and the number of steps. No weights are created
    or loaded, no remote code is run, and the Hub is not contacted.

    With ``wanted``, the search runs in its own process, with limits on time and memory. Readers are served one at a
    time, and those who want the same model share its result (``results.known_results``). Meanwhile ``wanted`` is called
    regularly; it raises an exception if the reader wants something else.

    Raises Refused if transformers does not have the type or cannot build it, other InputErrors for sizes beyond the
    limits, and Ended if no formula for the parameters is found in time. If there is none for FLOPs, ``no_flops`` gives
    the reason.
    """
    if wanted is not None:
        from bertcalc.discover.discovery_worker import ask

        return ask(discover, request, progress, wanted)
    from bertcalc.discover.search import search

    return search(request, progress)
