"""Numbers in a column whose header gives their unit: 109.5 under "Params (M)" is 109.5M.

>>> from bertcalc.proofreading.calculations import find
>>> [entry] = find("| BERT-base | 109.5 |", {})
>>> entry = in_unit_of_header(entry, "Params (M)")
>>> int(entry.value), int(entry.stated.reach)
(109500000, 50000)
"""

import re
from fractions import Fraction

from bertcalc.proofreading.calculations import ChainSide, WrittenNumber
from bertcalc.text.amounts import typed
from bertcalc.text.problem import InputError

_UNIT = re.compile(
    r"[(（\[/,，]\s?(?:in |单位[:：]?\s?)?(?P<unit>k|M|B|[kMG]i?B|million|billion|万|百万|亿|[MGT]FLOPs?|[MGT]MACs?)\s?"
    r"(?:params?|parameters|bytes)?[)）\]]?\W*$|^\W*(?P<whole>[MG]i?B|[MGT]FLOPs?)\W*$",
)
# Operations without a scale: 604M under "FLOPs per layer".
_OPERATIONS, _LEAST_OPERATIONS = re.compile(r"\b(?<!/)(?:FLOPs|MACs)\b(?!\s?(?:/|per (?:s|token)))", re.I), 10**4
# A column of shares in percent: % of total.
_PERCENT = re.compile(r"^\W*%\W*$|%\s?(?:of|total|param)|(?:share|fraction|proportion|占比|比例)\W{1,3}%", re.I)
_SHARE = re.compile(r"[0-9]{1,2}(?:\.[0-9]{1,3})?")
_PLAIN = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]{1,4})?|[0-9]{1,6}(?:\.[0-9]{1,4})?")


def in_unit_of_header(entry: WrittenNumber, header: str) -> WrittenNumber:
    """The number in the unit that the header of its column gives; the same number if it has one, or is computed."""
    unit = _UNIT.search(header.replace("*", "").replace("`", ""))
    side = entry.stated
    if unit is None and (operations := _OPERATIONS.search(header)) and side.unit in (None, "parameters"):
        is_scaled = side.value >= _LEAST_OPERATIONS and not side.is_decimal
        counted = side._replace(unit="MACs" if operations[0].lower() == "macs" else "FLOPs")
        return entry._replace(sides=(*entry.sides[:-1], counted)) if is_scaled else entry
    if unit is None and _PERCENT.search(header) and len(entry.sides) == 1 and _SHARE.fullmatch(side.text.strip()):
        reach = Fraction(1, 2 * 10 ** (2 + len(side.text.strip().partition(".")[2])))
        share = side._replace(value=side.value / 100, text=f"{side.text}%", reach=reach, rough=reach, is_decimal=True)
        return entry._replace(sides=(share,))
    if unit is None or len(entry.sides) > 1 or side.unit or not _PLAIN.fullmatch(side.text.strip()):
        return entry
    try:
        amount = typed(f"{side.text.strip()} {unit['unit'] or unit['whole']}")
    except InputError:
        return entry
    reach = (amount.high - amount.low) / 2
    written = ChainSide(
        amount.value, side.start, side.end, side.text, reach=reach, rough=reach, unit=amount.unit, about=side.about
    )
    return entry._replace(sides=(written,))
