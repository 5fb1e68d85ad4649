"""The settings of training and inference that memory depends on."""

from typing import Literal, NamedTuple, get_args

from bertcalc.memory.optimizers import Dtype, Optimizer, Precision
from bertcalc.model.freezing import Freezing
from bertcalc.text.arguments import record

Attention = Literal["eager", "fused"]
Recompute = Literal["none", "selective", "full"]
ATTENTIONS: tuple[Attention, ...] = get_args(Attention)
RECOMPUTE: tuple[Recompute, ...] = get_args(Recompute)


@record
class Plan(NamedTuple):
    """The settings of a training step.

    - ``keep_outputs``: the training loop keeps all outputs, not only the loss, in a variable until the next forward
      pass has returned.
    - ``accumulate``: gradients of earlier batches exist already, and the step adds to them.
    - ``input_require_grads``: the output of the word embeddings gets a gradient even if they are frozen, as after
      transformers' ``enable_input_require_grads()``. Gradient checkpointing in transformers calls this method.

    ``changes_in`` (memory/peak) describes the other settings.
    """

    precision: Precision = "fp32"
    optimizer: Optimizer = "adamw"
    attention: Attention = "eager"
    fused_dropout: bool = False
    recompute: Recompute = "none"
    freezing: Freezing = Freezing()
    keep_outputs: bool = False
    accumulate: bool = False
    input_require_grads: bool = False

    @property
    def uses_bfloat16(self) -> bool:
        """Whether weights or matrix products have to be bfloat16; with other 16-bit plans, float16 works as well."""
        return self.precision in ("bf16", "amp-bf16")


def checkpointed(plan: Plan, recompute: Recompute) -> Plan:
    """The plan with ``recompute``; "full" also sets ``input_require_grads``, as transformers does."""
    return plan._replace(recompute=recompute, input_require_grads=recompute == "full")


@record
class Inference(NamedTuple):
    """The settings of a forward pass without gradients."""

    dtype: Dtype = "float32"
    attention: Attention = "eager"

    @property
    def uses_bfloat16(self) -> bool:
        """Whether weights are bfloat16."""
        return self.dtype == "bfloat16"
