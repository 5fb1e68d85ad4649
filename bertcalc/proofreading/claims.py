"""The result of proofreading: the claims in a text with their verdicts, as sentences, HTML or Markdown."""

import html
import re
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from string import Template
from typing import Literal, NamedTuple

from bertcalc.diagnosis.relatives import renamed
from bertcalc.model.model import Model
from bertcalc.text import N_, shorten
from bertcalc.text.amounts import Unit
from bertcalc.text.digits import brief, size
from bertcalc.text.problem import Problem

Say = Callable[[Problem], str]  # translates a sentence for the reader
Verdict = Literal["right", "wrong", "conditional", "unknown"]
_CALCULATES, _RESULT = re.compile(r"\w\)? ?(?:[*×+·]|\\times)"), re.compile(r"[=≈]")
_PAGE = Path(__file__).parent / "page.html"
MARKS: dict[Verdict, str] = {"right": "✓", "wrong": "✗", "conditional": "~", "unknown": "?"}
WORDS: dict[Verdict, str] = {
    "right": N_("right"),
    "wrong": N_("wrong"),
    "conditional": N_("right under a condition"),
    "unknown": N_("not recognized"),
}


class CheckedClaim(NamedTuple):
    """A number or a calculation in a text, and whether it is right.

    ``start`` and ``end`` are positions in the text. ``value`` is in ``unit``: None means parameters, and for "%" the
    value of 40 % is 40. For a wrong claim, ``right_value`` is the right value in the same unit. ``counts`` says what
    the claim counts, and ``reasons`` why it is wrong or under which condition it is right. ``carried`` is True if only
    earlier mistakes make it wrong.
    """

    start: int
    end: int
    text: str
    value: Fraction
    verdict: Verdict
    right_value: Fraction | None = None
    counts: Problem | None = None
    reasons: tuple[Problem, ...] = ()
    unit: Unit | Literal["%"] | None = None
    carried: bool = False

    @property
    def computed(self) -> str:
        """The result of a calculation without a stated result, such as a line of a program; otherwise empty."""
        is_open = (_CALCULATES.search(self.text) or self.text.isidentifier()) and not _RESULT.search(self.text)
        return in_words(self.value, self.unit) if is_open else ""

    @property
    def reason(self) -> str:
        """Why the claim is wrong, or under which condition it is right; if it is right, what it counts."""
        return self.explained()

    def explained(self, say: Say = str) -> str:
        """The reason in the language of ``say``."""
        return " ".join(map(say, self.reasons or ((self.counts,) if self.counts else ())))

    def sentence(self, say: Say = str) -> str:
        """The claim, its verdict and the reason in the language of ``say``."""
        verdict = self.explained(say) or say(Problem.of(WORDS[self.verdict]))
        value = f" = {self.computed}" if self.computed else ""
        return f'{MARKS[self.verdict]} "{shorten(self.text)}"{value}: {verdict}'

    def __str__(self) -> str:
        return self.sentence()


class Proofread(NamedTuple):
    """A proofread text: its claims in order, and the model that it is about.

    ``model`` is None if the text is about models that bertcalc does not count. ``preset`` is the model's name, such as
    bert-base-uncased. ``assumed`` is True if the text does not name its model. ``differing`` maps each field in which
    the text differs from the model that it names to two sizes: the text's and the model's.
    """

    text: str
    claims: tuple[CheckedClaim, ...]
    model: Model | None
    preset: str
    assumed: bool
    differing: Mapping[str, tuple[int, int]] = {}

    def of(self, verdict: Verdict) -> tuple[CheckedClaim, ...]:
        """The claims with a verdict, such as "wrong"."""
        return tuple(claim for claim in self.claims if claim.verdict == verdict)

    @property
    def first_error(self) -> CheckedClaim | None:
        """The first wrong claim; None if there is none."""
        return next(iter(self.of("wrong")), None)

    @property
    def corrected_total(self) -> int | None:
        """The right number of parameters of the text's model; None without a model."""
        return self.model.num_parameters() if self.model else None

    def tally(self) -> Problem:
        """The number of claims with each verdict, as a sentence."""
        counts = {verdict: len(self.of(verdict)) for verdict in MARKS}
        message = N_(
            "Claims: {all}. Right: {right}, wrong: {wrong}, right under a condition: {conditional}, "
            "not recognized: {unknown}."
        )
        return Problem.of(message, all=len(self.claims), **counts)

    def summary(self) -> Iterator[Problem]:
        """Yield sentences on the model, the number of claims per verdict, the first error, and the right total."""
        if self.model is None and self.assumed:
            yield Problem.of(
                N_("The text does not name its model, and no number fits BERT-base: only its arithmetic is checked.")
            )
        elif self.model is None:
            yield Problem.of(
                N_("The text is about models that bertcalc does not count: only its arithmetic is checked.")
            )
        else:
            message = N_("The model is assumed to be {name}.") if self.assumed else N_("The text is about {name}.")
            yield Problem.of(message, name=self.preset or self.model.architecture)
            yield from map(self._difference, self.differing)
        yield self.tally()
        if first := self.first_error:
            message = N_('The first error is "{text}": {reason}')
            yield Problem.of(message, text=shorten(first.text), reason=first.reasons[0])
        if self.model is not None:
            message = N_("{architecture} has {count} parameters.")
            count = self.model.num_parameters()
            yield renamed(Problem.of(message, architecture=self.model.architecture, count=count), self.model)

    def _difference(self, field: str) -> Problem:
        written, right = self.differing[field]
        message = N_("The text gives {field} = {written}, but {name} has {right}: {written} is used.")
        if self.model is not None and getattr(self.model.config, field) == right:
            message = N_("The text gives {field} = {written}, but {name} has {right}: {right} is used.")
        return Problem.of(message, field=field, written=written, name=self.preset, right=right)

    def __str__(self) -> str:
        return "\n".join([*map(str, self.summary()), *map(str, self.claims)])

    def html(self, say: Say = str) -> str:
        """The text as escaped HTML, with every claim in a <mark> that has the verdict and the reason as its title."""
        return "".join(_mark(claim, piece, say) if claim else html.escape(piece) for claim, piece in self._pieces())

    def page(self, say: Say = str, language: str = "en") -> str:
        """An HTML page to return to the author: the summary, the marked text, and the claims with their reasons.

        ``say`` translates the sentences into ``language``.
        """
        parts = {
            "language": language,
            "title": html.escape(say(Problem.of(N_("Proofread")))),
            "summary": "\n".join(f"<p>{html.escape(say(part))}</p>" for part in self.summary()),
            "text": self.html(say),
            "claims": "\n".join(f"<li>{html.escape(claim.sentence(say))}</li>" for claim in self.claims),
        }
        return Template(_PAGE.read_text(encoding="utf-8")).substitute(parts)

    def markdown(self, say: Say = str) -> str:
        """The text with a mark after every claim, and a footnote for every wrong or conditional claim."""
        notes: list[str] = []
        pieces = []
        for claim, piece in self._pieces():
            pieces.append(piece)
            if claim:
                pieces.append(f" {MARKS[claim.verdict]}")
            if claim and claim.verdict in ("wrong", "conditional"):
                notes.append(f"[^proof{len(notes) + 1}]: {claim.explained(say)}")
                pieces.append(f"[^proof{len(notes)}]")
        return "".join(pieces).rstrip("\n") + "\n\n" + "".join(f"{note}\n" for note in notes)

    def _pieces(self) -> Iterator[tuple[CheckedClaim | None, str]]:
        """The text in pieces: each claim, and the text between claims."""
        last = 0
        for claim in self.claims:
            if claim.start < last:
                continue
            yield None, self.text[last : claim.start]
            yield claim, self.text[claim.start : claim.end]
            last = claim.end
        yield None, self.text[last:]


def _mark(claim: CheckedClaim, piece: str, say: Say) -> str:
    verdict = claim.explained(say) or say(Problem.of(WORDS[claim.verdict]))
    value = f"= {claim.computed}: " if claim.computed else ""
    title = html.escape(f"{MARKS[claim.verdict]} {value}{verdict}", quote=True)
    return f'<mark class="{claim.verdict}" title="{title}">{html.escape(piece)}</mark>'


def in_words(value: Fraction, unit: Unit | Literal["%"] | None = None) -> str:
    """Format a value for a sentence: whole numbers in full, bytes and percentages with their unit."""
    if unit == "bytes":
        return size(int(value))
    if unit == "%":
        return f"{brief(value, 3)} %"
    return f"{int(value):,}" if value.denominator == 1 else brief(value)
