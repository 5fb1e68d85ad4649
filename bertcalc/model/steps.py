"""The size of a batch and its checks; steps are defined in trace.py."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bertcalc.config import Config, Problem, check_whole_number
from bertcalc.model.trace import Operation, Step, Value
from bertcalc.text import N_

__all__ = ["BATCH", "LARGEST", "Batch", "Operation", "Step", "Value", "batch_problems"]


class Batch(NamedTuple):
    """The number of sequences, and of tokens in each."""

    batch_size: int = 1
    sequence_length: int = 128


# The default batch, and the largest value of both sizes.
BATCH = Batch()._asdict()
LARGEST = 1_000_000


def rows_for(config: Config, length: int) -> int:
    """Return the max_position_embeddings with which sequences of ``length`` tokens are possible.

    RoBERTa and MPNet have rows that are never positions of a token.
    """
    return config.max_position_embeddings + max(0, length - config.longest)


def batch_problems(config: Config, values: Mapping[str, object]) -> Iterator[Problem]:
    """The problems with a batch_size and a sequence_length in a configuration."""
    for field, default in BATCH.items():
        if problem := check_whole_number(field, values[field], 1, LARGEST, default):
            yield problem
            return
    longest = config.longest
    if isinstance(length := values["sequence_length"], int) and length > longest:
        message = N_(
            "Sequence length {value} is longer than max_position_embeddings {longest}: at most {longest} is possible."
        )
        remedies = {"sequence_length": longest}, {"max_position_embeddings": rows_for(config, length)}
        yield Problem.of(message, "sequence_length", length, *remedies, value=length, longest=longest)
