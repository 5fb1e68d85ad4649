"""Judge what peft prints of a model with adapters: the trainable parameters, all of them, and their share.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.calculations import find
>>> from bertcalc.proofreading.contexts import Surroundings
>>> text = "trainable params: 296,450 || all params: 109,780,228 || trainable%: 0.2700"
>>> entries, around = find(text, {}), Surroundings(text)
>>> print(judge_adapters(entries[0].best, around.of(entries[0]), build(BertConfig())).counts)
296,450 is the number of parameters that BertForSequenceClassification trains with Lora(r=8, target_modules=['query', \
'value'], task_type='SEQ_CLS').
>>> judge_trainable_share(entries[2].best, around.of(entries[2])).verdict
'right'
"""

import re
from fractions import Fraction

from bertcalc.diagnosis.changed_counts import adapter_counts
from bertcalc.diagnosis.peft_line import printed_by_peft
from bertcalc.model.model import Model
from bertcalc.proofreading.calculations import ChainSide
from bertcalc.proofreading.contexts import Context
from bertcalc.proofreading.verdicts import LEAST, Judged
from bertcalc.text import N_
from bertcalc.text.problem import Problem

_ADAPTERS = re.compile(r"\blora\b|adapter|\bpeft\b|trainable params:|\ball params|low[- ]rank|适配器|低秩", re.I)


def judge_adapters(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on the parameters of LoRA adapters, alone or with what is trained or frozen beside them."""
    words = " ".join((*context.names, *context.headings, context.line))
    if context.of_other:
        return None  # counting every adapter of every model of a text would take seconds
    if side.reach or side.value < LEAST or side.value.denominator != 1 or not _ADAPTERS.search(words):
        return None
    count = int(side.value)
    return next((Judged("right", counts=found.in_words(f"{count:,}")) for found in adapter_counts(model, count)), None)


def judge_trainable_share(side: ChainSide, context: Context) -> Judged | None:
    """The verdict on the share that peft prints behind the two counts that it is computed from."""
    printed = printed_by_peft(context.line)
    if printed is None or side.text.strip(" %") != printed.share:
        return None
    counts = Problem.of(N_("the share of the trainable parameters"))
    if reason := printed.wrong_share():
        return Judged("wrong", Fraction(printed.trained, max(printed.whole, 1)), counts, (reason,))
    return Judged("right", counts=counts)
