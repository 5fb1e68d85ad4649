"""Explain the line that peft prints for a model with an adapter: trained parameters, all parameters, and the share.

>>> from bertcalc import Lora, load
>>> text = "trainable params: 296,450 || all params: 109,780,228 || trainable%: 0.2700"
>>> line = printed_by_peft(text)
>>> line.trained, line.whole, line.wrong_share()
(296450, 109780228, None)
>>> for sentence in line.meanings(load("bert-base-uncased")):
...     print(sentence)
peft prints this line for BertForSequenceClassification with Lora(r=8, target_modules=['query', 'value'], \
task_type='SEQ_CLS').
Of all 109,780,228 parameters, 109,483,778 belong to the model, 294,912 to the adapter, and 1,538 to a trained copy of \
classifier. peft also keeps the original modules, frozen.
Other adapters give the same two counts: Lora(r=16, target_modules=['query'], task_type='SEQ_CLS'), Lora(r=8, \
target_modules=['query', 'key'], task_type='SEQ_CLS').
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from bertcalc.changes.adapter import PeftChange, copies
from bertcalc.config import Config
from bertcalc.diagnosis.changed_counts import Others, adapter_counts, bases, changed_in_words
from bertcalc.diagnosis.known_counts import PUBLISHED_CONFIGS, other_labels, published_counts
from bertcalc.diagnosis.relatives import RELATIVES, counts_of_relatives, renamed
from bertcalc.model.model import Model
from bertcalc.text import N_
from bertcalc.text.digits import fixed
from bertcalc.text.problem import Problem

_PRINTED = re.compile(
    r"trainable params:\s?(?P<trained>[0-9][0-9,]{0,20})\W{1,6}all params:\s?(?P<all>[0-9][0-9,]{0,20})"
    r"\W{1,6}trainable ?%:\s?(?P<share>[0-9]{1,3}(?:\.[0-9]{1,20})?(?:e-[0-9]{1,2})?)(?![0-9])"
)
_IS = N_("peft prints this line for {model}.")
_IS_OF = N_("peft prints this line for {preset}, as {model}.")
_IS_NOT = N_("For {model}, peft prints different numbers: {trained} trainable parameters of {all}.")
_NO_ADAPTER = N_("All parameters are trained: no adapter is active, so this is full fine-tuning.")
_UNKNOWN = N_("No common adapter for {model} trains exactly {trained} of {all} parameters.")
_ALL = N_("Of all {all} parameters, {base} belong to the model and {adapter} to the adapter.")
_ALL_WITH_COPY = N_(
    "Of all {all} parameters, {base} belong to the model, {adapter} to the adapter, and {copies} to a trained copy "
    "of {modules}. peft also keeps the original modules, frozen."
)
_COUNTS_OF = N_("peft prints these two counts for {model}.")
_SAME = N_("Other adapters give the same two counts: {adapters}.")
_MOST_SAME = 2
_SHARE = N_("{trainable} of {all} parameters are {share} %, not {written} %.")


class PeftLine(NamedTuple):
    """The number of trained parameters, the number of all parameters, and the share in percent as printed."""

    trained: int
    whole: int
    share: str

    def wrong_share(self) -> Problem | None:
        """Return a sentence with the right share if the written share is wrong, otherwise None."""
        digits, _e, exponent = self.share.partition("e")
        places = len(digits.partition(".")[2]) - int(exponent or 0)
        share = Fraction(100 * self.trained, max(self.whole, 1))
        # Older releases print all digits of a float, with a rounded last digit.
        if float(share) == float(self.share) or abs(share - Fraction(self.share)) * 10**places <= 1:
            return None
        return Problem.of(
            _SHARE, trainable=self.trained, all=self.whole, share=fixed(share, places), written=self.share
        )

    def meanings(self, model: Model) -> Iterator[Problem]:
        """Yield sentences about the model and adapter for which peft prints the line, and about its "all params"."""
        if self.trained == self.whole:
            yield Problem.of(_NO_ADAPTER)
            return
        trained, whole = model.num_parameters(only_trainable=True), model.num_parameters()
        is_adapted = any(isinstance(change, PeftChange) for change in model.changes)
        fits = (trained, whole) == (self.trained, self.whole)
        if is_adapted and not fits:
            yield Problem.of(_IS_NOT, model=changed_in_words(model), trained=trained, all=whole)
        printed = model if is_adapted and fits else self._usual(model)
        problem = self.wrong_share()
        if printed:
            yield Problem.of(_COUNTS_OF if problem else _IS, model=changed_in_words(printed))
            yield self._all_of(printed)
            if printed is not model:
                yield from self._same_counts(printed)
        elif complete := self._with_adapter()._usual(model):
            numbers = {"trained": self.trained, "all": self._with_adapter().whole}
            yield Problem.of(_IS_NOT, model=changed_in_words(complete), **numbers)
        elif labelled := self._with_labels(model.config):
            yield Problem.of(_COUNTS_OF if problem else _IS, model=_with_labels_in_words(labelled))
            yield self._all_of(labelled)
        elif other := self._usual_published() or self._relative() or self._published_with_labels():
            preset, printed = other
            words = renamed(_with_labels_in_words(printed), printed)
            yield Problem.of(_COUNTS_OF if problem else _IS_OF, model=words, preset=preset)
            yield self._all_of(printed)
            yield from self._same_counts(printed)
        else:
            yield Problem.of(_UNKNOWN, model=model.architecture, trained=self.trained, all=self.whole)
        if problem:
            yield problem

    def _with_adapter(self) -> "PeftLine":
        """Return the line with the adapter added to "all params", in case it was left out."""
        return self._replace(whole=self.whole + self.trained)

    def _usual(self, model: Model, others: Others = "all") -> Model | None:
        """Return the model with a usual adapter that gives both counts; None if there is no such adapter.

        ``others`` selects the counts that are compared for other classes of the model's family.
        """
        trained, whole = (adapter_counts(model, count, others=others) for count in (self.trained, self.whole))
        return next((count.model for count in trained if count.model in [other.model for other in whole]), None)

    def _usual_published(self) -> tuple[str, Model] | None:
        """Return the (name, model) pair of a published model with a usual adapter and both counts, or None."""
        # Both counts include trained copies, so their difference is the model without its adapter.
        parameters = self.whole - self.trained
        if (entry := published_counts().get(parameters)) is None:
            return None
        classes = (base for base in bases(entry[1].model) if base.num_parameters() == parameters)
        adapted = (self._usual(base, others="nothing") for base in classes)
        return next(((entry[0], model) for model in adapted if model), None)

    def _with_labels(self, config: Config) -> Model | None:
        """Return a model with another number of labels and a usual adapter that has both counts, or None."""
        models = (count.model for count in other_labels(config, self.whole - self.trained))
        return next(filter(None, (self._usual(model, others="nothing") for model in models)), None)

    def _published_with_labels(self) -> tuple[str, Model] | None:
        """Return the (name, model) pair of a published model with other labels, an adapter and both counts, or None."""
        models = ((name, self._with_labels(config)) for name, config in PUBLISHED_CONFIGS.items())
        return next(((name, model) for name, model in models if model), None)

    def _same_counts(self, printed: Model) -> Iterator[Problem]:
        """Yield a sentence about other usual adapters of a model with the same two counts, if there are any."""
        base = printed.changed(changes=tuple(change for change in printed.changes if change.resizes))
        same = (count.model for count in adapter_counts(base, self.trained, others="nothing"))
        others = [model for model in same if model != printed and model.num_parameters() == self.whole]
        if others:
            yield Problem.of(_SAME, adapters=", ".join(str(model.changes[-1]) for model in others[:_MOST_SAME]))

    def _relative(self) -> tuple[str, Model] | None:
        """Return the (name, model) pair of a published decoder with a usual adapter and both counts, or None."""
        name = counts_of_relatives().get(self.whole - self.trained, "")
        base = RELATIVES[name].model if name else None
        printed = self._usual(base, others="nothing") if base else None
        return (name, printed) if printed else None

    def _all_of(self, model: Model) -> Problem:
        resized = tuple(change for change in model.changes if change.resizes)
        base, saved = model.changed(changes=resized).num_parameters(), copies(model)
        adapter = self.whole - base - sum(saved.values())
        message = _ALL_WITH_COPY if saved else _ALL
        values = {"copies": sum(saved.values()), "modules": ", ".join(saved)}
        return Problem.of(message, all=self.whole, base=base, adapter=adapter, **values)


def _with_labels_in_words(model: Model) -> Problem:
    labels = getattr(model.config, "num_labels", _USUAL_LABELS)
    words = changed_in_words(model)
    if labels == _USUAL_LABELS:
        return words
    return Problem.of(N_("{model}, for {labels} labels"), model=words, labels=labels)


_USUAL_LABELS = 2


def printed_by_peft(text: str) -> PeftLine | None:
    """Parse the first line of a text that peft printed.

    Returns None if there is no such line, or if it has more trained than total parameters.
    """
    printed = _PRINTED.search(text)
    if printed is None:
        return None
    trained, whole = (int(printed[name].replace(",", "")) for name in ("trained", "all"))
    return PeftLine(trained, whole, printed["share"]) if trained <= whole else None
