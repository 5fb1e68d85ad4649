"""Refuse configurations of models that need their own code, even if transformers has their model type.

A repository with its own code names it in auto_map. Its model type is often bert, although its positions, feed-forward
networks or embeddings differ from BERT's. bertcalc does not run such code. Its error message names the model.

>>> [problem] = refused({"model_type": "bert", "alibi_starting_size": 512})
>>> print(problem)
alibi_starting_size 512: this is MosaicBERT (or DNABERT-2), with ALiBi instead of a position table and with gated \
feed-forward networks. bertcalc does not support it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from bertcalc.config.fields import is_int
from bertcalc.text import N_
from bertcalc.text.arguments import quoted
from bertcalc.text.problem import Problem


class _OtherProgram(NamedTuple):
    """A program that transformers does not have, recognized by keys that only its configurations have."""

    is_its: Callable[[Any], bool]
    keys: tuple[str, ...]
    message: str


def _is_set(value: Any) -> bool:
    return value is not None and value is not False and value != 0


_JINA = N_(
    "{key} {value}: this is jina-v2's BERT or a similar model, with ALiBi instead of a position table or with "
    "gated feed-forward networks. bertcalc does not support it."
)
_MOSAIC = N_(
    "{key} {value}: this is MosaicBERT (or DNABERT-2), with ALiBi instead of a position table and with gated "
    "feed-forward networks. bertcalc does not support it."
)
_NEZHA = N_(
    "{key} {value}: this is NEZHA, which computes its relative positions and has no position table. transformers 5 no "
    "longer supports it, and neither does bertcalc."
)
_EXPERTS = N_(
    "{key} {value}: this is a mixture of experts: some layers have several feed-forward networks and a router. "
    "bertcalc does not support it."
)
_GLYPHS = N_(
    "{key} {value}: this is ChineseBERT, whose embeddings also contain the glyph and the pinyin of each "
    "character. bertcalc does not support it."
)
_LORA = N_(
    "{key} {value}: this is jina-embeddings-v3, with LoRA matrices for each task and rotary positions. "
    "bertcalc does not support it."
)
_LONGFORMER = N_(
    "{key} {value}: this is a Longformer, whose layers have additional matrices for global attention. "
    "bertcalc does not support it."
)
_MULTIQUERY = N_(
    "{key} {value}: all query heads share one key-value head (multi-query attention), which bertcalc does not support."
)
_EXPERT_KEYS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_every_n_layers", "num_experts_per_tok")
_PROGRAMS = (
    _OtherProgram(_is_set, ("alibi_starting_size",), _MOSAIC),
    _OtherProgram(lambda value: value == "alibi", ("position_embedding_type",), _JINA),
    _OtherProgram(lambda value: _is_set(value) and value != "original", ("feed_forward_type",), _JINA),
    _OtherProgram(_is_set, ("use_relative_position", "max_relative_position"), _NEZHA),
    _OtherProgram(lambda value: is_int(value) and value > 1, _EXPERT_KEYS, _EXPERTS),
    _OtherProgram(_is_set, ("glyph_embedding_dim", "pinyin_map_len"), _GLYPHS),
    _OtherProgram(_is_set, ("lora_adaptations",), _LORA),
    _OtherProgram(_is_set, ("attention_window", "attention_dilation"), _LONGFORMER),
    _OtherProgram(lambda value: value == "multiquery", ("attention_head_type",), _MULTIQUERY),
    _OtherProgram(lambda value: value == "nezha", ("model_type",), _NEZHA),
)


def refused(content: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem if the keys of a configuration identify a program that transformers does not have."""
    for program in _PROGRAMS:
        for key in program.keys:
            if program.is_its(value := content.get(key)):
                yield Problem.of(program.message, key, value, key=key, value=quoted(value))
                return


GUESS = N_(
    "auto_map: the repository has its own code ({program}), which bertcalc does not run. bertcalc counts the "
    "transformers class of this model type instead, so the count is a guess."
)


def guess(content: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a remark if a configuration has an auto_map: its repository has its own code for the model."""
    programs = content.get("auto_map")
    if isinstance(programs, Mapping):
        named = [name for key, name in programs.items() if str(key).startswith(("AutoModel", "AutoConfig"))]
        if named:
            yield Problem.of(GUESS, "auto_map", programs, program=quoted(named[-1]))
    elif programs:
        yield Problem.of(GUESS, "auto_map", programs, program=quoted(programs))
