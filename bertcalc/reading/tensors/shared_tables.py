"""Find the matrices of a listing that a class of transformers shares with its embedding table.

A state_dict lists a shared matrix under each of its names, and ``named_parameters()`` lists it once. The names below
are those of all classes of transformers 5.23.

>>> shared = shared_in({"model.decoder.embed_tokens.weight": (50272, 768), "lm_head.weight": (50272, 768)})
>>> shared.heads, shared.is_known
(('lm_head.weight',), True)
>>> shared_in({"model.embed_tokens.weight": (32000, 64), "lm_head.weight": (32000, 64)}).is_known
False
"""

import re
from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from bertcalc.model.modules import Shape

_TABLE = re.compile(r"^(?!.*(?:pos|type|proj|patch|point)).*(?:embed|(?<![^.])(?:wte|shared|w)\.)")
_STACK = re.compile(r"(?:encoder|decoder)\.(?:text_model\.)?(?:embed_tokens|word_embeddings)\.weight$")
_SHARED_STACK = re.compile(r"(?<![^.])encoder\.text_model\.embed_tokens\.weight$")  # of T5Gemma2
_HEAD = re.compile(r"(?:^|[._])(?:heads?|decoder|out|output|proj|out_proj|projection|loss|projector)\.weight$")
# (head, table) pairs that are tied by default in all classes of transformers with these names, except
# BigBirdPegasusForCausalLM.
_ALWAYS_TIED = re.compile(
    r"^(?!.*\bluke\.).*"
    r"(?:(?:lm_head|(?<!decoder\.)output_projection|proj_out|lm_head\.out_proj)\.weight "
    r".*(?:decoder\.embed_tokens|shared)\.weight"
    r"|(?:lm_head|(?:predictions|lm_head)\.decoder|lm_loss|vocab_projector)\.weight .*word_embeddings?\.weight"
    r"|lm_head\.weight .*transformer\.(?:w|tokens_embed)\.weight|embed_out\.weight .*japanese\.embed_in\.weight"
    r"|decoder\.weight .*tok_embeddings\.weight|pred_layer\.proj\.weight .*transformer\.embeddings\.weight)$"
)


class SharedTables(NamedTuple):
    """The matrices that may be the same tensor as the embedding table ``table``.

    - ``stacks``: the tables of an encoder and a decoder, which are always the same table.
    - ``heads``: output matrices with their biases. ``is_known`` says whether all classes with these names tie them to
      the table by default.
    - ``repeated``: the number of parameters of the stacks.
    - ``parameters``: the number of parameters of the heads, which have none of their own if they are tied.
    """

    table: str
    stacks: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    is_known: bool = False
    repeated: int = 0
    parameters: int = 0


def shared_in(shapes: Mapping[str, Shape]) -> SharedTables | None:
    """Return the matrices that a listing may have under two names; None if there are none.

    ``shapes`` are keyed by the tensors' names.
    """
    tables = [name for name in shapes if name.endswith(".weight") and _TABLE.search(name) and not _HEAD.search(name)]
    single = [name for name in tables if not _LAYER.search(name)]
    if not single:
        return None
    largest = max((shapes[name] for name in single), key=prod)
    same = [name for name in single if shapes[name] == largest]
    heads = [name for name in shapes if shapes[name] == largest and _HEAD.search(name) and not _LAYER.search(name)]
    outside = [name for name in same if not _STACK.search(name)]
    first = heads[0].partition(".")[0] if heads else ""
    table = max(outside or same, key=lambda name: (name.startswith(first), "decoder" in name))
    stacks = tuple(name for name in same if name != table and (_STACK if outside else _SHARED_STACK).search(name))
    if not stacks and not heads:
        return None
    is_known = all(_ALWAYS_TIED.search(f"{head} {table}") for head in heads)
    biases = [bias for head in heads if (bias := _second_bias(head, shapes))]
    names = (*heads, *biases)
    repeated, parameters = (sum(prod(shapes[name]) for name in part) for part in (stacks, names))
    return SharedTables(table, stacks, names, is_known, repeated, parameters)


_LAYER = re.compile(r"\.[0-9]+\.")


def _second_bias(head: str, shapes: Mapping[str, Shape]) -> str:
    """Return the name of a decoder's bias if the module around the decoder has the same bias; otherwise empty."""
    path = head.removesuffix(".weight")
    outside = f"{path.rpartition('.')[0]}.bias"
    bias = f"{path}.bias"
    return bias if bias in shapes and shapes.get(outside) == shapes[bias] else ""
