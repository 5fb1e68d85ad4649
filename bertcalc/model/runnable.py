"""Check whether a model's forward pass, or its loss, can run at all."""

from bertcalc.config import Config, Problem, all_or_none
from bertcalc.model.batch import Batch
from bertcalc.model.family import Class
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.arguments import checked

ANSWERS = N_(
    "{architecture} cannot run with num_labels {value}: it needs num_labels 2, for the start and the end of an answer."
)
ORDER = N_(
    "{architecture} cannot be trained with num_labels {value}: its loss needs num_labels 2, because two texts are "
    "either in order or swapped."
)


def unpadded(cls: Class, config: Config, batch_size: int) -> Problem | None:
    """The problem with a batch of several sequences if the class needs a pad_token_id and has none; otherwise None.

    A symbolic batch size counts as several sequences.
    """
    if not cls.finds_last_token or config.pad_token_id is not None or batch_size == 1:
        return None
    message = N_(
        "Without a pad_token_id, {architecture} takes one sequence at a time, because it needs the last token that "
        "is not padding: set pad_token_id, or set batch_size to 1."
    )
    return Problem.of(message, "batch_size", batch_size, {"batch_size": 1}, architecture=cls.name)


def in_pairs(config: Config) -> Problem | None:
    """The problem with an odd head size, which rotary positions cannot split into pairs; otherwise None.

    Symbols are not checked. Raises MixedError for columns in which only some rows have a problem.
    """
    heads, hidden_size = config.num_attention_heads, config.hidden_size
    numbers = all(isinstance(size, int) or hasattr(size, "all") for size in (hidden_size, heads))
    if not config.turns_pairs or not numbers or not all_or_none(hidden_size // heads % 2 != 0):
        return None
    if not isinstance(hidden_size + heads, int):  # the message describes the first row of columns
        hidden_size, heads = (int((size + 0 * (hidden_size + heads)).flat[0]) for size in (hidden_size, heads))
    near = max(1, hidden_size // (2 * heads)) * 2 * heads
    if hidden_size == heads:
        message = N_(
            "bertcalc does not support heads of size 1: rotary positions rotate pairs of entries, and transformers "
            "turns a single entry into two. Use {field} {near}."
        )
        values = {"field": config.own_name("hidden_size"), "near": near}
        return Problem.of(message, "hidden_size", hidden_size, {"hidden_size": near}, **values)
    message = N_(
        "Rotary positions rotate pairs of entries, but a head of size {size} cannot be split into pairs, so no "
        "forward pass can run. Use {field} {near}."
    )
    values = {"size": hidden_size // heads, "field": config.own_name("hidden_size"), "near": near}
    return Problem.of(message, "hidden_size", hidden_size, {"hidden_size": near}, **values)


@checked
def two_labels(model: Model, *, training: bool) -> str:
    """The error message if the model, or its loss in ``training``, requires ``num_labels`` 2; "" for most models."""
    if model.cls.task == "question-answering":
        always_two = all_or_none(scores_of_answers(model) == 2) and all_or_none(model.config.num_labels != 2)
        return "" if always_two else ANSWERS  # GPT-2 always has 2 scores
    return ORDER if training and "sentence_order_label" in model.cls.inputs else ""


@checked
def wrong_labels(model: Model, *, training: bool = False) -> Problem | None:
    """The problem if the forward pass fails with the model's number of labels; otherwise None.

    With ``training``, the loss is checked as well. A symbol is not checked. Raises MixedError for columns in which only
    some rows have a problem.
    """
    labels = model.config.num_labels
    if not (isinstance(labels, int) or hasattr(labels, "all")) or not all_or_none(labels != 2):
        return None
    message = two_labels(model, training=training)
    first = labels if isinstance(labels, int) else int(labels.flat[0])  # the first row of a column
    values = {"architecture": model.cls.name, "value": f"{first:,}"}
    return Problem("num_labels", f"{first:,}", message, values, ({"num_labels": 2},)) if message else None


@checked
def cannot_run(model: Model, *, training: bool = False) -> Problem | None:
    """The problem if a model's forward pass can never run; otherwise None.

    With ``training``, the loss is checked as well. Raises MixedError for columns in which only some rows have a
    problem.
    """
    untrained = filter(None, (change.untrained(model) for change in model.changes if training))
    return in_pairs(model.config) or wrong_labels(model, training=training) or next(untrained, None)


def scores_of_answers(model: Model) -> int:
    """The number of answer scores per token of a question-answering model."""
    return next(step.takes[0].shape[-1] for step in model.steps(Batch()) if step.output == "start_logits")
