"""What peft's wrapper does before it calls the model: virtual tokens in front of the words, on simulated tensors.

The operations and variables are those of PeftModel.get_prompt and the forward methods in peft 0.21 (peft_model.py).
"""

from collections.abc import Callable, Mapping

from bertcalc.memory.simulator.forward_pass import Pass
from bertcalc.memory.simulator.tape import INT64, SimulatedTensor
from bertcalc.model.steps import Step


def _virtual_tokens(run: Pass, step: Step) -> SimulatedTensor:
    """Labels for the virtual tokens of a language model, and their rows, looked up once for all sequences."""
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


def _inputs_embeds(run: Pass, step: Step) -> SimulatedTensor:
    prompts, words = run.taken(step)
    return run.tape.cat(prompts, words, 1)


STEPS: Mapping[str, Callable[[Pass, Step], SimulatedTensor]] = {
    "virtual tokens": _virtual_tokens,
    "prompts": _prompts,
    "inputs_embeds": _inputs_embeds,
}
