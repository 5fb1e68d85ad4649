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
from transformers import (
    BertConfig,
    BertModel,
    DistilBertConfig,
    DistilBertModel,
    GPT2Config,
    GPT2Model,
    RobertaConfig,
    RobertaModel,
)

from bertcalc.proofreading.proofread import proofread

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


def _elements(*modules: torch.nn.Module) -> int:
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


@cache
def real(name: str) -> Sized:
    with torch.device("meta"):
        if name == "GPT-2 medium":
            gpt = GPT2Model(GPT2Config(n_embd=1024, n_layer=24, n_head=16))
            block, sizes = gpt.h[0], (gpt.config.n_embd, 4096, 24, 50257, 1024, 16)
            tables, layers, norms = (gpt.wte, gpt.wpe), gpt.h, (block.ln_1, block.ln_2)
            projections: tuple[torch.nn.Module, ...] = (block.attn.c_attn,)
            output, matrices = block.attn.c_proj, (block.mlp.c_fc, block.mlp.c_proj)
            model: torch.nn.Module = gpt
        elif name == "DistilBERT":
            distil = DistilBertModel(DistilBertConfig())
            block, sizes = distil.transformer.layer[0], (768, 3072, 6, 30522, 512, 12)
            tables = (distil.embeddings.word_embeddings, distil.embeddings.position_embeddings)
            layers, norms = distil.transformer, (block.sa_layer_norm, block.output_layer_norm)
            projections = (block.attention.q_lin, block.attention.k_lin, block.attention.v_lin)
            output, matrices, model = block.attention.out_lin, (block.ffn.lin1, block.ffn.lin2), distil
        else:
            bert = (
                RobertaModel(RobertaConfig(vocab_size=50265, max_position_embeddings=514, type_vocab_size=1))
                if name == "RoBERTa-base"
                else BertModel(BertConfig())
            )
            config, block = bert.config, bert.encoder.layer[0]
            sizes = (768, 3072, 12, config.vocab_size, config.max_position_embeddings, 12)
            tables = (bert.embeddings.word_embeddings, bert.embeddings.position_embeddings)
            layers, norms = bert.encoder, (block.attention.output.LayerNorm, block.output.LayerNorm)
            projections, output = (block.attention.self,), block.attention.output.dense
            matrices, model = (block.intermediate, block.output.dense), bert
    counts = {
        "words": _elements(tables[0]),
        "pos": _elements(tables[1]),
        "emb": _elements(*tables) if name.startswith("GPT") else _elements(model.embeddings),
        "qkv": _elements(*projections),
        "o": _elements(output),
        "attn": _elements(*projections, output),
        "ff1": _elements(matrices[0]),
        "ff2": _elements(matrices[1]),
        "ffn": _elements(*matrices),
        "ln": _elements(*norms),
        "layer": _elements(block),
        "layers": _elements(layers),
        "total": _elements(model),
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
    sizes, counts = real(name)
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
            count = planted.get(len(places), counts[part])
            scale = 100 / counts["total"] if style == "%" else _SCALES.get(style, 1)
            if style in ("M", "Mn") and count < 950_000:
                number = _STYLES[style].replace("1f", "2f").format(count * scale)
            else:
                number = _STYLES[style].format(count * scale if style in _SCALES or style == "%" else count)
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
    sizes, counts = real(name)
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
            corrected += any(claim.right_value == real(name).counts[place.part] for claim in over)
    assert marked > 0.9 * planted
    assert corrected > 0.85 * planted
