"""The tensor that autograd saves for a product with relative positions, which transformers 4 runs as torch.einsum."""

from bertcalc.model.trace import Step, Value, any_is_one

EQUATIONS = {"query_distances": "bhld,lrd->bhlr", "key_distances": "bhrd,lrd->bhlr"}  # keyed by the step's role


def laid_out(step: Step) -> Value:
    """The first factor of a product as autograd saves it: a contiguous copy, which einsum makes.

    einsum makes no copy of a single sequence, head or token, because there is nothing to reorder. With a cache, all
    queries have one row of distances, so the order of the sequences does not matter, and keys from the cache are
    already contiguous. Columns and symbols count as sizes above 1.
    """
    (factor, other) = step.takes
    role, axes = step.place.role, factor.shape[:3]
    if role not in EQUATIONS:
        return factor
    if any_is_one(other.shape[0]):
        axes = axes[1:] if role == "query_distances" else (1,)
    return factor if any_is_one(*axes) else factor._replace(name=step.name)
