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
from bertcalc.model.model import Model
from bertcalc.proofreading.calculations import ChainSide
from bertcalc.proofreading.contexts import Context
from bertcalc.proofreading.verdicts import LEAST, Judged
from bertcalc.text import N_
from bertcalc.text.digits import fixed
from bertcalc.text.problem import Problem

_ADAPTERS = re.compile(r"\blora\b|adapter|\bpeft\b|trainable|\ball params|low[- ]rank|适配器|低秩|可训练", re.I)
_PRINTED = re.compile(
    r"trainable params:\s?(?P<trainable>[0-9][0-9,]{0,20})\W{1,6}all params:\s?(?P<all>[0-9][0-9,]{0,20})"
    r"\W{1,6}trainable ?%:\s?(?P<share>[0-9]{1,3}\.[0-9]{1,20})"
)


def judge_adapters(side: ChainSide, context: Context, model: Model) -> Judged | None:
    """The verdict on the parameters of LoRA adapters, alone or with what is trained or frozen beside them."""
    words = " ".join((*context.names, *context.headings, context.line))
    if side.reach or side.value < LEAST or side.value.denominator != 1 or not _ADAPTERS.search(words):
        return None
    count = int(side.value)
    return next((Judged("right", counts=found.in_words(f"{count:,}")) for found in adapter_counts(model, count)), None)


def judge_trainable_share(side: ChainSide, context: Context) -> Judged | None:
    """The verdict on the share that peft prints behind the two counts that it is computed from."""
    printed = _PRINTED.search(context.line)
    if printed is None or side.text.strip(" %") != printed["share"]:
        return None
    trainable, whole = (int(printed[name].replace(",", "")) for name in ("trainable", "all"))
    places = len(printed["share"].partition(".")[2])
    share = Fraction(100 * trainable, max(whole, 1))
    counts = Problem.of(N_("the share of the trainable parameters"))
    if abs(share - Fraction(printed["share"])) * 10**places <= 1:
        return Judged("right", counts=counts)
    message = N_("{trainable} of {all} parameters are {share} %.")
    reason = Problem.of(message, trainable=trainable, all=whole, share=fixed(share, places))
    return Judged("wrong", share / 100, counts, (reason,))
