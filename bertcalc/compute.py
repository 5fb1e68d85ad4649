"""FLOPs, two for each multiply-add of a matrix product, read from the forward pass."""

from bertcalc.forward import forward
from bertcalc.nn import Module


def forward_flops(
    model: Module,
    batch_size: int,
    sequence_length: int,
    *,
    encoder_sequence_length: int | None = None,
    num_choices: int = 1,
) -> int:
    """FLOPs of the matrix products of one forward pass, as PyTorch's FlopCounterMode counts them (eager attention).

    The remaining operations (embeddings, sums, norms, softmax, activations) are no matrix products and count nothing.
    """
    total = 0
    for step in forward(
        model, batch_size, sequence_length, encoder_sequence_length=encoder_sequence_length, num_choices=num_choices
    ):
        total = total + 2 * step.copies * step.multiply_adds()
    return total


def training_flops(
    model: Module,
    batch_size: int,
    sequence_length: int,
    *,
    encoder_sequence_length: int | None = None,
    num_choices: int = 1,
) -> int:
    """FLOPs of one forward and backward pass: each product comes twice again, for its input and for its weight.

    A product with ``encoder_hidden_states`` comes only once again: nothing is learned in front of it.
    """
    total = 0
    for step in forward(
        model, batch_size, sequence_length, encoder_sequence_length=encoder_sequence_length, num_choices=num_choices
    ):
        times = 2 if any(value.name == "encoder_hidden_states" for value in step.takes) else 3
        total = total + times * 2 * step.copies * step.multiply_adds()
    return total
