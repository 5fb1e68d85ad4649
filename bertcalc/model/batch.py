"""The sizes of a batch, and their validation."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from bertcalc.config import Config, Problem, check_whole_number
from bertcalc.text import N_
from bertcalc.text.arguments import record


@record
class Batch(NamedTuple):
    """The sizes of a batch.

    - ``encoder_sequence_length``: the length of ``encoder_hidden_states``. With None, the model gets no
      ``encoder_hidden_states``, and a decoder skips its cross attention.
    - ``num_choices``: the number of choices per sequence; only classes for multiple choice read it.
    - ``cached``: whether a decoder fills its cache, if its configuration has a cache. Causal language models with
      labels do not fill it.
    - ``padded``: whether the batch is a tokenizer's output for sequences of different lengths, with token_type_ids and
      an attention_mask that contains zeros. Only peak memory depends on it.
    """

    batch_size: int = 1
    sequence_length: int = 1
    encoder_sequence_length: int | None = None
    num_choices: int = 1
    cached: bool = True
    padded: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of input_ids: (batch_size, sequence_length)."""
        return self.batch_size, self.sequence_length

    def sizes(self) -> dict[str, int]:
        """The values of batch_size and sequence_length, keyed by name."""
        return dict(zip(BATCH, self.shape, strict=True))


DEFAULT_BATCH = Batch(1, 128)
BATCH = {"batch_size": DEFAULT_BATCH.batch_size, "sequence_length": DEFAULT_BATCH.sequence_length}
LARGEST = 1_000_000  # the upper limit of both sizes


def rows_for(config: Config, length: int) -> int:
    """Return the max_position_embeddings that sequences of ``length`` tokens need, or the current value if it suffices.

    RoBERTa and MPNet need additional rows, which no token uses as its position.
    """
    return config.max_position_embeddings + max(0, length - config.longest)


def batch_problems(config: Config, values: Mapping[str, object]) -> Iterator[Problem]:
    """Yield the first problem, if any, with the batch_size and sequence_length in ``values`` for a configuration."""
    for field, default in BATCH.items():
        if problem := check_whole_number(field, values[field], 1, LARGEST, default):
            yield problem
            return
    longest = config.longest
    if isinstance(length := values["sequence_length"], int) and length > longest:
        message = N_("Sequence length {value} exceeds max_position_embeddings {longest}: use at most {longest}.")
        remedies = {"sequence_length": longest}, {"max_position_embeddings": rows_for(config, length)}
        yield Problem.of(message, "sequence_length", length, *remedies, value=length, longest=longest)
