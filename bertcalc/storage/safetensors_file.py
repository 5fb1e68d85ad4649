"""The exact size of safetensors files.

A file starts with the length of its header in eight bytes. The header is JSON with the name, dtype, shape and offsets
of each tensor, padded with spaces to a multiple of 8 bytes. The data of the tensors follows
(https://github.com/huggingface/safetensors#format).

>>> from bertcalc.model.model import build
>>> from bertcalc.storage.stored_tensors import stored
>>> safetensors_bytes(stored(build("bert-base-uncased"), "F32"))
437951328
"""

import json
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from bertcalc.storage.stored_tensors import DTYPES, StoredTensor, data_bytes

LENGTH_BYTES = 8
_RANKS = {dtype: rank for rank, dtype in enumerate(DTYPES)}
MAX_SHARD_SIZE = 50 * 10**9  # the default of save_pretrained; 5 GB before transformers 5


class WrittenFile(NamedTuple):
    """A file and its size in bytes."""

    name: str
    num_bytes: int


def safetensors_bytes(tensors: Sequence[StoredTensor]) -> int:
    """The size in bytes of a file with these tensors, as save_pretrained writes it."""
    return safetensors_header(tensors) + data_bytes(tensors)


def safetensors_header(tensors: Sequence[StoredTensor]) -> int:
    """The number of bytes before the data of a safetensors file that was saved from PyTorch.

    The number is a multiple of 8. Before safetensors 0.3, headers were up to 7 bytes shorter, without padding.
    """
    unpadded = plain_header(tensors)
    return unpadded + -unpadded % 8


def plain_header(tensors: Sequence[StoredTensor]) -> int:
    """The number of bytes before the data, without padding."""
    return LENGTH_BYTES + len(header_text(tensors).encode())


def header_text(tensors: Sequence[StoredTensor]) -> str:
    """The JSON header of a safetensors file that was saved from PyTorch.

    The library sorts tensors by dtype, the widest first, and by name.
    """
    ordered = sorted(tensors, key=lambda tensor: (-_RANKS[tensor.dtype], tensor.name))
    places = pairwise(accumulate((tensor.num_bytes() for tensor in ordered), initial=0))
    entries = {
        tensor.name: {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": list(place)}
        for tensor, place in zip(ordered, places, strict=True)
    }
    return json.dumps({"__metadata__": {"format": "pt"}, **entries}, separators=(",", ":"), ensure_ascii=False)


def safetensors_files(
    tensors: Sequence[StoredTensor], num_parameters: int, max_shard_size: int = MAX_SHARD_SIZE
) -> list[WrittenFile]:
    """The files that save_pretrained writes: a single file, or shards and their index.

    A shard has at most ``max_shard_size`` bytes of data. The rule is from huggingface_hub's
    split_state_dict_into_shards_factory: a tensor that no longer fits starts a new shard, and a tensor that is larger
    than the maximum gets its own shard. The index is JSON with an indent of 2 and also contains ``num_parameters``.
    """
    shards = _shards(tensors, max_shard_size)
    if len(shards) == 1:
        return [WrittenFile("model.safetensors", safetensors_bytes(shards[0]))]
    names = [f"model-{number:05d}-of-{len(shards):05d}.safetensors" for number in range(1, len(shards) + 1)]
    weights = {tensor.name: name for name, shard in zip(names, shards, strict=True) for tensor in shard}
    metadata = {"total_parameters": num_parameters, "total_size": data_bytes(tensors)}
    index = json.dumps({"metadata": metadata, "weight_map": weights}, indent=2, sort_keys=True) + "\n"
    files = [WrittenFile(name, safetensors_bytes(shard)) for name, shard in zip(names, shards, strict=True)]
    return [*files, WrittenFile("model.safetensors.index.json", len(index.encode()))]


def _shards(tensors: Sequence[StoredTensor], most: int) -> list[list[StoredTensor]]:
    shards: list[list[StoredTensor]] = []
    current: list[StoredTensor] = []
    for tensor in tensors:
        size = tensor.num_bytes()
        if size > most:
            shards.append([tensor])
            continue
        if data_bytes(current) + size > most:
            shards.append(current)
            current = []
        current.append(tensor)
    return [*shards, current] if current or not shards else shards
