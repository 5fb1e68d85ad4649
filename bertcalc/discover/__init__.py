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
    """Infer formulas for the parameters of a transformers class and, if requested, for its FLOPs.

    The search creates and loads no weights, runs no remote code, and does not contact the Hub.

    Args:
        request: The class, the changes to its configuration, and the formulas to infer.
        progress: Called with the current activity, the number of steps done, and the total number of steps.
        wanted: If given, the search runs in a subprocess with limits on time and memory. Searches run one at a time,
            and requests for the same model share a result (``results.known_results``). ``wanted`` is called regularly;
            it raises an exception to cancel the search.

    Returns:
        The formulas for the parameters. If there is no formula for the FLOPs, ``no_flops`` gives the reason.

    Raises:
        Refused: transformers does not have the model type or class, or cannot build it.
        Ended: The time limit was reached before a formula for the parameters was found. With ``wanted``, a plain
            InputError is raised instead.
        InputError: A size exceeds the limits.
    """
    if wanted is not None:
        from bertcalc.discover.discovery_worker import ask

        return ask(discover, request, progress, wanted)
    from bertcalc.discover.search import search

    return search(request, progress)
