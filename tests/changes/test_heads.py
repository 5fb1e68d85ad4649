"""Pruned heads equal those of prune_heads in transformers 4.57, which transformers 5 has removed."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from bertcalc import InputError, forward_flops, load
from bertcalc.changes.heads import PruneHeads
from bertcalc.changes.layers import DropLayers
from bertcalc.families import CLASSES, FAMILIES
from tests.changes.resized import Changed, owned_tensors, small
from tests.examples import sampled
from tests.oracle import ask_transformers4

_PROGRAM = """
import json, torch, transformers
from torch.utils.flop_counter import FlopCounterMode
case = json.loads(%r)
config = transformers.CONFIG_MAPPING[case["type"]](**case["config"])
model = getattr(transformers, case["architecture"])._from_config(config, attn_implementation="eager")
model.prune_heads({int(layer): heads for layer, heads in case["heads"].items()})
names = {}
for name, tensor in model.named_parameters(remove_duplicate=False):
    names.setdefault(tensor, []).append(name)
with FlopCounterMode(display=False) as counter:
    model(input_ids=torch.ones(case["ids"], dtype=torch.int64))
print(json.dumps([[(users, list(tensor.shape)) for tensor, users in names.items()], counter.get_total_flops()]))
"""
PRUNED = [name for name, family in CLASSES.items() if family.prunes == "yes"]
EVERY_LAYER: tuple[Any, ...] = (1, 3, {0: [0, 1], 3: [2]}, {1: [1], 2: [3]}, {0: [1, 2, 3]})


def asked(model: Changed, heads: Any) -> dict[str, Any]:
    """Return the program that lets transformers 4 describe the model after prune_heads."""
    family = CLASSES[model.architecture]
    layers = 1 if family.name == "albert" else 4
    by_layer = {layer: list(range(heads)) for layer in range(layers)} if isinstance(heads, int) else heads
    ids = (2, 2, 9) if model.model.cls.takes_choices else (2, 9)
    case = {
        "type": family.name,
        "architecture": model.architecture,
        "config": asdict(model.config),
        "heads": by_layer,
        "ids": ids,
    }
    return {"program": _PROGRAM % json.dumps(case)}


def pruned(architecture: str) -> list[tuple[Changed, Any]]:
    """Models of a class with pruned heads, also as decoders with cross-attention."""
    family = CLASSES[architecture]
    choices = (1, 3, {0: [1, 2]}) if family.name == "albert" else EVERY_LAYER
    kinds: list[dict[str, Any]] = [{}]
    if family.config.has("add_cross_attention"):
        kinds.append({"is_decoder": True, "add_cross_attention": True})
    if family.name == "bert":
        kinds.append({"position_embedding_type": "relative_key_query"})
    cases = [(kind, heads) for kind in kinds for heads in choices]
    return [(Changed.of(small(architecture, **kind), PruneHeads(heads)), heads) for kind, heads in sampled(cases, 7)]


@pytest.mark.parametrize("architecture", PRUNED)
def test_tensors_and_flops_are_those_of_prune_heads(architecture: str) -> None:
    models = pruned(architecture)
    answers = ask_transformers4([asked(model, heads) for model, heads in models])
    for (model, _heads), answer in zip(models, answers, strict=True):
        real, flops = json.loads(answer)
        ours = owned_tensors(model.ours())
        assert len(ours) == len(real)
        shapes = {name: tuple(shape) for names, shape in real for name in names}
        assert all(shapes[name] == shape for name, shape in ours)
        choices = 2 if model.model.cls.takes_choices else 1
        assert forward_flops(model.ours(), 2, 9, num_choices=choices) == flops


@pytest.mark.parametrize("family", [name for name, family in FAMILIES.items() if family.prunes == "no"])
def test_families_without_prune_heads_are_refused_by_name(family: str) -> None:
    architecture = next(name for name, of in CLASSES.items() if of.name == family)
    with pytest.raises(InputError, match=f"no prune_heads for {family}"):
        Changed.of(small(architecture), PruneHeads(1)).ours()


def test_mpnet_cannot_run_without_some_heads() -> None:
    with pytest.raises(InputError, match="the pruned model cannot run"):
        Changed.of(small("MPNetModel"), PruneHeads(1)).ours()
    program = asked(Changed.of(small("MPNetModel"), PruneHeads(1), PruneHeads(1))._replace(changes=()), 1)["program"]
    failing = program.replace("    model(", "    try: model(").replace(
        "int64))", "int64))\n    except RuntimeError: print('no')", 1
    )
    assert ask_transformers4([{"program": failing}])[0].startswith("no")


def test_heads_that_are_not_there_are_refused() -> None:
    bert = load("bert-base-uncased")
    for heads in (12, -1, {12: [0]}, {0: [12]}, {0: range(12)}):
        with pytest.raises(InputError):
            bert.adapted(PruneHeads(heads))
    with pytest.raises(InputError, match="appears twice"):
        bert.adapted(PruneHeads(1)).adapted(PruneHeads({1: [0]}))


def test_heads_stay_with_their_layer_when_others_are_dropped() -> None:
    bert, head = load("bert-base-uncased"), 4 * 64 * 768 + 3 * 64
    half = bert.adapted(DropLayers([0, 2])).num_parameters()
    before = bert.adapted(PruneHeads({1: [0], 2: [0, 1], 11: [4]})).adapted(DropLayers([0, 2]))
    after = bert.adapted(DropLayers([0, 2])).adapted(PruneHeads({0: [0], 9: [4]}))
    assert before.num_parameters() == after.num_parameters() == half - 2 * head
    assert [*before.named_parameters()] == [*after.named_parameters()]
