"""Statements about the inputs of forward methods, checked on the outputs of real models."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
import transformers

from bertcalc import BertConfig, Config
from bertcalc.families import CLASSES, class_of
from bertcalc.forward.meanings import MEANINGS, UNUSED
from bertcalc.forward.outputs import Call, inputs, problems, run, taking_all
from bertcalc.model.model import Model
from tests.forward.test_outputs import small
from tests.oracle import real_config

SIZES = BertConfig(
    vocab_size=11,
    hidden_size=8,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=16,
    pad_token_id=1,
)
CALL = Call(2, 5, 3, 2)
# Values for which each input has an effect if the model uses it.
GIVEN: dict[str, Any] = {
    "attention_mask": lambda shape: torch.ones(shape, dtype=torch.int64).index_fill(-1, torch.tensor([0, 4]), 0),
    "token_type_ids": lambda shape: torch.ones(shape, dtype=torch.int64),
    "task_type_ids": lambda shape: torch.ones(shape, dtype=torch.int64),
    "position_ids": lambda shape: torch.tensor([4, 6, 7, 5, 9]).expand(shape),
    "mc_token_ids": lambda shape: torch.zeros(shape, dtype=torch.int64),
    "encoder_hidden_states": torch.randn,
    "encoder_attention_mask": lambda shape: torch.ones(shape, dtype=torch.int64).index_fill(-1, torch.tensor([0]), 0),
}


def ways(architecture: str) -> Iterator[Config]:
    """Yield small configurations that use different inputs."""
    kind = CLASSES[architecture].config
    changes: list[dict[str, Any]] = [
        {},
        {"is_decoder": True},
        {"is_decoder": True, "add_cross_attention": True} if kind.has("is_decoder") else {"add_cross_attention": True},
        {"use_task_id": True},
        {"relative_attention": True, "pos_att_type": "p2c|c2p", "position_biased_input": False},
        {"choice_token": "first", "summary_first_dropout": 0.0},
        {"choice_token": "mean"},
    ]
    for change in changes:
        if all(map(kind.has, change)):
            yield replace(small(architecture, SIZES), **change)


@cache
def built(config: Config, architecture: str) -> Any:
    torch.manual_seed(0)
    cls: Any = getattr(transformers, architecture)
    model = cls._from_config(real_config(config), attn_implementation="eager").eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def returned(model: Any, **given: Any) -> list[torch.Tensor]:
    with torch.no_grad():
        found = model(**given)
    return [value for value in found.values() if torch.is_tensor(value)]


def differ(model: Any, here: Mapping[str, Any], there: Mapping[str, Any]) -> bool:
    return unlike(returned(model, **here), returned(model, **there))


def unlike(here: list[torch.Tensor], there: list[torch.Tensor]) -> bool:
    pairs = zip(here, there, strict=True)
    return any(not torch.allclose(one, other, atol=1e-5, equal_nan=True) for one, other in pairs)


def tokens(architecture: str) -> torch.Tensor:
    """The token ids of a batch without padding."""
    ids = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 10, 3, 5]])
    return ids[:, None].repeat(1, 2, 1) if class_of(architecture).takes_choices else ids


@pytest.mark.parametrize("architecture", CLASSES)
def test_inputs_that_are_said_to_have_no_effect_are_those_that_change_nothing(architecture: str) -> None:
    for config in ways(architecture):
        model, real = Model(config, architecture), built(config, architecture)
        before: dict[str, Any] = {"input_ids": tokens(architecture)}
        plain = returned(real, **before)
        refused = any(problem.field == "encoder_sequence_length" for problem in problems(model, CALL))
        for entry in inputs(model, CALL, run(taking_all(model), CALL)):
            if entry.name not in GIVEN or (refused and entry.name.startswith("encoder")):
                continue
            here, changed = plain, {**before, entry.name: GIVEN[entry.name](entry.tensors[0].shape)}
            if entry.name == "encoder_attention_mask":
                states = {"encoder_hidden_states": torch.linspace(-1, 1, 2 * 3 * 8).reshape(2, 3, 8)}
                here, changed = returned(real, **before, **states), {**changed, **states}
            there = returned(real, **changed)
            assert unlike(here, there) != (entry.meaning in UNUSED.values()), (config, entry.name)


@pytest.mark.parametrize("architecture", [name for name in CLASSES if class_of(name).caches])
def test_a_cache_is_returned_unless_it_is_said_that_use_cache_has_no_effect(architecture: str) -> None:
    for config in ways(architecture):
        model, real = Model(config, architecture), built(config, architecture)
        entry = next(one for one in inputs(model, CALL, run(taking_all(model), CALL)) if one.name == "use_cache")
        with torch.no_grad():
            found = [real(tokens(architecture), use_cache=used).get("past_key_values") for used in (True, False)]
        assert (found[0] is not found[1]) != (entry.meaning in UNUSED.values()), config


@pytest.mark.parametrize("architecture", CLASSES)
def test_an_input_that_is_not_given_is_as_is_said(architecture: str) -> None:
    config = next(ways(architecture))
    model, real, ids = Model(config, architecture), built(config, architecture), tokens(architecture)
    first = {"input_ids": ids}
    entries = {entry.name: entry for entry in inputs(model, CALL, run(taking_all(model), CALL))}
    begin = 0 if entries["position_ids"].meaning == MEANINGS["position_ids"] else 2
    for name, said, value in (
        ("attention_mask", "all ones by default", torch.ones_like(ids)),
        ("token_type_ids", "all zeros by default", torch.zeros_like(ids)),
        ("task_type_ids", "all zeros by default", torch.zeros_like(ids)),
        ("position_ids", "by default", torch.arange(begin, begin + 5).expand(entries["position_ids"].tensors[0].shape)),
    ):
        if name in entries and said in entries[name].meaning:
            assert not differ(real, first, {**first, name: value}), name
    vectors = real.get_input_embeddings()(ids)
    with pytest.raises(ValueError, match="inputs_embeds"):
        returned(real, input_ids=ids, inputs_embeds=vectors)


def test_positions_and_more_tokens_that_mean_something_else_elsewhere() -> None:
    """RoBERTa and MPNet count positions from padding. GPT-2 uses the word embeddings for token types."""
    for architecture in ("RobertaModel", "XLMRobertaModel", "CamembertModel", "MPNetModel"):
        model = built(next(ways(architecture)), architecture)
        ids = torch.tensor([[3, 4, 5, 1, 1]])
        assert not differ(
            model, {"input_ids": ids}, {"input_ids": ids, "position_ids": torch.tensor([[2, 3, 4, 1, 1]])}
        )
        assert differ(model, {"input_ids": ids}, {"input_ids": ids, "position_ids": torch.arange(5)[None]})
    model, ids = built(next(ways("GPT2Model")), "GPT2Model"), tokens("GPT2Model")
    table = model.get_input_embeddings()
    with torch.no_grad():
        vectors = table(ids) + table(ids.flip(1))
    assert not differ(model, {"input_ids": ids, "token_type_ids": ids.flip(1)}, {"inputs_embeds": vectors})
