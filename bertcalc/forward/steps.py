"""The forward pass of a model: what goes through it, and the steps that its program runs."""

from collections.abc import Iterator, Mapping

from bertcalc.config import Config, Problem, check_whole_number
from bertcalc.family import Model
from bertcalc.forward.trace import Operation, Sizes, Step, Value
from bertcalc.text import N_

__all__ = ["BATCH", "LARGEST", "Operation", "Step", "Value", "batch_problems", "forward"]

# What goes through the model at once, if nobody says otherwise; and the most that is counted.
BATCH = {"batch_size": 1, "sequence_length": 128}
LARGEST = 1_000_000


def batch_problems(config: Config, values: Mapping[str, object]) -> Iterator[Problem]:
    """What is wrong with a batch_size and a sequence_length, for a model of that configuration."""
    for field, default in BATCH.items():
        if problem := check_whole_number(field, values[field], 1, LARGEST, default):
            yield problem
            return
    longest = config.longest
    if isinstance(length := values["sequence_length"], int) and length > longest:
        message = N_(
            "Sequence length {value} is longer than max_position_embeddings {longest}: at most {longest} is possible."
        )
        remedies = {"sequence_length": longest}, {"max_position_embeddings": length}
        yield Problem.of(message, "sequence_length", length, *remedies, value=length, longest=longest)


def forward(
    model: Model,
    batch_size: int,
    sequence_length: int,
    *,
    encoder_sequence_length: int | None = None,
    num_choices: int = 1,
) -> list[Step]:
    """Every step from the token ids to the outputs, in order; the steps of a layer once, with their runs.

    ``encoder_sequence_length`` is that of ``encoder_hidden_states``: without them a decoder leaves its cross
    attention out, as transformers does. ``num_choices`` is read by classes for multiple choice alone.
    """
    return model.run(Sizes(batch_size, sequence_length, encoder_sequence_length, num_choices))
