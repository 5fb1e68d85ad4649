"""Judge the number of parameters that LoRA trains, by the rank and target modules that the text states.

>>> from bertcalc import BertConfig, build
>>> from bertcalc.proofreading.mentions.calculations import find
>>> from bertcalc.proofreading.mentions.contexts import Surroundings
>>> text = "LoRA on BERT-base with r = 16 on query and value trains 442,368 parameters."
>>> entry, claims = find(text, {})[-1], LoraClaims(text)
>>> judged = claims.judge(ClaimedNumber(entry, Surroundings(text).of(entry), build(BertConfig())), Judged("unknown"))
>>> judged.verdict, int(judged.right_value)
('wrong', 589824)
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import combinations
from typing import NamedTuple

from bertcalc.changes.targets import LORA_TARGETS
from bertcalc.diagnosis.miscounts import counted
from bertcalc.diagnosis.typos import is_slip
from bertcalc.model.model import Model
from bertcalc.model.modules import Tensor
from bertcalc.proofreading.chains import is_miscalculated
from bertcalc.proofreading.mentions.calculations import ChainSide, WrittenNumber, cells_of
from bertcalc.proofreading.mentions.contexts import Context
from bertcalc.proofreading.verdicts import LEAST, ClaimedNumber, Judged, is_far, should_be
from bertcalc.text import N_
from bertcalc.text.problem import Problem

Targets = frozenset[str]  # the roles of matrices, as in Tensor.place

_LORA = re.compile(r"\bq?lora\b|\btarget_modules\b|low[- ]rank adapt|低秩(?:适配|自适应|分解|矩阵)", re.I)
_RANK = re.compile(
    r"(?:(?<![A-Za-z_\\/])(?:lora_)?[rR]\b[\"']?|\branks?|秩)(?:[*_\s]{0,3}\([rR]\))?[}$`*|\s]{0,3}"
    r"(?:(?:=|:|of|is|equal to|to|取|是|为|设为|[=:]|\b)\s{0,2}){1,2}(?P<ranks>[0-9]{1,3}(?![0-9%]|[.,][0-9])"
    r"(?:\s?(?:[,、/]|,?\s?(?:and|or|to)\s|和|或|→|->)\s?(?:r\s?=\s?)?[0-9]{1,3}(?![0-9%]|[.,][0-9]))*)",
    re.I,
)
_RANK_HEADER = re.compile(r"\W*(?:lora[ _-]?)?(?:r|rank|秩)(?:\W.{0,12})?", re.I)

_ATTENTION: Targets = frozenset(("query", "key", "value", "output"))
_FEED_FORWARD: Targets = frozenset(("up", "gate", "down"))
_EVERY: Targets = _ATTENTION | _FEED_FORWARD
_PROJECTIONS: Targets = frozenset(("query", "key", "value"))
_LETTERS = {"q": "query", "k": "key", "v": "value", "o": "output"}
# Single letters only count in a group: q, v; QKV; q/k/v/o.
_LETTERED = re.compile(
    r"(?<![A-Za-z_^{\\])(?:[qkvo](?:\s?(?:[,、/+&;]|,?\s?and\s|和|与|及)\s?(?:the\s)?(?=[qkvo](?![A-Za-z]))"
    r"|(?=[qkvo]))){1,3}"
    r"[qkvo](?![A-Za-z]|\([A-Za-z])",
    re.I,
)
_ATOMS: Sequence[tuple[str, Targets]] = (
    (r"\bquer(?:y|ies)\b|\b(?-i:W)[_^]?\\?\{?(?:(?:\\?mathrm|\\?text)\{)?q\b|\bq_?(?:proj|lin)\b"
    r"|查询", frozenset(("query",))),
    (r"\bkeys?\b|\b(?-i:W)[_^]?\{?k\b|\bk_?(?:proj|lin)\b|(?<![关])键", frozenset(("key",))),
    (r"\bvalues?\b(?! of (?:r|the rank)\b)|\b(?-i:W)[_^]?\{?v\b|\bv_?(?:proj|lin)\b|(?<![数参取])值(?:矩阵|投影"
    r"|$)", frozenset(("value",))),
    (
        r"\battention[ .']{0,2}s? ?(?:block's )?output(?:[ .](?:dense|projection|matrix))?"
        r"|\boutput[ -]projections?|\bout_proj\b|\bout_lin\b"
        r"|\b(?:[kv]|keys?|values?)(?:,? and |, ?| ?[&/、和与] ?)(?:the )?out(?:put)?\b"
        r"|\b(?-i:W)[_^]?\{?o\b|\bo_?proj\b|\battn\.c_proj|(?:注意力(?:的)?)?输出(?:投影|矩阵|映射|层)",
        frozenset(("output",)),
    ),
    (r"\bc_attn\b|\bWqkv\b|\bqkv_proj\b", _PROJECTIONS),
    (r"\bintermediate\b|\bc_fc\b|\blin1\b|\bup[_ -]?proj\w*", frozenset(("up",))),
    (r"\bgate[_ -]?proj\w*|\b(?-i:W)_\{?gate\b", frozenset(("gate",))),
    (r"\bgate ?[/,、+&] ?up\b(?: ?[/,、+&] ?down\b)?", frozenset(("gate", "up"))),
    (r"^\W*down\b|\bup ?[/,、+&] ?down\b", frozenset(("down",))),
    (r"(?<!attention\.)\boutput\.dense|\blin2\b|\bdown[_ -]?proj\w*|\bmlp\.c_proj", frozenset(("down",))),
    (r"(?<![\w.])c_proj\b", frozenset(("output", "down"))),  # peft matches the end of a name: both modules of GPT-2
    (r"\bffn\b|\bfeed[ -]?forward|\bmlp\b(?!\.)|前馈", _FEED_FORWARD),
)  # fmt: skip
_ALL_LINEAR = re.compile(
    r"\b(?:all|every|each)[ -](?:of the |the |six |6 )?(?:linear|dense)\b(?! layers? of the (?:att|feed|ffn|mlp))"
    r"|\ball (?:the |six |6 )?(?:weight )?matrices (?:of|in) (?:a|the|each|every) (?:layer|block|encoder|model)"
    r"|\ball six\b|(?:所有|全部)(?:的)?(?:线性|全连接)|六个(?:线性|权重)?(?:矩阵|层)|all_linear",
    re.I,
)
_FOUR = re.compile(
    r"\b(?:all )?(?:four|4)(?: of the| of its)?(?: [a-z-]+){0,3} (?:matrices|projections|weights|modules)\b"
    r"|\ball (?:the )?(?:self-)?attention (?:matrices|projections|weights|modules|layers)"
    r"|[四4]个(?:注意力|投影|权重|线性)?(?:的)?(?:矩阵|投影|线性层)|注意力(?:中|里|层)?的?(?:全部|所有|[四4]个)",
    re.I,
)
_OF_ATTENTION = re.compile(r"\battention|注意力", re.I)
_DENSE = re.compile(r"[\"'`]dense[\"'`]|\b(?:query|key|value)[\"'`]?, ?(?:and )?dense\b(?! ?layer|[.])", re.I)
_MORE = re.compile(
    r"\balso\b|\badditional|\bin addition|\bas well|\bplus\b|\badding\b|\bextend|\btoo\b|\bas well as\b|也|再加"
    r"|还|另外|加上",
    re.I,
)
# Words for settings, other than rank and targets, that change which parameters are trained.
_OTHERWISE = re.compile(
    r"classif|\bhead\b|\bbias|\bdora\b|\bnorm|embedd|pooler|layers_to_transform|modules_to_save|\bexcept\b"
    r"|\bwithout\b"
    r"|\b(?:first|last|top|upper|lower|bottom|only)(?: the)? (?:\w+ )?(?:[0-9]+|two|three|four|six"
    r"|half)? ?(?:of the )?layers"
    r"|\bfull|\bfrozen|\bfreez|\bprompt|\bprefix|\bvirtual|\btoken|rather than|instead of|\bnot\b|compared"
    r"|分类|偏置|归一|嵌入|池化|全量|全参|冻结|除了|而不是|相比|原(?:来|始|矩阵)|[前后]\s?[0-9]\s?层",
    re.I,
)
# The size of an adapter that is not LoRA, behind the previous number.
_OF_ADAPTER = re.compile(r"\bbottleneck\b|瓶颈|^\W*(?:and |while )?adapters?\b", re.I)
_TRAINED = re.compile(
    r"\btrain(?:s|ed|able|ing)?\b|\blora\b|\badapter|\badds?\b|\bgives?\b|\bparam|\btotal|\bnumber|可训练|训练"
    r"|参数|总|共|增加|\br\b|\brank\b|秩",
    re.I,
)
_PER_LAYER = re.compile(
    r"\b(?:per|each|every|one|a|single|in a)[ -](?:\w+[ -])?(?:layer|block|attention)\b|每[一个]?层|单层|一层", re.I
)
_TOTAL_OF_ONE = re.compile(r"\bper[ -]layer total|total (?:per|for each|in each) layer|每一?层(?:总|合计|共)", re.I)
_PER_MATRIX = re.compile(
    r"\b(?:per|each|every|one|a|single)[ -](?:\w+[ -]){0,2}(?:matrix|module|projection|target)\b"
    r"|\b[AB]\b(?: alone| has| and B)|每个\S{0,6}(?:矩阵|模块)|单个\S{0,4}矩阵|一个\S{0,4}矩阵",
    re.I,
)
_ALL_LAYERS = re.compile(r"\btotal|\baltogether|\ball (?:[0-9]+ |twelve )?layers|[总共]|全部|合计", re.I)
_SENTENCE_END = re.compile(r"[。!?！？;；\n]|\.(?=\s)|\.$")
_BIG = re.compile(r"[0-9]{1,3}(?:[,_]|\{,\})[0-9]{3}|[0-9]{5,}|[0-9]\s?(?:[kKM万]|million)")
_RANKS = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256)
_MOST_APART, _NEAR = 16, 12
_MOST_BEHIND = 40


class _StatedSetting(NamedTuple):
    """The ranks and targets that a text may state for a number; ``is_near`` says whether they are near the number."""

    ranks: tuple[int, ...]
    targets: tuple[Targets, ...]
    is_near: bool


class _SettingInText(NamedTuple):
    """The ranks and targets that a sentence or a table row states."""

    start: int
    end: int
    ranks: tuple[int, ...]
    targets: tuple[Targets, ...]
    is_more: bool  # whether it adds targets to those in earlier sentences: also, in addition
    is_named: bool = False  # whether it is a table row with a label in words


class LoraClaims:
    """Judges a text's counts of LoRA parameters, in the order of the text."""

    def __init__(self, text: str) -> None:
        self.is_about_lora = is_about_lora(text)
        self._text = text
        self._sentences = list(_sentences(text)) if self.is_about_lora else []
        self._starts = [place.start for place in self._sentences]
        self._last = 0  # the end of the previous number
        self._implied: tuple[Targets, ...] = ()  # the targets of the first right number, if the text states none
        self._right_targets: Targets = frozenset()  # the targets of all right numbers

    def judge(self, number: ClaimedNumber, judged: Judged) -> Judged | None:
        """Judge a number of LoRA parameters; return None if it counts something else or the text has no setting.

        ``judged`` is the verdict so far.
        """
        entry, context, model = number.entry, number.context, number.model
        if not self.is_about_lora or model is None:
            return None
        is_arithmetic, last = is_miscalculated(judged), self._last
        side = next((side for side in entry.sides if side.is_calculation and is_arithmetic), entry.best)
        if not side.counts_parameters or side.is_decimal or side.value < LEAST:
            return None
        self._last = entry.end
        is_chance = judged.counts is not None and judged.counts.message in _BY_CHANCE
        beside = " ".join((context.sentence, *context.names[:2]))
        is_chance = is_chance or bool(_LORA.search(beside) and _TRAINED.search(beside))
        if judged.verdict == "right" and judged.counts is not None and not is_chance:
            return None
        setting = self._setting(entry, last, number.row.headers, context)
        is_joined = any("c_attn" in path for path, _module, _copies in model.modules())
        if "c_attn" in context.sentence and not is_joined:
            return None  # the sentence is about GPT-2, not about this model
        if not setting.ranks:
            return None
        targets = setting.targets or self._implied
        options = (*(targets or _usual_targets(model)), *filter(None, [self._right_targets]))
        rights = [count for rank in setting.ranks for targets in options for count in _counts(targets, rank, model)]
        words = " ".join((*context.names, *context.headings[:1], context.sentence, context.header))
        right = None if is_arithmetic else _fitting(rights, side, words)
        if right:
            self._implied = self._implied or (right.targets,)
            self._right_targets |= right.targets
            return Judged("right", counts=right.in_words(model))
        behind = self._text[entry.end : entry.end + _MOST_BEHIND]
        behind = behind.partition("\n")[0] if entry.cells else behind
        around = self._text[max(last, entry.start - 200) : entry.end] + behind
        is_claimed = setting.is_near and targets and len(setting.ranks) == 1 and _TRAINED.search(f"{words} {around}")
        if not is_claimed or context.of_other or _OF_ADAPTER.search(self._text[last : entry.start]):
            return None
        if _OTHERWISE.search(" ".join((around, *context.names[:2]))):
            return None
        scope = _scope(words)
        meant = next((count for count in rights if count.scope == scope), None)
        if meant is None or is_far(side.value, meant.value, _MOST_APART):
            return None
        if not _is_other_setting(side, meant, model):
            return None
        if entry.computes and is_joined and "c_attn" not in self._text:
            return None  # the text adapts query, key and value one by one
        wrong = should_be(meant.value, meant.in_words(model))
        return wrong._replace(reasons=(*judged.reasons, *wrong.reasons)) if is_arithmetic else wrong

    def _setting(self, entry: WrittenNumber, last: int, headers: Sequence[str], context: Context) -> _StatedSetting:
        """The setting for a number: stated beside it, in its sentence or row, or else in earlier sentences."""
        index = bisect_left(self._starts, entry.start + 1) - 1
        sentence = self._sentences[index] if index >= 0 else _SettingInText(0, 0, (), (), False)
        pieces = [self._text[max(last, sentence.start) : entry.start], self._behind(entry)]
        if last > sentence.start:
            pieces.append(self._text[sentence.start : entry.start])
        ranks = next(filter(None, map(_ranks, pieces)), ())
        targets = self._own_targets(entry, max(last, sentence.start), sentence.start)
        targets = targets or next(filter(None, map(_targets, pieces)), ())
        is_extended = any(_MORE.search(piece) for piece in pieces if targets)
        is_near = bool(ranks or targets)
        if entry.cells and (row := _in_row(entry, headers)):
            ranks, targets = row.ranks or ranks, row.targets or targets
            is_near = bool(ranks and (row.targets or not row.is_named))
        before = self._sentences[max(0, index - _MOST_SENTENCES) : index + (not entry.cells and last <= sentence.start)]
        earlier = next((place.targets for place in reversed(before) if place.targets and place.end <= entry.start), ())
        if targets and is_extended:
            targets = (*targets, *(one | other for one in targets for other in earlier))[::-1]
        for heading in context.headings[:1]:
            above = _StatedSetting(_ranks(heading), _targets(heading), is_near=True)
            if above.ranks and not ranks and (targets or above.targets):
                return above._replace(targets=targets or above.targets)
        only = self._only_setting
        if only is not None:
            follows = "\n\n" not in self._text[only.start : entry.start].strip()
            is_near = is_near or follows or any(map(_TRAINABLE.fullmatch, context.names[:1]))
        ranks = ranks or next((place.ranks for place in reversed(before) if place.ranks), ())
        stated = {place.ranks for place in self._sentences if place.ranks}
        if not ranks and entry.cells and len(stated) == 1:
            [ranks] = stated  # in a sentence below the table
        return _StatedSetting(ranks, targets or earlier, is_near)

    def _own_targets(self, entry: WrittenNumber, start: int, sentence: int) -> tuple[Targets, ...]:
        """The targets of a number in a list of subtotals; empty if the number is not in such a list.

        The targets are named after a colon in the words between ``start`` and the number. If these words belong to the
        previous number, the words after the number name them: 49,152 for attention and 61,440 for the FFN. A sum has
        all targets of its sentence, which begins at ``sentence``.
        """
        if entry.cells:
            return ()
        between, behind = self._text[start : entry.start], self._behind(entry)
        if _SUM.search(between) and start > sentence:
            return _targets(self._text[sentence : entry.start])
        is_behind = _FOR.match(behind) and (_FOR.match(between) or _ALL_LINEAR.search(between))
        if is_behind and (named := _targets(behind)):
            return named
        own = re.split("[:：]", between)[-1]
        return _targets(own) if own != between and _ALL_LINEAR.search(between) else ()

    @cached_property
    def _only_setting(self) -> _SettingInText | None:
        """The sentence, or the list, with a rank and targets, unless the text states other ranks or targets."""
        of_ranks = [place for place in self._sentences if place.ranks]
        of_targets = [place for place in self._sentences if place.targets]
        labelled = [place for place in of_targets if _TARGET_MODULES.search(self._text[place.start : place.end])]
        of_targets = labelled or of_targets
        if len({place.ranks for place in of_ranks}) != 1 or len({place.targets for place in of_targets}) != 1:
            return None
        if complete := next((place for place in of_ranks if place.targets), None):
            return complete
        first, last = sorted((of_ranks[0], of_targets[0]), key=lambda place: place.start)
        between = self._text[first.end : last.start]
        in_list = "\n\n" not in between and between.count("\n") <= _MOST_ITEMS_BETWEEN
        return last._replace(ranks=of_ranks[0].ranks, targets=of_targets[0].targets) if in_list else None

    def _behind(self, entry: WrittenNumber) -> str:
        """The words after a number, up to the next number or the end of the sentence."""
        behind = self._text[entry.end : entry.end + _MOST_BEHIND]
        end = next((match.start() for match in (_SENTENCE_END.search(behind), _BIG.search(behind)) if match), None)
        behind = behind[:end]
        return (
            behind
            if re.match(r"\W*(?:param\w*|weights|with|for|at|on|if|trainable|\(|r\b|个|参数|（)", behind, re.I)
            else ""
        )


_FOR = re.compile(r"\s*(?:parameters |weights )?(?:for|in|on)\b", re.I)
_SUM = re.compile(r"(?:\b(?:together|total|altogether|in all|sum)|合计|总计|一共|共)\W{0,3}$", re.I)
_BY_CHANCE = (
    N_("{number} is the number of parameters that {model}."),
    N_("{number} is the total parameter count of {model}."),
)
_MOST_SENTENCES, _MOST_ITEMS_BETWEEN = 60, 4
_TARGET_MODULES = re.compile(r"\btarget[ _]modules?|目标模块", re.I)
_TRAINABLE = re.compile(r"(?:(?:number of|total|lora) )*trainable (?:param(?:eter)?s|weights)|可训练参数量?", re.I)
_WORD = re.compile(r"[A-Za-z]{3}|[㐀-鿿]")
_EXPLAINED = {
    "all": N_("the parameters that LoRA trains with r = {rank} on {targets}"),
    "layer": N_("the parameters that LoRA trains in one layer with r = {rank} on {targets}"),
    "matrix": N_("the parameters that LoRA trains in one matrix with r = {rank} on {targets}"),
}


class _LoraCount(NamedTuple):
    """A number of parameters that LoRA trains: in all layers, in one layer, for one matrix, or only for its A or B.

    ``scope`` is "all", "layer" or "matrix".
    """

    value: int
    scope: str
    rank: int
    targets: Targets

    def in_words(self, model: Model) -> Problem:
        return Problem.of(_EXPLAINED[self.scope], rank=self.rank, targets=_names(self.targets, model))


def _sentences(text: str) -> Iterator[_SettingInText]:
    """The sentences of a text, with the ranks and the targets that they state."""
    start = 0
    for end in [*(match.end() for match in _SENTENCE_END.finditer(text)), len(text)]:
        sentence = text[start:end]
        if sentence.strip():
            yield _SettingInText(start, end, _ranks(sentence), _targets(sentence), bool(_MORE.search(sentence)))
        start = end


def _ranks(text: str) -> tuple[int, ...]:
    """The rank, or the list of ranks such as "8, 16 or 32", that a text states last; empty if there is none."""
    last = next((match["ranks"] for match in reversed([*_RANK.finditer(text)])), "")
    return tuple(dict.fromkeys(int(rank) for rank in re.findall("[0-9]+", last) if int(rank)))


def stated_ranks(text: str) -> frozenset[int]:
    """All LoRA ranks in a text, including those in a table column.

    >>> sorted(stated_ranks("With r = 8 it is 294,912, with rank 16 twice as much."))
    [8, 16]
    """
    ranks = {int(rank) for match in _RANK.finditer(text) for rank in re.findall("[0-9]+", match["ranks"])}
    column = -1
    for line in text.split("\n"):
        cells = cells_of(line)
        header = next((place for place, cell in enumerate(cells) if _RANK_HEADER.fullmatch(cell)), -1)
        column = header if header >= 0 else column if cells else -1
        if 0 <= column < len(cells) and (rank := re.fullmatch(r"\W*([0-9]{1,3})\W*", cells[column])):
            ranks.add(int(rank[1]))
    return frozenset(ranks)


def is_about_lora(text: str) -> bool:
    """Whether a text mentions LoRA, whose counts do not identify a model."""
    return bool(_LORA.search(text))


@lru_cache(maxsize=512)
def _targets(text: str) -> tuple[Targets, ...]:
    """The sets of matrices that words may mean; empty if they name no matrix."""
    if _ALL_LINEAR.search(text):
        return (_EVERY, _EVERY | {"dense"})
    named: set[str] = set()
    for pattern, roles in _ATOMS:
        if re.search(pattern, text, re.I):
            named |= roles
    for letters in _LETTERED.findall(text):
        named |= {_LETTERS[letter] for letter in re.findall("[qkvo]", re.sub("and", "", letters.lower()))}
    if _DENSE.search(text):
        return tuple(frozenset(named | {"output", "up", "down", *pooler}) for pooler in (("dense",), ()))
    if _FOUR.search(text):
        return (frozenset(named & _FEED_FORWARD | _ATTENTION),)
    if _OF_ATTENTION.search(text) and not named & _ATTENTION:
        inner = frozenset(named)
        return (inner | _ATTENTION, inner | _PROJECTIONS, inner | {"query", "value"})
    return (frozenset(named),) if named else ()


def _in_row(entry: WrittenNumber, headers: Sequence[str]) -> _SettingInText | None:
    """The rank and the targets in a number's table row; None if the headers do not match the row's cells."""
    if len(headers) != len(entry.cells):
        return None
    ranks: tuple[int, ...] = ()
    for header, cell in zip(headers, entry.cells, strict=True):
        if _RANK_HEADER.fullmatch(header) and re.fullmatch(r"\W*[0-9]{1,3}\W*", cell):
            ranks = (int(re.sub(r"\D", "", cell)),)
    label = " ".join(cell for cell in entry.cells if not re.fullmatch(r"[\W0-9]*", cell))
    ranks = ranks or _ranks(f"{label} | {headers[entry.column]}")
    header = headers[entry.column]
    targets = _targets(label) or (() if _IS_VALUE.fullmatch(header) else _targets(header))
    return _SettingInText(0, 0, ranks, targets, False, is_named=bool(_WORD.search(next(filter(None, entry.cells), ""))))


_IS_VALUE = re.compile(r"\W*values?\W*", re.I)


def _scope(words: str) -> str:
    """The scope of a number according to its words: "all" layers, one "layer", or a single "matrix"."""
    is_of_all = _ALL_LAYERS.search(words) and not _TOTAL_OF_ONE.search(words)
    if _PER_MATRIX.search(words) and not is_of_all:
        return "matrix"
    return "layer" if _PER_LAYER.search(words) and not is_of_all else "all"


def _fitting(rights: Iterable[_LoraCount], side: ChainSide, words: str) -> _LoraCount | None:
    """The LoRA count that rounds to a number, preferably a count of all layers; None if there is none."""
    fitting = [count for count in rights if side.may_mean(count.value)]
    whole = [count for count in fitting if count.scope == "all"]
    inside = [count for count in fitting if _PER_LAYER.search(words) or _PER_MATRIX.search(words) or not side.reach]
    return next(iter(whole or inside), None)


def _is_other_setting(side: ChainSide, right: _LoraCount, model: Model) -> bool:
    """Whether a number is right for a different rank or different matrices, or nearly right."""
    if side.value.denominator != 1 or side.reach:
        return abs(side.value - right.value) > max(3 * side.reach, Fraction(right.value, 10))
    apart = int(side.value) - right.value
    # A multiple of H + 1 is a classification head, which has H + 1 parameters per label, not a slip.
    is_near = abs(apart) * _NEAR <= right.value and apart % (model.config.hidden_size + 1)
    return bool(is_near) or is_slip(int(side.value), right.value) or int(side.value) in _other_counts(model)


@lru_cache(maxsize=32)
def _other_counts(model: Model) -> frozenset[int]:
    """The numbers of parameters that LoRA trains for each common rank and set of matrices, in all layers or in one."""
    roles = sorted({role for tensor in _matrices(model) for role in _roles(tensor)} & _EVERY)
    sets = (frozenset(chosen) for size in range(1, len(roles) + 1) for chosen in combinations(roles, size))
    return frozenset(
        count.value
        for targets in sets
        for rank in _RANKS
        for count in _counts(targets, rank, model)
        if count.scope != "matrix"
    )


@lru_cache(maxsize=32)
def _matrices(model: Model) -> tuple[Tensor, ...]:
    """The matrices that LoRA may target."""
    return tuple(
        tensor
        for tensor in counted(model)
        if len(tensor.shape) == 2
        and tensor.num_parameters()  # 0 for tensors that a model leaves out
        and (tensor.place.component == "encoder" or tensor.place.role == "dense")
    )


def _roles(tensor: Tensor) -> Targets:
    """The roles of a matrix; a fused matrix has several."""
    return frozenset("up" if role == "up and gate" else role for role in tensor.place.role.split(", "))


def _counts(targets: Targets, rank: int, model: Model) -> Iterator[_LoraCount]:
    """The counts of LoRA parameters on these matrices: in all layers, in one layer, in one matrix, and in A or B."""
    chosen = [tensor for tensor in _matrices(model) if _roles(tensor) & targets]
    if not chosen:
        return
    yield _LoraCount(rank * sum(tensor.copies * sum(tensor.shape) for tensor in chosen), "all", rank, targets)
    inside = [tensor for tensor in chosen if tensor.place.component == "encoder"]
    yield _LoraCount(rank * sum(sum(tensor.shape) for tensor in inside if "*" in tensor.name), "layer", rank, targets)
    for tensor in chosen:
        for size in (sum(tensor.shape), *tensor.shape):
            yield _LoraCount(rank * size, "matrix", rank, targets)


def _usual_targets(model: Model) -> tuple[Targets, ...]:
    """The targets if a text states none: query and value as in the paper, or c_attn if that is peft's default."""
    default = LORA_TARGETS.get(model.family.name, ())
    return (_PROJECTIONS,) if default == ("c_attn",) else (frozenset(("query", "value")),)


def _names(targets: Targets, model: Model) -> str:
    """The names of the modules with these roles, as in peft's target_modules, separated by commas."""
    names = []
    for tensor in _matrices(model):
        *path, name, _weight = tensor.name.split(".")
        if _roles(tensor) & targets:
            names.append(f"{path[-1]}.{name}" if name == "dense" and path else name)
    return ", ".join(dict.fromkeys(names))
