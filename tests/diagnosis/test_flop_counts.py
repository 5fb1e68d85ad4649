"""FLOPs and multiply-adds that tools print are recognised. PyTorch's FlopCounterMode is the reference."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from bertcalc.diagnosis.diagnose import diagnose
from bertcalc.diagnosis.flop_counts import flop_counts, flops_of
from bertcalc.diagnosis.known_counts import KnownCount
from bertcalc.diagnosis.number_meanings import meanings_of
from bertcalc.families import FAMILIES, family_of
from bertcalc.families.presets import PRESETS
from bertcalc.model.model import Model
from bertcalc.text.amounts import typed
from tests.oracle import Case


def measured(preset: str, batch_size: int, sequence_length: int) -> int:
    """FlopCounterMode's count for the forward pass of the real base model."""
    config = PRESETS[preset].config
    model = Case(config, family_of(config).base.name).real().eval()
    model.set_attn_implementation("eager")
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.zeros(batch_size, sequence_length, dtype=torch.long, device="meta"))
    return int(counter.get_total_flops())


@pytest.mark.parametrize(
    ("preset", "batch_size", "sequence_length"),
    [
        ("bert-base-uncased", 1, 128),
        ("bert-large-uncased", 8, 512),
        ("distilbert-base-uncased", 1, 256),
        ("gpt2", 1, 1024),
        ("albert-base-v2", 16, 128),
        ("electra-small-discriminator", 1, 128),
    ],
)
def test_a_measured_number_is_recognised_exactly_and_rounded(
    preset: str, batch_size: int, sequence_length: int
) -> None:
    flops = measured(preset, batch_size, sequence_length)
    config = PRESETS[preset].config
    model = Model(config, family_of(config).base.name)
    for number, unit in ((flops, "FLOPs"), (flops // 2, "MACs")):
        for text in (f"{number}", f"{number / 10**9:.2f}G", f"{number / 10**9:.2f} G{unit}"):
            costs = {(cost.unit, cost.batch_size, cost.sequence_length) for cost in flops_of(model, typed(text))}
            assert (unit, batch_size, sequence_length) in costs, text


@pytest.mark.parametrize("text", ["22.35G", "11.2G", "22.35 GFLOPs", "11.2 GMACs", "22.363G"])
def test_a_number_of_operations_has_no_other_meaning(text: str) -> None:
    """calflops prints 22.363G, which includes its counts for LayerNorm and softmax."""
    model = Model(PRESETS["bert-base-chinese"].config)
    diagnosis = diagnose(KnownCount(model, model.num_parameters()), typed(text))
    assert diagnosis._replace(flops=()) == type(diagnosis)()
    assert {(cost.batch_size, cost.sequence_length) for cost in diagnosis.flops} == {(1, 128)}
    assert ("calflops" in {cost.rule for cost in diagnosis.flops}) or text != "22.363G"


@pytest.mark.parametrize(
    ("text", "phase", "rule"),
    [
        ("22.3631 GFLOPs", "forward", "calflops"),
        ("11.1742 GMACs", "forward", ""),
        ("67.0892 GFLOPs", "training", "calflops"),
        ("33.5226 GMACs", "training", ""),
    ],
)
def test_the_numbers_that_calflops_prints_are_recognised(text: str, phase: str, rule: str) -> None:
    """calflops 0.3.2 for BertModel with eager attention, 1 x 128 tokens: forward, and forward with backward."""
    [cost] = flops_of(Model(PRESETS["bert-base-uncased"].config), typed(text))
    assert (cost.phase, cost.rule, cost.batch_size, cost.sequence_length) == (phase, rule, 1, 128)


def test_deepspeeds_number_for_a_batch_is_recognised() -> None:
    """DeepSpeed 0.17 prints 178.79 GMACs for bert-base-cased, 16 x 128 tokens."""
    model = Model(PRESETS["bert-base-cased"].config)
    [cost] = flops_of(model, typed("178.79 GMACs"))
    assert (cost.batch_size, cost.sequence_length, cost.rule) == (16, 128, "")


@pytest.mark.parametrize(
    ("preset", "sequence_length"),
    [("bert-base-uncased", 128), ("bert-large-uncased", 512), ("ModernBERT-base", 512), ("gpt2", 128)],
)
def test_two_digits_are_recognised_for_a_usual_sequence(preset: str, sequence_length: int) -> None:
    """67G is a training step of bert-base-uncased, three times its forward pass of 22G."""
    flops = measured(preset, 1, sequence_length)
    config = PRESETS[preset].config
    model = Model(config, family_of(config).base.name)
    for times, phase in ((1, "forward"), (3, "training")):
        for unit, operations in (("FLOPs", times * flops), ("MACs", times * flops // 2)):
            for text in (f"{operations:.1e}", f"{operations:.1e} {unit}"):
                diagnosis = diagnose(KnownCount(model, model.num_parameters()), typed(text))
                meant = [(cost.unit, cost.phase, cost.batch_size, cost.sequence_length) for cost in diagnosis.flops]
                assert (unit, phase, 1, sequence_length) in meant, text


def test_two_digits_without_a_unit_are_rather_the_number_of_parameters() -> None:
    """The vocabulary is so large that the parameter count equals the FLOPs of the forward pass."""
    config = PRESETS["bert_uncased_L-2_H-128_A-2"].config
    flops = measured("bert_uncased_L-2_H-128_A-2", 1, 128)
    words = config.vocab_size + (flops - Model(config).num_parameters()) // config.hidden_size
    model = Model(replace(config, vocab_size=words))
    number = typed(f"{model.num_parameters():.1e}")
    assert flops_of(model, number)
    diagnosis = diagnose(KnownCount(model, model.num_parameters()), number)
    assert diagnosis.matches
    assert not diagnosis.flops


@pytest.mark.parametrize("text", ["110M", "109,482,240", "20G", "22.35 GB", "85,054,464 parameters", "0", "0 FLOPs"])
def test_what_is_no_number_of_operations_is_none(text: str) -> None:
    assert not flops_of(Model(PRESETS["bert-base-uncased"].config), typed(text))


def test_every_cost_is_proportional_to_its_batch() -> None:
    costs = flop_counts(Model(PRESETS["bert-base-uncased"].config))
    single = {cost._replace(operations=Fraction(0)): cost.operations for cost in costs if cost.batch_size == 1}
    assert single
    for cost in costs:
        alone = single[cost._replace(operations=Fraction(0), batch=cost.batch._replace(batch_size=1))]
        assert cost.operations == cost.batch_size * alone


@pytest.mark.parametrize("name", FAMILIES)
def test_longer_sequences_cost_more(name: str) -> None:
    """A number below the costs of the shortest sequence is therefore no cost."""
    model = Model(next(iter(FAMILIES[name].presets.values())).config)
    costs = [cost for cost in flop_counts(model) if cost.batch_size == 1]
    for kind in {(cost.unit, cost.phase, cost.rule) for cost in costs}:
        alike = sorted(
            (cost.sequence_length, cost.operations) for cost in costs if (cost.unit, cost.phase, cost.rule) == kind
        )
        assert all(first[1] < second[1] for first, second in pairwise(alike)), (kind, alike)


@pytest.mark.parametrize(
    ("module", "shape"),
    [("", (1, 128)), ("", (8, 512)), (".attention.self", (8, 512)), (".attention.self.query", (1, 128))],
)
def test_a_module_is_found_by_its_cost(module: str, shape: tuple[int, int]) -> None:
    model = Model(PRESETS["bert-base-uncased"].config)
    real = Case.of(model).real().eval()
    real.set_attn_implementation("eager")
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        real(torch.zeros(shape, dtype=torch.long, device="meta"))
    flops = sum(counter.get_flop_counts()[f"BertModel.encoder.layer.0{module}"].values())
    for text in (f"{flops:,} FLOPs", f"{flops // 2:,} MACs"):
        part = f"is the cost of encoder.layer.*{module} of one layer in a batch of {shape[0]} × {shape[1]} tokens"
        assert part in str(meanings_of(model, text))


def test_one_operation_is_found_by_its_calculation() -> None:
    """FlopCounterMode counts 2 x 12 x 128 x 128 x 64 for the scores of one layer."""
    with FlopCounterMode(display=False) as counter:
        query = torch.empty(12, 128, 64, device="meta")
        query @ query.transpose(1, 2)
    model = Model(PRESETS["bert-base-uncased"].config)
    assert counter.get_total_flops() == 2 * 12 * 128 * 128 * 64
    for text in ("12*128*128*64 MACs", "2*12*128*128*64 = 25,165,824 FLOPs"):
        assert "encoder.layer.*.attention.self.scores of one layer" in str(meanings_of(model, text))
