"""The search finds the designs nearest to a budget: every candidate that the constraints allow is counted."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import count
from typing import NamedTuple

import pytest
import torch
import transformers
from hypothesis import given
from hypothesis import strategies as st

from bertcalc import BertConfig, Config, EuroBertConfig, Lora, ModernBertConfig, build, forward_flops
from bertcalc.config import POSITION_EMBEDDING_TYPES
from bertcalc.explore.design import HEAD_SIZES, MULTIPLES, RATIOS, Budget, Constraints, search
from bertcalc.explore.quantities import QUANTITIES, Case
from bertcalc.memory.optimizers import PRECISIONS
from bertcalc.memory.peak import changes_of, peak
from bertcalc.memory.plan import Plan
from bertcalc.model.batch import Batch
from bertcalc.model.model import Model
from bertcalc.storage.model_file import file_bytes, quantized
from bertcalc.storage.usual_formats import USUAL_FORMATS
from bertcalc.text.problem import InputError
from tests import oracle
from tests.examples import examples
from tests.explore.test_sweep import OF_CALLS
from tests.strategies import bert_cases as models


class Candidate(NamedTuple):
    """A candidate, with its fields in the order in which equal candidates are ranked."""

    hidden_size: int
    num_attention_heads: int
    num_hidden_layers: int
    intermediate_size: int
    vocab_size: int


@st.composite
def constraints(draw: st.DrawFn) -> Constraints:
    found = Constraints(
        head_size=draw(st.sampled_from(HEAD_SIZES)),
        ratios=RATIOS[draw(st.sampled_from(list(RATIOS)))],
        multiple=draw(st.sampled_from(MULTIPLES)),
        layers_from=draw(st.integers(1, 20)),
        pad_vocabulary=draw(st.booleans()),
    )
    depths, widths = draw(st.integers(0, 4)), draw(st.integers(1, 4))
    rest = draw(st.integers(0, found.step - 1))
    return found._replace(layers_to=found.layers_from + depths, hidden_to=widths * found.step + rest)


@st.composite
def bert_cases(draw: st.DrawFn) -> Case:
    drawn = draw(models(POSITION_EMBEDDING_TYPES))
    length = draw(st.integers(1, min(9, drawn.config.max_position_embeddings)))
    plan = Plan(precision=draw(st.sampled_from(list(PRECISIONS))))
    return Case(drawn.model, Batch(draw(st.integers(1, 3)), length), plan)


def candidates(config: Config, allowed: Constraints) -> Iterator[Candidate]:
    """Yield every candidate that the constraints allow, by trying every hidden size."""
    vocab_size = config.vocab_size
    while allowed.pad_vocabulary and vocab_size % allowed.multiple:
        vocab_size += 1
    for hidden_size in range(1, allowed.hidden_to + 1):
        heads, rest = divmod(hidden_size, allowed.head_size)
        if rest or hidden_size % allowed.multiple:
            continue
        inner = {
            next(size for size in count(allowed.multiple, allowed.multiple) if size >= ratio * hidden_size)
            for ratio in allowed.ratios
        }
        for layers in range(allowed.layers_from, allowed.layers_to + 1):
            for size in inner:
                yield Candidate(hidden_size, heads, layers, size, vocab_size)


def parameters(case: Case, config: Config) -> int:
    return case.model.changed(config=config).num_parameters()


def flops(case: Case, config: Config) -> int:
    model = case.model.changed(config=config)
    seen = case.model.encoder_length(case.batch.sequence_length)
    return forward_flops(model, *case.batch.shape, encoder_sequence_length=seen)


def memory(case: Case, config: Config) -> int:
    model = case.model.changed(config=config)
    return peak(changes_of(model, case.plan, *case.batch.shape)).live


COUNTS: dict[str, Callable[[Case, Config], int]] = {
    "parameters": parameters,
    "forward": flops,
    "training_memory": memory,
}


def values(case: Case, quantity: str, allowed: Constraints) -> dict[Candidate, int]:
    """The value of every candidate, each computed separately from a checked configuration."""
    config = case.model.config
    return {
        one: COUNTS[quantity](case, replace(config, **one._asdict(), pad_token_id=None))
        for one in candidates(config, allowed)
    }


@pytest.mark.parametrize("quantity", COUNTS)
@examples(6)
@given(bert_cases(), constraints(), st.data())
def test_the_search_is_brute_force(quantity: str, case: Case, allowed: Constraints, data: st.DataObject) -> None:
    if QUANTITIES[quantity].known(case) is None:
        return
    if quantity == "training_memory":  # each candidate is a simulated step, which takes time for every layer
        first = 1 + allowed.layers_from % 9
        last = first + min(1, allowed.layers_to - allowed.layers_from)
        widest = min(allowed.hidden_to, 3 * allowed.step - 1)
        allowed = allowed._replace(layers_from=first, layers_to=last, hidden_to=widest)
    every = values(case, quantity, allowed)
    some = st.sampled_from(list(every.values()))
    middles = st.tuples(some, some).map(lambda two: sum(two) // 2)  # between two values, where both may be equally near
    amount = data.draw(some | middles | st.integers(0, 2 * max(every.values())))
    most = data.draw(st.integers(1, 10))
    ranked = sorted(
        every.items(),
        key=lambda item: (
            quantity == "training_memory" and item[1] > amount,
            abs(item[1] - amount),
            abs(Fraction(item[0].hidden_size, item[0].num_hidden_layers) - 64),
            item[0],
        ),
    )
    found = search(case, Budget(quantity, amount), allowed, most)
    assert [(one.fields, one.value) for one in found.designs] == [(one._asdict(), is_) for one, is_ in ranked[:most]]
    assert found.candidates == len(every)
    assert found.smallest.value == min(every.values())
    assert found.largest.value == max(every.values())
    for end in (found.smallest, found.largest):
        assert every[Candidate(**end.fields)] == end.value


def test_the_nearest_to_thirty_million_are_real_models() -> None:
    found = search(Case(Model(BertConfig())), Budget("parameters", 30_000_000), Constraints())
    for one in found.designs:
        real = oracle.Case(replace(BertConfig(), **one.fields)).real()
        assert real.num_parameters() == one.value
        assert real.config.hidden_size == 64 * real.config.num_attention_heads
    # One of the miniatures of Turc et al. 2019 is among them.
    assert 28_763_648 in [one.value for one in found.designs]


@pytest.mark.parametrize("name", [None, "nf4", "onnx-int8", "torch-int8", "Q4_0", "Q4_K_M"])
@pytest.mark.parametrize("config", [BertConfig(), ModernBertConfig()], ids=type)
def test_files_are_counted_to_the_byte(config: Config, name: str | None) -> None:
    case, allowed = Case(Model(config)), Constraints(layers_from=1, layers_to=12, hidden_to=512, ratios=RATIOS["8/3"])
    form = USUAL_FORMATS[name] if name else None
    sizes = {}
    for one in candidates(config, allowed):
        model = case.model.changed(config=replace(config, **one._asdict()))
        sizes[one] = quantized(model, form).file_bytes if form else file_bytes(model)
    amount = sorted(sizes.values())[60]
    within = sorted((size for size in sizes.values() if size <= amount), reverse=True)
    found = search(case, Budget("file", amount, form), allowed, 8)
    assert [one.value for one in found.designs] == within[:8]
    assert all(sizes[Candidate(**one.fields)] == one.value for one in (*found.designs, found.smallest, found.largest))
    assert (found.smallest.value, found.largest.value) == (min(sizes.values()), max(sizes.values()))


def test_a_budget_of_trained_parameters_is_that_of_an_adapter() -> None:
    case = Case(Model(BertConfig()).changed(changes=(Lora(target_modules=["query", "value"]),)))
    found = search(case, Budget("trainable", 294_912), Constraints(layers_from=12, layers_to=12)).designs[0]
    assert (found.hidden_size, found.value) == (768, 294_912)  # printed by peft


def test_published_models_are_their_own_nearest() -> None:
    for layers, hidden_size, parameters in ((12, 768, 109_482_240), (24, 1024, 335_141_888)):
        [found] = search(Case(Model(BertConfig())), Budget("parameters", parameters), Constraints(), 1).designs
        assert (found.num_hidden_layers, found.hidden_size, found.value) == (layers, hidden_size, parameters)


def test_equally_near_are_ordered_by_their_shape() -> None:
    config = BertConfig()
    twelve = build(config).num_parameters()
    allowed = Constraints(layers_from=11, layers_to=13, hidden_to=768)
    found = search(Case(Model(config)), Budget("parameters", twelve), allowed, 3)
    assert [one.num_hidden_layers for one in found.designs] == [12, 13, 11]  # 768 / 13 is nearer to 64 than 768 / 11


def test_numbers_beyond_64_bits_are_exact() -> None:
    config = BertConfig(max_position_embeddings=10**6)
    case = Case(Model(config), Batch(10**6, 10**6))
    allowed = Constraints(hidden_to=128, layers_from=1, layers_to=3)
    every = values(case, "forward", allowed)
    assert min(every.values()) > 2**63
    found = search(case, Budget("forward", max(every.values()) - 1), allowed)
    assert [one.value for one in found.designs] == sorted(every.values(), reverse=True)


def test_a_limit_is_kept_and_what_breaks_it_comes_last() -> None:
    case = Case(Model(BertConfig()), Batch(32, 512))
    budget = Budget("training_memory", 16 * 10**9)
    assert budget.is_limit
    found = search(case, budget, Constraints())
    assert all(one.value <= budget.amount for one in found.designs)
    below = budget._replace(amount=found.smallest.value - 1)
    assert not found.possible(below)
    assert search(case, below, Constraints()).designs[0] == found.smallest
    assert found.possible(budget._replace(amount=found.largest.value + 1))


def test_a_count_is_a_limit_where_that_is_asked_for() -> None:
    case, budget = Case(Model(BertConfig())), Budget("parameters", 30_000_000, at_most=True)
    every = values(case, "parameters", Constraints())
    designs = search(case, budget, Constraints()).designs
    within = sorted((count for count in every.values() if count <= budget.amount), reverse=True)
    assert [design.value for design in designs] == within[: len(designs)]


def test_a_target_is_possible_between_the_smallest_and_the_largest() -> None:
    budget = Budget("parameters", 30_000_000)
    found = search(Case(Model(BertConfig())), budget, Constraints())
    assert [
        found.possible(budget._replace(amount=end + by))
        for end in (found.smallest.value, found.largest.value)
        for by in (-1, 0, 1)
    ] == [False, True, True, True, True, False]


def test_the_largest_vocabulary_can_be_rounded_up() -> None:
    assert Constraints(multiple=128, pad_vocabulary=True).vocabulary(10_000_000) == 10_000_000
    assert Constraints(multiple=64, pad_vocabulary=True).vocabulary(30_522) == 30_528


@given(constraints(), st.integers(-3, 2000), st.integers(-3, 2000), st.integers(-3, 100_000))
def test_impossible_limits_are_explained_and_have_a_way_out(
    allowed: Constraints, first: int, last: int, widest: int
) -> None:
    said = allowed._replace(layers_from=first, layers_to=last, hidden_to=widest)
    possible = said.nearest()
    assert 1 <= possible.layers_from <= possible.layers_to <= 1000
    assert possible.step <= possible.hidden_to <= 65_536
    assert (possible == said) == (not list(said.problems()))
    for problem in said.problems():
        assert "{" not in str(problem)
        for remedy in problem.remedies:
            assert problem not in said._replace(**remedy).problems()


@pytest.mark.parametrize("quantity", ["parameters", "activations", "training_memory"])
def test_heads_that_share_keys_are_a_multiple_of_these(quantity: str) -> None:
    config = EuroBertConfig(num_attention_heads=12, num_key_value_heads=4, num_hidden_layers=2)
    case = Case(Model(config, "EuroBertModel"), Batch(1, 8))
    found = search(
        case, Budget(quantity, 400_000_000), Constraints(layers_from=2, layers_to=3, hidden_to=1024), count=99
    )
    runs = {heads for heads in range(1, 17) if real_heads_run(heads)}
    assert {one.num_attention_heads for one in found.designs} == runs == {4, 8, 12, 16}
    for one in found.designs:
        alone = case._replace(model=case.model.changed(config=replace(config, **one.fields)))
        assert QUANTITIES[quantity].of(alone) == one.value


def real_heads_run(heads: int) -> bool:
    """Whether this number of heads can share four key and value heads in the real model."""
    sizes = {"hidden_size": 8 * heads, "num_attention_heads": heads, "num_key_value_heads": 4, "num_hidden_layers": 1}
    with torch.device("meta"):
        real = transformers.EuroBertModel(transformers.EuroBertConfig(**sizes, head_dim=8, intermediate_size=8))
        try:
            real(torch.zeros(1, 3, dtype=torch.long))
        except RuntimeError:
            return False
    return True


def test_constraints_without_a_multiple_of_the_shared_heads_are_refused() -> None:
    config = EuroBertConfig(num_attention_heads=14, hidden_size=896, num_key_value_heads=7)
    with pytest.raises(
        InputError, match=r"With hidden_to 256, no number of heads .* num_key_value_heads 7: set hidden_to to 448"
    ):
        search(Case(Model(config, "EuroBertModel")), Budget("parameters", 10**8), Constraints(hidden_to=256))


@pytest.mark.parametrize("quantity", sorted(OF_CALLS))
def test_heads_that_rotary_positions_cannot_rotate_are_refused(quantity: str) -> None:
    allowed = Constraints(head_size=33, multiple=1, hidden_to=66)
    with pytest.raises(InputError, match="a head of size 33 cannot be split into pairs"):
        search(Case(Model(ModernBertConfig())), Budget(quantity, 10**9), allowed)


@pytest.mark.parametrize("quantity", ["activations", "training_memory"])
def test_layers_that_alternate_are_counted_by_kind(quantity: str) -> None:
    """With fused attention, two of three layers of ModernBERT save a mask."""
    config = ModernBertConfig(vocab_size=300, pad_token_id=0, local_attention=8, num_hidden_layers=2)
    case = Case(Model(config, "ModernBertModel"), Batch(2, 16), Plan(attention="fused"))
    allowed = Constraints(layers_from=2, layers_to=20, hidden_to=128, ratios=RATIOS["2"])
    found = search(case, Budget(quantity, 10**7), allowed, count=99)
    assert len(found.designs) == found.candidates
    for one in found.designs:
        alone = case._replace(model=case.model.changed(config=replace(config, **one.fields)))
        assert QUANTITIES[quantity].of(alone) == one.value
