"""Each quantity equals the one on the other pages, whether computed from integers, columns or symbols."""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bertcalc import BitsAndBytesConfig, Lora, columns, load
from bertcalc.change_steps.effects import with_steps
from bertcalc.compute.flops import forward_flops, unknown_training
from bertcalc.config import unchecked
from bertcalc.explore.quantities import EVERY_QUANTITY, PEAKS, QUANTITIES, Case
from bertcalc.families import family_of
from bertcalc.memory.footprint import kept
from bertcalc.memory.optimizers import ITEM_BYTES, PRECISIONS
from bertcalc.memory.peak import changes_of, peak
from bertcalc.memory.plan import ATTENTIONS, Inference, Plan
from bertcalc.memory.saved import total_bytes
from bertcalc.model.batch import Batch
from bertcalc.model.formula import ALL_SYMBOLS, exact, in_letters, window_in_letters
from bertcalc.model.runnable import cannot_run
from bertcalc.text.problem import InputError
from tests import oracle
from tests.examples import examples
from tests.strategies import WITHOUT_AUTOCAST
from tests.strategies import cases as models

plans = st.tuples(st.sampled_from(WITHOUT_AUTOCAST), st.sampled_from(ATTENTIONS)).map(
    lambda said: Plan(precision=said[0], attention=said[1])
)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    drawn = draw(models())
    length = draw(st.integers(1, min(32, drawn.config.max_position_embeddings)))
    return Case(drawn.model, Batch(draw(st.integers(1, 4)), length), draw(plans))


@given(cases())
def test_a_quantity_is_what_the_other_pages_show(case: Case) -> None:
    found = {name: quantity.known(case) for name, quantity in QUANTITIES.items()}
    assert found["parameters"] == sum(found[name] or 0 for name in ("embeddings", "encoder", "pooler", "head"))
    sizes = case.batch.shape
    dtype = PRECISIONS[case.plan.precision].dtype
    assert found["weights"] == ITEM_BYTES[dtype] * found["parameters"]
    if cannot_run(case.model):
        assert {found[name] for name in ("forward", "training", "activations", "inference_memory")} == {None}
        return
    assert found["activations"] == total_bytes(kept(case.model, case.plan, *sizes))
    if found["inference_memory"] is None:
        assert not family_of(case.model.config).peaks
        return
    if found["training_memory"] is None:
        with pytest.raises(InputError, match=r"cannot be trained|sparse_prediction"):
            changes_of(case.model, case.plan, *sizes)
    else:
        assert found["training_memory"] == peak(changes_of(case.model, case.plan, *sizes)).live
    inference = Inference(dtype, case.plan.attention)
    assert found["inference_memory"] == peak(changes_of(case.model, inference, *sizes)).live


@given(models())
def test_the_parameters_are_the_real_models(case: oracle.Case) -> None:
    assert QUANTITIES["parameters"].of(Case(case.model)) == sum(tensor.numel() for tensor in case.real().parameters())


def test_a_quantized_model_has_the_figures_of_its_library_and_no_others() -> None:
    """tests/storage checks the sizes, and tests/memory/test_quantized_peaks.py the peak."""
    bert, lora = load("bert-base-uncased"), Lora(r=8)
    nf4 = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4")
    whole, adapted = with_steps(bert, [nf4]), with_steps(bert, [nf4, lora])
    cases = [Case(changed.model, Batch(2, 64), base=changed.base) for changed in (whole, adapted)]
    own = bert.quantized(nf4)
    stored: Any
    for case, stored in zip(cases, (own, own.adapted(lora)), strict=True):
        assert EVERY_QUANTITY["weights"].of(case) == stored.memory_bytes
        assert EVERY_QUANTITY["file"].of(case) == stored.file_bytes
        assert EVERY_QUANTITY["forward"].of(case) == forward_flops(case.model, 2, 64)
        assert case.changed.steps == ((nf4,) if stored is own else (nf4, lora))
        for name in ("inference_memory", "activations"):
            with pytest.raises(InputError, match="weights in bitsandbytes NF4"):
                EVERY_QUANTITY[name].of(case)
    for name in ("trainable", "training", "training_memory"):
        with pytest.raises(InputError, match="Quantized weights are frozen: to train the model, add an adapter"):
            EVERY_QUANTITY[name].of(cases[0])
    assert EVERY_QUANTITY["trainable"].of(cases[1]) == own.adapted(lora).trainable_parameters
    peak = own.adapted(lora).training_peak_bytes(2, 64, keep_outputs=False)
    assert EVERY_QUANTITY["training_memory"].of(cases[1]) == peak


@pytest.mark.parametrize("name", QUANTITIES)
@examples(5)
@given(cases(), st.lists(st.tuples(st.integers(1, 200), st.integers(1, 30), st.integers(1, 300)), min_size=1))
def test_a_column_holds_what_each_row_gives_alone(name: str, case: Case, rows: list[tuple[int, int, int]]) -> None:
    if QUANTITIES[name].known(case) is None:
        return
    config = case.model.config
    heads = config.num_attention_heads * (2 if config.turns_pairs else config.heads_of)  # other head sizes do not run
    apart = config.breaks  # sizes with another structure, which cannot share a column with others
    fields = [
        {"hidden_size": units * heads, "num_hidden_layers": layers, "intermediate_size": intermediate}
        for units, layers, intermediate in rows
        if units * heads not in apart and not (layers == 1 and config.turns_pairs)
    ]
    assume(fields)
    arrays = {field: np.array([row[field] for row in fields]) for field in fields[0]}
    model = case.model.changed(config=columns(case.model.config, **arrays))
    column = np.broadcast_to(QUANTITIES[name].of(case._replace(model=model)), len(fields))
    assert column.tolist() == [QUANTITIES[name].of(case.replace(**row)) for row in fields]


@pytest.mark.parametrize("name", [name for name in QUANTITIES if name not in PEAKS])
@examples(10)
@given(cases())
def test_the_formula_gives_the_number(name: str, case: Case) -> None:
    if QUANTITIES[name].known(case) is None:
        assert name in ("forward", "training", "activations")
        is_too_long = case.batch.sequence_length > case.model.config.longest
        assert is_too_long or cannot_run(case.model) or (name == "training" and unknown_training(case.model))
        return
    sizes: dict[str, Any] = case.batch.sizes()
    config = in_letters(case.model.config)
    written: dict[str, Any] = {size: ALL_SYMBOLS[size] for size in sizes}
    if config.ones_matter:  # what a single sequence, token or head saves does not follow from its size alone
        written = {size: symbol if sizes[size] > 1 else 1 for size, symbol in written.items()}
        if (heads := case.model.config.num_attention_heads) == 1:
            config = unchecked(config, num_attention_heads=heads)
    config = unchecked(config, **window_in_letters(case.model.config, case.batch.sequence_length))
    letters = case._replace(model=case.model.changed(config=config))
    expression = exact(QUANTITIES[name].of(letters._replace(batch=Batch(**written))))
    numbers = {**case.model.config.shared(), **sizes}
    found = expression.subs(
        {ALL_SYMBOLS[field]: number for field, number in numbers.items() if number and field in ALL_SYMBOLS}
    )
    assert found == QUANTITIES[name].of(case)
