"""The same counts in many forms of text: posts, slides, questions, code and tables, each right and with a mistake.

In ``forms.md``, ``{words}`` is a part's count, ``{words:M}`` the same count in millions, and ``{words:%}`` its share of
the model. Other words in braces are sizes. The counts are those of transformers.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from bertcalc.proofreading.proofread import proofread
from tests.proofreading.real_models import ROBERTA, count, real

_FORMS = dict(
    form.split("\n", 1) for form in Path(__file__).with_name("forms.md").read_text(encoding="utf-8").split("%%%\n")
)
_SLOT = re.compile(r"\{(?P<name>[A-Za-z]\w*)(?::(?P<style>[\w%]+))?\}")
_STYLES = {
    "": "{:,}",
    "tex": "{:,}",
    "f": "{:,}",
    "M": "{:.1f}M",
    "Mn": "{:.1f} million",
    "yi": "{:.2f}亿",
    "wan": "{:.0f}万",
    "MB": "{:.1f} MB",
    "MB2": "{:.1f} MB",
    "MiB": "{:.1f} MiB",
    "%": "{:.1f}%",
}
_SCALES = {"M": 1e-6, "Mn": 1e-6, "yi": 1e-8, "wan": 1e-4, "MB": 4e-6, "MB2": 2e-6, "MiB": 4 / 2**20}


class Sized(NamedTuple):
    """The sizes of a model, and transformers' counts of its parts."""

    sizes: dict[str, int]
    counts: dict[str, int]


@cache
def sized(name: str) -> Sized:
    if name == "GPT-2 medium":
        model = real("GPT2Model", n_embd=1024, n_layer=24, n_head=16)
        block, sizes = model.h[0], (model.config.n_embd, 4096, 24, 50257, 1024, 16)
        tables, layers, norms = (model.wte, model.wpe), model.h, (block.ln_1, block.ln_2)
        projections: tuple[torch.nn.Module, ...] = (block.attn.c_attn,)
        output, matrices = block.attn.c_proj, (block.mlp.c_fc, block.mlp.c_proj)
    elif name == "DistilBERT":
        model = real("DistilBertModel")
        block, sizes = model.transformer.layer[0], (768, 3072, 6, 30522, 512, 12)
        tables = (model.embeddings.word_embeddings, model.embeddings.position_embeddings)
        layers, norms = model.transformer, (block.sa_layer_norm, block.output_layer_norm)
        projections = (block.attention.q_lin, block.attention.k_lin, block.attention.v_lin)
        output, matrices = block.attention.out_lin, (block.ffn.lin1, block.ffn.lin2)
    else:
        model = real("RobertaModel", **ROBERTA) if name == "RoBERTa-base" else real()
        config, block = model.config, model.encoder.layer[0]
        sizes = (768, 3072, 12, config.vocab_size, config.max_position_embeddings, 12)
        tables = (model.embeddings.word_embeddings, model.embeddings.position_embeddings)
        layers, norms = model.encoder, (block.attention.output.LayerNorm, block.output.LayerNorm)
        projections, output = (block.attention.self,), block.attention.output.dense
        matrices = (block.intermediate, block.output.dense)
    counts = {
        "words": count(tables[0]),
        "pos": count(tables[1]),
        "emb": count(*tables) if name.startswith("GPT") else count(model.embeddings),
        "qkv": count(*projections),
        "o": count(output),
        "attn": count(*projections, output),
        "ff1": count(matrices[0]),
        "ff2": count(matrices[1]),
        "ffn": count(*matrices),
        "ln": count(*norms),
        "layer": count(block),
        "layers": count(layers),
        "total": count(model),
    }
    number = sizes[2]
    counts |= {"attnall": number * counts["attn"], "ffnall": number * counts["ffn"], "q1": counts["o"]}
    return Sized(dict(zip("HILVPA", sizes, strict=True)), counts)


def _formulas(sizes: dict[str, int]) -> dict[str, str]:
    hidden, inner = sizes["H"], sizes["I"]
    return {
        "words": f"{sizes['V']} × {hidden}",
        "pos": f"{sizes['P']} × {hidden}",
        "qkv": f"3 × ({hidden} × {hidden} + {hidden})",
        "o": f"{hidden} × {hidden} + {hidden}",
        "attn": f"4 × ({hidden} × {hidden} + {hidden})",
        "ff1": f"{hidden} × {inner} + {inner}",
        "ff2": f"{inner} × {hidden} + {hidden}",
        "ffn": f"{hidden} × {inner} + {inner} + {inner} × {hidden} + {hidden}",
    }


class Place(NamedTuple):
    """A count in a text: its part, its style, and its position."""

    part: str
    style: str
    start: int
    end: int


def written(form: str, name: str, planted: dict[int, int]) -> tuple[str, list[Place]]:
    """Return a form about a model with the positions of its counts.

    ``planted`` replaces the counts with these numbers by other values.
    """
    sizes, counts = sized(name)
    text, last, places = "", 0, list[Place]()
    for slot in _SLOT.finditer(form):
        text += form[last : slot.start()]
        last = slot.end()
        part, style = slot["name"], slot["style"] or ""
        if part == "N" or part in sizes:
            text += name if part == "N" else str(sizes[part])
        elif part not in counts:
            text += slot[0]  # braces in LaTeX
        else:
            value = planted.get(len(places), counts[part])
            scale = 100 / counts["total"] if style == "%" else _SCALES.get(style, 1)
            if style in ("M", "Mn") and value < 950_000:
                number = _STYLES[style].replace("1f", "2f").format(value * scale)
            else:
                number = _STYLES[style].format(value * scale if style in _SCALES or style == "%" else value)
            number = number.replace(",", "{,}") if style == "tex" else number
            number = f"{_formulas(sizes)[part]} = {number}" if style == "f" else number
            places.append(Place(part, style, len(text), len(text) + len(number)))
            text += number
    return text + form[last:], places


NAMES = ("BERT-base", "RoBERTa-base", "DistilBERT", "GPT-2 medium")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", _FORMS)
def test_no_right_number_is_wrong_in_any_form(form: str, name: str) -> None:
    text, _places = written(_FORMS[form], name, {})
    assert not [str(claim) for claim in proofread(text).of("wrong")]


def _mistakes(name: str, places: list[Place]) -> Iterator[tuple[int, int]]:
    """Yield wrong counts: without biases, of one layer instead of all, and with two digits exchanged."""
    sizes, counts = sized(name)
    square, inner = sizes["H"] ** 2, sizes["H"] * sizes["I"]
    matrices = {"qkv": 3 * square, "o": square, "attn": 4 * square, "ff1": inner, "ff2": inner, "ffn": 2 * inner}
    for number, place in enumerate(places):
        if place.style not in ("", "f", "tex"):
            continue
        if place.part in matrices:
            yield number, matrices[place.part]
        digits = str(counts[place.part])
        pairs = [index for index in range(2, len(digits) - 1) if digits[index] != digits[index + 1]]
        index = pairs[len(pairs) // 2]
        yield number, int(digits[:index] + digits[index + 1] + digits[index] + digits[index + 2 :])


@pytest.mark.parametrize("name", NAMES[::2])
def test_most_planted_mistakes_are_marked_and_no_other_number(name: str) -> None:
    planted, marked, corrected = 0, 0, 0
    for form in _FORMS.values():
        for number, value in _mistakes(name, written(form, name, {})[1]):
            text, places = written(form, name, {number: value})
            place, report = places[number], proofread(text)
            over = [claim for claim in report.of("wrong") if claim.start < place.end and claim.end > place.start]
            assert not [claim for claim in report.of("wrong") if claim not in over and not claim.carried], text
            planted += 1
            marked += bool(over)
            corrected += any(claim.right_value == sized(name).counts[place.part] for claim in over)
    assert marked > 0.9 * planted
    assert corrected > 0.85 * planted
