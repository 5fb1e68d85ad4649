"""The bytes of the weights, the activations that autograd saves under a plan, and the outputs."""

from itertools import pairwise
from typing import Literal

from bertcalc.config import unchecked
from bertcalc.families import FAMILIES
from bertcalc.forward.outputs import Call, Entry, outputs, run
from bertcalc.memory.optimizers import ITEM_BYTES, Dtype, parts, sizes
from bertcalc.memory.plan import Plan
from bertcalc.memory.saved import SavedActivation, saved_activations, total_bytes
from bertcalc.model.freezing import Freezing
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.arguments import checked
from bertcalc.transformers4.version import ABSOLUTE

# Bits per weight, without the scales that int8 and 4-bit formats add.
WEIGHT_BITS = {"float32": 32, "bfloat16, float16": 16, "int8": 8, "4-bit": 4}
Checkpoint = Literal["weights", "every name", "with states"]


@checked
def weight_bytes(parameters: int, bits: int) -> int:
    """The bytes of ``parameters`` weights at ``bits`` bits each, rounded up.

    >>> weight_bytes(109_482_240, 4)
    54741120
    """
    return -(-parameters * bits // 8)


@checked
def weights_of(model: Model, bits: int) -> int:
    """The bytes of a model's weights at ``bits`` bits each, rounded up."""
    return weight_bytes(model.num_parameters(), bits)


@checked
def checkpoint_bytes(model: Model) -> dict[Checkpoint, int]:
    """The bytes of a float32 checkpoint without its header, by kind; "every name" is left out if no weights are tied.

    save_pretrained and torch.save write a tensor with two names only once. A checkpoint that includes the states of
    AdamW is three times as large.

    >>> from bertcalc import build
    >>> checkpoint_bytes(build("bert-base-uncased"))
    {'weights': 437928960, 'with states': 1313786880}
    """
    untied = model.changed(config=unchecked(model.config, tie_word_embeddings=False))
    once, twice = (variant.num_parameters() for variant in (model, untied))
    files: dict[Checkpoint, int] = {"weights": 4 * once, "every name": 4 * twice, "with states": 12 * once}
    return {file: count for file, count in files.items() if file != "every name" or twice != once}


@checked
def steady_bytes(model: Model, plan: Plan) -> int:
    """The bytes that training always needs: weights, master weights, gradients and optimizer states."""
    trained = sizes(map(plan.freezing.trained, model.tensors()))
    return sum(parts(model.num_parameters(), trained, plan.precision, plan.optimizer).values())


@checked
def kept(model: Model, plan: Plan, batch_size: int, sequence_length: int) -> list[SavedActivation]:
    """The tensors that autograd saves under a plan."""
    batch = model.batch_of(batch_size, sequence_length)
    return saved_activations(model, batch, plan)


@checked
def korthikanti(model: Model, plan: Plan, batch_size: int, sequence_length: int) -> list[tuple[str, int]]:
    """Explain how the saved bytes of one layer differ from the formula of Korthikanti et al. 2022 (arXiv:2205.05198).

    Starting from the paper's model, the function changes one setting after another to its value in ``model`` and
    ``plan``. Returns (reason, bytes) pairs: first the paper's count, then the bytes that each change adds. The bytes
    sum to one trained layer of ``model``.
    """
    tokens, config = batch_size * sequence_length, model.config
    hidden = tokens * config.hidden_size
    square = batch_size * config.num_attention_heads * sequence_length**2
    theirs = {"none": 34 * hidden + 5 * square, "selective": 34 * hidden, "full": 2 * hidden}[plan.recompute]

    current = unchecked(
        config,
        intermediate_size=4 * config.hidden_size,
        hidden_act="gelu",
        hidden_dropout_prob=0.1,
        attention_probs_dropout_prob=0.1,
        is_decoder=False,
        add_cross_attention=False,
        **ABSOLUTE,
    )
    how = plan._replace(precision="mixed-16", attention="eager", fused_dropout=True, freezing=Freezing())
    bert = next(iter(FAMILIES.values()))
    twin = unchecked(bert.config.default(), **{**current.shared(), "use_cache": False})
    counts = [0, theirs, _one_layer(Model(twin, bert.base.name), how, batch_size, sequence_length)]
    for _reason, fields, changes in _REASONS[2:]:
        current = unchecked(current, **{field: getattr(config, field) for field in fields})
        how = how._replace(**{change: getattr(plan, change) for change in changes})
        counts.append(_one_layer(model.changed(config=current), how, batch_size, sequence_length))
    differences = (after - before for before, after in pairwise(counts))
    return [(reason, difference) for (reason, _fields, _changes), difference in zip(_REASONS, differences, strict=True)]


# The paper's model, then each difference from it, with the config and plan fields that cause the difference.
_REASONS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (N_("Korthikanti et al. 2022"), (), ()),
    (N_("mean and standard deviation of each LayerNorm, in float32"), (), ()),
    (N_("layers built differently from BERT's"), (), ()),
    (N_("intermediate_size is not 4 H"), ("intermediate_size",), ()),
    (N_("an activation function other than gelu"), ("hidden_act",), ()),
    (N_("a dropout probability of 0 or 1"), ("hidden_dropout_prob", "attention_probs_dropout_prob"), ()),
    (N_("relative positions"), tuple(ABSOLUTE), ()),
    (N_("cross-attention"), ("is_decoder", "add_cross_attention"), ()),
    (N_("fused attention"), (), ("attention",)),
    (N_("float32 instead of 16 bits"), (), ("precision",)),
    (N_("dropout masks in the activations' data type instead of one byte per element"), (), ("fused_dropout",)),
)


def _one_layer(model: Model, plan: Plan, batch_size: int, sequence_length: int) -> int:
    models = (model.changed(config=unchecked(model.config, num_hidden_layers=n)) for n in (1, 2))
    single, double = (total_bytes(kept(model, plan, batch_size, sequence_length)) for model in models)
    return double - single


@checked
def output_bytes(model: Model, dtype: Dtype, batch_size: int, sequence_length: int) -> int:
    """The bytes of the outputs of a forward pass without a cache."""
    returned = _outputs(model, batch_size, sequence_length, use_cache=False)
    return ITEM_BYTES[dtype] * sum(entry.num_elements() for entry in returned if not entry.container)


@checked
def cache_bytes(model: Model, dtype: Dtype, batch_size: int, sequence_length: int) -> int:
    """The bytes of the keys and values that a forward pass returns as past_key_values; 0 without a cache.

    >>> from bertcalc import build
    >>> cache_bytes(build("gpt2"), "float32", 1, 128)  # 2 · 12 · 128 · 768 numbers
    9437184
    """
    returned = _outputs(model, batch_size, sequence_length, use_cache=None)
    return ITEM_BYTES[dtype] * sum(entry.num_elements() for entry in returned if entry.name == "past_key_values")


def _outputs(model: Model, batch_size: int, sequence_length: int, *, use_cache: bool | None) -> list[Entry]:
    length = model.encoder_length(sequence_length)
    call = Call(batch_size, sequence_length, length, num_choices=1, use_cache=use_cache)
    return outputs(model, call, run(model, call))
