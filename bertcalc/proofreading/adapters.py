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
from typing import NamedTuple

from bertcalc.diagnosis.changed_counts import adapter_counts
from bertcalc.diagnosis.peft_line import printed_by_peft
from bertcalc.model.model import Model
from bertcalc.proofreading.calculations import ChainSide
from bertcalc.proofreading.claims import in_words
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
    count, rank = int(side.value), stated_rank(context.before)
    counts = (count_of for count_of in adapter_counts(model, count) if rank in (0, count_of.rank))
    return next((Judged("right", counts=count_of.in_words(f"{count:,}")) for count_of in counts), None)


_RANK = re.compile(r"(?:(?<![A-Za-z])r|\brank|秩)\s?(?:=|of|is|为|是)?\s?(?P<rank>[0-9]{1,3})(?![0-9.,]*[0-9])", re.I)
_TARGET = re.compile(
    r"query|key|value|attention|output|dense|linear|ffn|feed|mlp|c_attn|c_proj|\bW_?[qkvo]\b|注意力|前馈|矩阵", re.I
)


def stated_rank(text: str) -> int:
    """The rank of LoRA that a text states last; 0 if it states none.

    >>> stated_rank("With r = 8 it is 294,912, with rank 16")
    16
    """
    return next((int(match["rank"]) for match in reversed([*_RANK.finditer(text)])), 0)


class AdapterClaim(NamedTuple):
    """A right number of trained parameters, with the rank that the text states, and the words for its targets."""

    trained: Fraction
    rank: int
    targets: frozenset[str]
    line: int

    def judge(self, side: ChainSide, context: Context) -> Judged | None:
        """The verdict on the number for another rank, to which the trained parameters are proportional."""
        rank, targets = stated_rank(context.before), targets_in(context)
        if rank in (0, self.rank) or side.reach or side.unit or not targets <= self.targets:
            return None
        right = self.trained * rank / self.rank
        if right.denominator != 1 or not right / _FARTHEST < side.value < right * _FARTHEST:
            return None
        counts = Problem.of(N_("the trained parameters with r = {rank}"), rank=rank)
        if side.value == right:
            return Judged("right", counts=counts)
        reason = Problem.of(N_("{right} is right for {part}."), right=in_words(right), part=counts)
        return Judged("wrong", right, counts, (reason,))


_FARTHEST = 4


def targets_in(context: Context) -> frozenset[str]:
    """The words for targets of adapters in front of a number."""
    return frozenset(word.lower() for word in _TARGET.findall(context.before))


def judge_trainable_share(side: ChainSide, context: Context) -> Judged | None:
    """The verdict on the share that peft prints behind the two counts that it is computed from."""
    printed = printed_by_peft(context.line)
    if printed is None or side.text.strip(" %") != printed.share:
        return None
    counts = Problem.of(N_("the share of the trainable parameters"))
    if reason := printed.wrong_share():
        return Judged("wrong", Fraction(printed.trained, max(printed.whole, 1)), counts, (reason,))
    return Judged("right", counts=counts)
