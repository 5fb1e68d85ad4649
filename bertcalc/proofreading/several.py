"""Judge the count of several modules that words multiply: 25 LayerNorms of 1,536 parameters, 36,864 in total.

>>> judge_several("25 LayerNorms of ", Fraction(1536), " parameters, ", "in total", Fraction(36864)).right_value
Fraction(38400, 1)
"""

import re
from fractions import Fraction

from bertcalc.proofreading.chains import gives
from bertcalc.proofreading.claims import in_words
from bertcalc.proofreading.verdicts import LEAST, Judged
from bertcalc.proofreading.written_sizes import NUMBER_WORDS, in_digits

_SEVERAL = re.compile(
    rf"(?<![\w.,-])(?P<number>[0-9]{{1,3}}|{'|'.join(NUMBER_WORDS)})"
    r"(?:[ -](?:[^\W\d][\w-]{1,20} ){1,4}(?:of|with|having|at)(?: about)?"
    r"|\s?个?[^\W\d]{1,16}[,，]?(?:每层|每个|各)(?:有|是)?)\s?[*`]{0,2}$",
    re.I,
)
_MAKE = re.compile(
    r"[*`]{0,2}\s?(?:(?:parameters?|params|weights) ?)?(?:each ?)?[,，:：]? ?(?:(?:which|that|and|so|they) ?)?"
    r"(?:(?P<make>makes?|gives?|equals?|is|are|yields?|come to|add up to|sum to|together|altogether"
    r"|in total|总共|一共|共|合计)"
    r"(?: have| is|有|是|为)?)?[:：]? ?[*`]{0,2}",
    re.I,
)
_IN_TOTAL = re.compile(
    r"[*`]{0,2}\s?(?:(?:parameters?|params|weights) ?)?(?:in total|together|altogether|in all)\b", re.I
)
_MOST_APART = 4


def judge_several(before: str, value: Fraction, between: str, after: str, total: Fraction) -> Judged | None:
    """The verdict on a number that is said to be several times the one before it; None if it is not said so.

    ``before`` are the words before the ``value`` of one, ``between`` those up to the ``total``, ``after`` the next.
    """
    several = _SEVERAL.search(before)
    make = _MAKE.fullmatch(between) if several else None
    if several is None or make is None or not (make["make"] or _IN_TOTAL.match(after)) or value < LEAST:
        return None
    product = in_digits(several["number"]) * value
    if not product / _MOST_APART < total < _MOST_APART * product:
        return None
    return Judged("right") if total == product else gives(product, in_words(total))
