"""Inputs that are almost valid: real texts, cut, doubled, spliced, and sprinkled with characters that break parsers."""

from collections.abc import Sequence
from random import Random

LONGEST = 20_000
# Extreme numbers, look-alike characters, direction marks, halves of characters, and separators.
NASTY = (
    *("0", "-1", "1", "9" * 19, "9" * 400, "1e308", "1e-999", "1e999999", "NaN", "Infinity", "inf", "-0", "0x10", "١٢"),
    *("\0", "\n", "\r\n", "\t", "\u2028", "\u202e", "\u200b", "\ufeff", "\ufffd", "é", "e\u0301", "İ", "ß", "中", "🧮"),
    *("７６８", "²", "½", "−", "×", "％", "%00", "%2e%2e%2f", "../", "..\\", "//", "\\", "?", "#", "&", "=", "+", " "),
    *('"', "'", "`", "{", "}", "{0}", "{name}", "%s", "$", "$$", "[", "]", "(", ")", "<script>", "</style>", "<!--"),
    *("null", "true", "[]", "{}", "None", "__proto__", "\\ud800", "\\u0000", ":", ",", ";", ".", "-", "_", "~", "*"),
)


class Mutator:
    """Draws texts from seeds and words. The same state of ``random`` draws the same texts."""

    def __init__(self, random: Random, seeds: Sequence[str], words: Sequence[str] = ()) -> None:
        self._random = random
        self._seeds = seeds
        self._words = (*words, *NASTY)

    def draw(self) -> str:
        """Return a seed with a few changes, or words in random order."""
        draw = self._random
        if draw.random() < 0.15:
            return "".join(draw.choices(self._words, k=draw.randint(0, 30)))
        text = draw.choice(self._seeds)
        for _change in range(min(int(draw.expovariate(0.4)), 12)):
            text = self._changed(text)[:LONGEST]
        return text

    def _changed(self, text: str) -> str:
        draw = self._random
        start = draw.randint(0, len(text))
        end = min(len(text), start + int(draw.expovariate(0.1)))
        before, piece, after = text[:start], text[start:end], text[end:]
        match draw.randrange(8):
            case 0:
                return before + after
            case 1:
                return before + piece * draw.choice((2, 2, 3, 50, 2000)) + after
            case 2:
                return before + draw.choice(self._words) + after
            case 3:
                return before + draw.choice(self._words) + piece + after
            case 4:
                return before + chr(draw.choice((draw.randrange(128), draw.randrange(0xD800)))) + after
            case 5:
                other = draw.choice(self._seeds)
                return before + other[draw.randint(0, len(other)) :]
            case 6:
                return before + after + piece
            case _:
                return before + piece.swapcase() + piece[::-1] + after
