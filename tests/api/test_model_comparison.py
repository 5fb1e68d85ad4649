"""A comparison as a table: its rows add up to the difference of the real models."""

import re
from typing import Any

import pytest
from hypothesis import given

import bertcalc
from bertcalc.explore.quantities import QUANTITIES
from tests.examples import examples
from tests.oracle import Case
from tests.strategies import cases

BERT: Any
LARGE: Any
BERT, LARGE = bertcalc.load("bert-base-uncased"), bertcalc.load("bert-large-uncased")


@given(cases(), cases())
@examples(6)
def test_the_rows_add_up_to_the_difference_of_the_real_models(one: Case, other: Case) -> None:
    here, there = (bertcalc.load(*case[:2], add_pooling_layer=case[2]) for case in (one, other))
    table = bertcalc.compare(here, there)
    before, after = (sum(tensor.numel() for tensor in case.real().parameters()) for case in (one, other))
    first, *parts, last = table.rows
    assert (first.figure, last.figure) == (before, after)
    assert sum(row.difference or 0 for row in parts) == last.difference == table.difference == after - before


def test_a_comparison_can_be_of_each_quantity() -> None:
    sizes: dict[str, Any] = {"batch_size": 2, "sequence_length": 16}
    mini = bertcalc.load("bert_uncased_L-2_H-128_A-2", "BertForMaskedLM")
    wider = mini.replace(vocab_size=40_000)
    figures = {name: mini.compare(wider, name, **sizes).rows[-1].figure for name in QUANTITIES}
    assert figures["forward"] == wider.flops(**sizes)
    assert figures["training"] == wider.training_flops(**sizes)
    assert figures["training_memory"] == wider.training_peak_bytes(**sizes)
    assert figures["inference_memory"] == wider.inference_peak_bytes(**sizes)
    assert figures["activations"] == wider.saved_activation_bytes(**sizes)
    assert figures["weights"] == 4 * figures["parameters"] == 4 * wider.num_parameters()


def test_the_table_is_aligned_text() -> None:
    lines = str(BERT.compare(LARGE)).splitlines()
    assert repr(BERT.compare(LARGE)).splitlines() == lines
    assert lines[0].split() == ["parameters", "difference"]
    assert lines[-1].split() == ["BertModel", "335,141,888", "+225,659,648"]
    assert len({line.index(re.findall(r"[\d,]{9,}", line)[0]) for line in lines[1:]}) == 1
    assert len({len(line) for line in lines if "+" in line}) == 1


def test_the_table_is_html_with_the_same_rows() -> None:
    bundle = BERT.compare(LARGE)._repr_mimebundle_()
    cells = re.findall(r"<t[hd] style=[^>]*>([^<]*)</t[hd]>", bundle["text/html"])
    assert "".join(cells).replace(" ", "") == re.sub(r"\s", "", bundle["text/plain"])


DROPPED, PRUNED, BIASES = bertcalc.DropLayers([1]), bertcalc.PruneHeads(2), bertcalc.BitFit()
LORA = bertcalc.Lora(target_modules=["query", "value"])
SIZES = ["12 more layers", "4 more heads", "256 more hidden units", "1,024 more feed-forward units"]


@pytest.mark.parametrize(
    ("here", "there", "names"),
    [
        (BERT, BERT.adapted(LORA), ["with Lora(r=8, target_modules=['query', 'value'])"]),
        (BERT.adapted(LORA), BERT, ["without Lora(r=8, target_modules=['query', 'value'])"]),
        (BERT.adapted(DROPPED), BERT.adapted(DROPPED).adapted(BIASES), ["with BitFit()"]),
        (BERT.adapted(DROPPED), BERT.adapted(PRUNED), ["PruneHeads(heads=2) instead of DropLayers(layers=[1])"]),
        (BERT.adapted(DROPPED), LARGE.adapted(DROPPED), SIZES),
        (BERT, LARGE.adapted(DROPPED), [*SIZES, "with DropLayers(layers=[1])"]),
        (BERT.adapted(LORA), bertcalc.load("albert-base-v2").adapted(DROPPED), None),
        (BERT, BERT.adapted(bertcalc.PromptTuning(20, "FEATURE_EXTRACTION")).replace(num_hidden_layers=2), None),
        (LARGE.adapted(bertcalc.DropLayers([23])), BERT, None),
        (LARGE.adapted(bertcalc.DropLayers([23])), BERT.adapted(bertcalc.DropLayers([11])), None),
    ],
)
def test_changes_are_a_row_and_the_totals_those_of_the_models(here: Any, there: Any, names: list[str] | None) -> None:
    table = here.compare(there)
    first, *parts, last = table.rows
    assert (first.figure, last.figure) == (here.num_parameters(), there.num_parameters())
    assert sum(row.difference or 0 for row in parts) == last.difference
    assert names is None or [row.name for row in parts] == names


def test_changes_are_in_every_quantity() -> None:
    sizes: dict[str, Any] = {"batch_size": 2, "sequence_length": 16}
    mini = bertcalc.load("bert_uncased_L-2_H-128_A-2", "BertForMaskedLM")
    adapted = mini.adapted(bertcalc.DropLayers([1])).adapted(LORA)
    figures = {name: mini.compare(adapted, name, **sizes).rows[-1].figure for name in ("forward", "training_memory")}
    assert figures == {"forward": adapted.flops(**sizes), "training_memory": adapted.training_peak_bytes(**sizes)}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: BERT.compare("bert-large-uncased"), "other must be a model, such as"),
        (lambda: BERT.compare(LARGE, "parameter"), "There is no quantity 'parameter': did you mean parameters?"),
        (lambda: BERT.compare(LARGE, 3), "quantity must be a string"),
        (lambda: bertcalc.compare(BERT, 3), 'second must be a model, such as load("bert-base-uncased"), not 3.'),  # type: ignore[arg-type]  # under test
        (lambda: bertcalc.compare(BERT, LARGE, batch_size=0), "batch_size 0 is invalid"),
        (lambda: bertcalc.compare(BERT, LARGE, "forward", sequence_length=513), "positions for 512 tokens"),
        (lambda: bertcalc.compare(BERT), "compare() needs second."),  # type: ignore[call-arg]  # under test
    ],
)
def test_a_wrong_comparison_is_refused_in_a_sentence(call: Any, words: str) -> None:
    with pytest.raises(bertcalc.InputError) as caught:
        call()
    assert words in str(caught.value)
