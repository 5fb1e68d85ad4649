"""Virtual tokens in front of the words, on simulated tensors: what peft's wrapper does before it calls the model.

The operations and variables follow PeftModel.get_prompt and the forward methods in peft 0.21 (peft_model.py).
"""

from collections.abc import Callable, Mapping

from bertcalc.memory.simulator.forward_pass import Pass
from bertcalc.memory.simulator.frames import Frame, frame
from bertcalc.memory.simulator.simulated_tensor import SimulatedTensor
from bertcalc.memory.simulator.tape import INT64
from bertcalc.model.modules import layer_number
from bertcalc.model.trace import Step


def _virtual_tokens(run: Pass, step: Step) -> SimulatedTensor:
    """Look up the virtual tokens, once for all sequences.

    When a causal language model is trained, their labels are created first.
    """
    tape, batch, count = run.tape, run.batch_size, step.takes[0].shape[1]
    if run.training and run.model.cls.task == "causal-lm":
        run.values["prefix_labels"] = tape.new((batch, count), INT64)
        run.values["labels"] = tape.cat(run.values["prefix_labels"], run.batch["labels"], 1)
    numbers = run.values["prompt_tokens"] = tape.new((batch, count), INT64)
    first = SimulatedTensor(numbers.storage, (1, count), numbers.strides, INT64, is_view=True)
    return run.call(step, first)


def _prompts(run: Pass, step: Step) -> SimulatedTensor:
    """The virtual tokens of each sequence, in the dtype of the words."""
    prompts = run.tape.repeat(run.values.pop(step.takes[0].name), run.batch_size)
    del run.values["prompt_tokens"]
    return run.tape.to(prompts, run.width)


def _prefix_tokens(run: Pass, step: Step) -> SimulatedTensor:
    numbers = run.values["prompt_tokens"] = run.tape.new(step.takes[0].shape, INT64)
    return run.call(step, numbers)


@frame
def _past_key_values(run: Pass, v: Frame, step: Step) -> None:
    """Create a DynamicCache with a copy of the virtual tokens' keys and values in each layer."""
    tape, config = run.tape, run.model.final_config
    layers, heads, size = config.num_hidden_layers, config.num_attention_heads, config.attention_head_size
    past = tape.to(run.values.pop(step.takes[0].name), run.width)
    past = tape.permute(tape.view(past, (*past.shape[:2], 2 * layers, heads, size)), (2, 0, 3, 1, 4))
    v.past_key_values = parts = tape.split(past, layers, 0)
    for layer, both in enumerate(parts):
        v.key_values = states = tape.unbind(tape.narrow(both, both.shape), 0)
        run.values[_earlier("key", layer)] = tape.cat_with_nothing(states[0])
        run.values[_earlier("value", layer)] = tape.cat_with_nothing(states[1])
    del run.values["prompt_tokens"]


def _prefixed(run: Pass, step: Step) -> SimulatedTensor:
    """The keys or values of the virtual tokens and the words, which the cache holds."""
    name, (states,) = _earlier(step.place.role.removesuffix("_prefixed"), layer_number(step.name)), run.taken(step)
    states = run.values[name] = run.tape.cat(run.values[name], states, 2)
    if run.caches():  # the model returns the cache
        run.cache.append(states.own())
    return states


def _earlier(name: str, layer: int) -> str:
    return f"past_key_values.{layer}.{name}"


def _inputs_embeds(run: Pass, step: Step) -> SimulatedTensor:
    prompts, words = run.taken(step)
    return run.tape.cat(prompts, words, 1)


STEPS: Mapping[str, Callable[[Pass, Step], SimulatedTensor | None]] = {
    "prefix tokens": _prefix_tokens,
    "past_key_values": _past_key_values,
    "key_prefixed": _prefixed,
    "value_prefixed": _prefixed,
    "virtual tokens": _virtual_tokens,
    "prompts": _prompts,
    "inputs_embeds": _inputs_embeds,
}
