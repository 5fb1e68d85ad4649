"""GPT-2's heads on simulated tensors: token selection, and the losses of the double-heads model."""

from math import prod

from bertcalc.families.gpt2 import GPT2Config
from bertcalc.memory.family_steps.step_registry import register
from bertcalc.memory.simulator.forward_pass import Overrides, Pass
from bertcalc.memory.simulator.frames import Frame, frame
from bertcalc.memory.simulator.simulated_tensor import SimulatedTensor
from bertcalc.memory.simulator.tape import BOOL, INT32, INT64
from bertcalc.model.trace import Step
from bertcalc.text import N_
from bertcalc.text.problem import InputError, Problem

CHOICES = N_("{architecture} cannot be trained with summary_use_proj False: there is no score for each choice.")


def _last_token(run: Pass, step: Step) -> SimulatedTensor:
    """The scores of each sequence's last token that is not padding."""
    tape, ids, (scores,) = run.tape, run.batch["input_ids"], run.taken(step)
    if run.model.config.pad_token_id is None or run.model.virtual_tokens:  # padding cannot be detected
        return tape.index(tape.select(scores), [tape.new(ids.shape[:1], INT64)])
    run.values["no_padding"] = tape.made(ids.shape, INT32, tape.new(ids.shape, BOOL))
    run.values["numbers"] = tape.new(ids.shape[1:], INT32)
    run.values["last"] = tape.made(ids.shape[:1], INT64, tape.new(ids.shape, INT32))
    return tape.index(scores, [tape.new(ids.shape[:1], INT64), run.values["last"]])


def _tokens(run: Pass, step: Step) -> SimulatedTensor:
    tape, (x,) = run.tape, run.taken(step)
    return tape.squeeze(tape.mean(x, 1), 1) if step.operation == "mean" else tape.select(x)


def _chosen_token(run: Pass, step: Step) -> SimulatedTensor:
    tape, (x,) = run.tape, run.taken(step)
    run.hold(step.within, {"cls_index": tape.new((*x.shape[:2], 1, x.shape[3]), INT64)})
    return tape.squeeze(tape.gather(x, run.values["cls_index"]), 2)


@frame
def _losses(run: Pass, v: Frame, logits: list[SimulatedTensor]) -> list[SimulatedTensor]:
    tape, labels, (words, choices) = run.tape, run.batch["labels"], logits
    if prod(choices.shape[:-1]) != run.batch_size:
        values = {"architecture": run.model.cls.name}
        raise InputError(Problem("summary_use_proj", "False", CHOICES, values, ({"summary_use_proj": True},)))
    v.mc_loss = run.classified(choices, run.batch["mc_labels"])
    *first, length = labels.shape
    v.shift_logits = tape.contiguous(tape.narrow(words, (*first, length - 1, words.shape[-1])))
    v.shift_labels = tape.contiguous(tape.narrow(labels, (*first, length - 1)))
    return [run.classified(v.shift_logits, v.shift_labels), v.mc_loss]


def _softmax(run: Pass, step: Step) -> SimulatedTensor:
    """Compute the softmax and cast it to the dtype of the values, because autocast computes it in float32."""
    (x,) = run.taken(step)
    (values,) = (
        part.takes[1].name for part in run.steps if part.within == step.within and part.place.role == "context"
    )
    item = run.values[values].item
    run.values[step.takes[0].name] = x = run.tape.softmax(x)  # GPT-2 reuses the variable of the scores
    return run.tape.to(x, item)


register(
    GPT2Config,
    Overrides(
        steps={"softmax": _softmax, "last_token": _last_token, "tokens": _tokens, "chosen_token": _chosen_token},
        # The body checks for padding before it flattens the choices.
        asides={"padding": lambda run, _step: run.look_for_padding(run.batch["input_ids"].shape)},
        losses={"double-heads": _losses},
    ),
)
