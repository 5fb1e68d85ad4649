"""Exercises: every answer is the real model's, every way to type it is accepted, and every miscount is named."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from transformers.models.bert import modeling_bert

from bertcalc import BertConfig, Config, build
from bertcalc.config import LETTERS
from bertcalc.diagnosis.explain import is_chance
from bertcalc.diagnosis.miscounts import MISCOUNTS, MiscountSizes, counted, total
from bertcalc.forward.outputs import Call
from bertcalc.model.letters import CALL_LETTERS
from bertcalc.model.model import Model
from bertcalc.teach.answers import Verdict, check
from bertcalc.teach.exercise_models import LEVELS, Level
from bertcalc.teach.exercises import KINDS, LARGEST_SEED, exercise, sheet
from bertcalc.teach.questions import Exercise, Kind, Sentence, shown
from bertcalc.teach.worked_formulas import WorkedLine, worked, worked_wrong
from bertcalc.text.arithmetic import evaluate
from tests.compute.test_flops import real_flops
from tests.examples import examples
from tests.oracle import Case, arguments, bare

seeds = st.integers(0, LARGEST_SEED)
levels = st.sampled_from(LEVELS)


def exercises(*kinds: Kind) -> st.SearchStrategy[Exercise]:
    """Draw exercises of the given kinds, or of all kinds."""
    return st.builds(exercise, seeds, levels, st.sampled_from(kinds or KINDS))


def case_of(exercise: Exercise) -> Case:
    return Case(exercise.config, exercise.model.architecture)


def names_of(exercise: Exercise) -> dict[str, int]:
    """The symbols that an answer may use, with their values."""
    return {(LETTERS | CALL_LETTERS)[field]: size for field, size in exercise.sizes().items()}


def sentences(verdict: Verdict) -> list[set[str]]:
    """The explanations of a wrong answer that are shown, each as its set of miscounts."""
    return [{said.message for said in way} for way in verdict.because]


# The permanent content of links to these sheets: kind, subject, H, L and V.
PINNED: dict[tuple[int, Level], list[tuple[str, str, int, int, int]]] = {
    (1, "easy"): [
        ("tensor", "encoder.layer.*.attention.self.value.weight", 10, 2, 50),
        ("shape", "encoder.layer.*.output.dense.weight", 4, 2, 10),
        ("layer", "encoder.layer.*.attention", 2, 3, 10),
        ("model", "BertModel", 10, 2, 10),
        ("architecture", "BertForTokenClassification", 10, 3, 10),
        ("step", "encoder.layer.*.attention.self.merge_heads", 2, 2, 10),
        ("flops", "encoder.layer.*.intermediate.dense", 10, 2, 50),
        ("memory", "BertModel", 10, 2, 10),
        ("field", "BertForSequenceClassification", 4, 3, 20),
        ("error", "attention biases", 4, 2, 20),
    ],
    (7, "medium"): [
        ("tensor", "pooler.dense.weight", 500, 4, 20000),
        ("shape", "encoder.layer.*.output.dense.weight", 100, 2, 1000),
        ("layer", "encoder.layer.*", 100, 2, 20000),
        ("model", "BertModel", 500, 2, 20000),
        ("architecture", "BertForMaskedLM", 500, 4, 5000),
        ("step", "embeddings.word_embeddings", 100, 2, 5000),
        ("flops", "encoder.layer.*.output.dense", 100, 2, 5000),
        ("memory", "BertModel", 200, 10, 5000),
        ("field", "BertForMaskedLM", 200, 5, 10000),
        ("error", "feed-forward once", 100, 5, 5000),
    ],
    (2026, "hard"): [
        ("tensor", "encoder.layer.*.attention.output.dense.weight", 128, 2, 30522),
        ("shape", "encoder.layer.*.intermediate.dense.weight", 128, 2, 30522),
        ("layer", "encoder.layer.*", 128, 2, 30522),
        ("model", "BertModel", 512, 4, 30522),
        ("architecture", "BertForPreTraining", 512, 4, 30522),
        ("step", "encoder.layer.*.output.dense", 384, 6, 30522),
        ("flops", "BertModel", 512, 4, 30522),
        ("memory", "BertModel", 1024, 24, 30522),
        ("field", "BertForTokenClassification", 1024, 24, 30522),
        ("error", "one head", 768, 12, 28996),
    ],
}


def facts(exercise: Exercise) -> tuple[str, str, int, int, int]:
    config = exercise.config
    asked = exercise.path or exercise.miscount or exercise.model.architecture
    return exercise.kind, asked, config.hidden_size, config.num_hidden_layers, config.vocab_size


@pytest.mark.parametrize(("seed", "level"), PINNED)
def test_old_links_mean_the_same_sheets(seed: int, level: Level) -> None:
    """If this fails after a change of the generator, raise VERSION and update PINNED."""
    assert [facts(exercise) for exercise in sheet(seed, level)] == PINNED[seed, level]


@examples(15)
@given(seeds, levels)
def test_a_sheet_has_every_kind_and_is_always_the_same(seed: int, level: Level) -> None:
    assert tuple(exercise.kind for exercise in sheet(seed, level)) == KINDS
    for kind, one in zip(KINDS, sheet(seed, level), strict=True):
        assert exercise.__wrapped__(seed, level, kind) == one


def test_seeds_make_different_sheets() -> None:
    for level in LEVELS:
        assert len({tuple(map(facts, sheet(seed, level))) for seed in range(10)}) == 10


@examples(20)
@given(seeds)
def test_the_easy_level_can_be_done_by_hand(seed: int) -> None:
    for one in sheet(seed, "easy"):
        assert max(one.sizes().values()) <= 100
        if isinstance(one.right, int):
            assert one.right < 100_000


@given(exercises("tensor", "shape", "layer", "model", "architecture", "error"))
def test_counts_and_shapes_are_those_of_the_real_model(exercise: Exercise) -> None:
    real = case_of(exercise).real()
    tensors = {bare(name, exercise.model.architecture): tensor for name, tensor in real.named_parameters()}
    whole = sum(tensor.numel() for tensor in tensors.values())
    match exercise.kind:
        case "tensor":
            assert exercise.right == tensors[shown(exercise.path, exercise.model)].numel()
        case "shape":
            assert exercise.right == tuple(tensors[shown(exercise.path, exercise.model)].shape)
        case "layer":
            assert exercise.right == sum(
                one.numel() for one in real.get_submodule(shown(exercise.path, exercise.model)).parameters()
            )
        case "model":
            assert exercise.right == whole
        case "architecture":
            body = sum(one.numel() for one in Case(exercise.config).real().parameters())
            assert exercise.right == whole
            assert exercise.question.values["parameters"] == f"{body:,}"
        case "error":
            counted = {tensor.name for tensor in exercise.explained()}
            lines = [re.sub(r"layer\.\d+", "layer.*", name) in counted for name in tensors]
            assert exercise.right == sum(
                tensor.numel() for tensor, here in zip(tensors.values(), lines, strict=True) if here
            )


@examples(12)
@given(exercises("step"))
def test_shapes_on_the_way_are_those_of_the_real_model(exercise: Exercise) -> None:
    assert exercise.batch is not None
    real = case_of(exercise).real()
    real.set_attn_implementation("eager")
    found: dict[str, tuple[int, ...]] = {}

    def note(name: str) -> Callable[..., None]:
        def hook(_module: object, inputs: tuple[Any, ...], output: Any) -> None:
            if isinstance(output, torch.Tensor):
                found[name] = tuple(output.shape)
            if name.endswith("attention.output.dense"):
                found[name.replace("output.dense", "self.merge_heads")] = tuple(inputs[0].shape)

        return hook

    for name, module in real.named_modules():
        module.register_forward_hook(note(name))
    eager = modeling_bert.eager_attention_forward
    heads: list[torch.Tensor] = []

    def watched(module: Any, query: torch.Tensor, *args: Any, **options: Any) -> Any:
        context, scores = eager(module, query, *args, **options)
        heads[:] = query, scores, context.transpose(1, 2)
        return context, scores

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(modeling_bert, "eager_attention_forward", watched)
        real(**arguments(case_of(exercise), Call(*exercise.batch.shape)))
    inside = "encoder.layer.0.attention.self."
    for name, tensor in zip(("query_heads", "scores", "context"), heads, strict=True):
        found[inside + name] = tuple(tensor.shape)
    assert exercise.right == found[shown(exercise.path, exercise.model)]


@examples(12)
@given(exercises("flops"))
def test_flops_are_those_that_pytorch_counts(exercise: Exercise) -> None:
    assert exercise.batch is not None
    modules, forward, _both = real_flops(case_of(exercise), Call(*exercise.batch.shape))
    inside = "encoder.layer.0.attention.self"
    products = modules[inside] - 3 * modules[f"{inside}.query"]  # scores and context, which cost the same
    modules |= {"": forward, f"{inside}.scores": products // 2, f"{inside}.context": products // 2}
    assert exercise.right == modules[shown(exercise.path, exercise.model)]


@examples(15)
@given(exercises("memory"))
def test_bytes_are_those_of_pytorch(exercise: Exercise) -> None:
    assert exercise.memory is not None
    assert isinstance(exercise.right, int)
    bits = [mistake.amount for mistake in exercise.mistakes if mistake.reason.message == "bits are counted, not bytes"]
    assert bits == [8 * exercise.right]
    real = case_of(exercise).real()
    if "dtype" in exercise.question.values:
        real = real.to(getattr(torch, exercise.question.values["dtype"]))
        assert exercise.right == sum(tensor.nbytes for tensor in real.parameters())
        return
    optimizers: dict[str, Callable[..., torch.optim.Optimizer]] = {
        "SGD": torch.optim.SGD,
        "SGD with momentum": lambda tensors: torch.optim.SGD(tensors, momentum=0.9),
        "AdamW": torch.optim.AdamW,
    }
    optimizer = optimizers[exercise.question.values["optimizer"]](real.parameters())
    for tensor in real.parameters():
        tensor.grad = torch.empty_like(tensor)
    optimizer.step()
    states = [one for state in optimizer.state.values() for one in state.values() if one is not None and one.dim()]
    kept = [*real.parameters(), *(tensor.grad for tensor in real.parameters()), *states]
    assert exercise.right == sum(tensor.nbytes for tensor in kept)


def changed(config: Config, field: str) -> Config:
    """The configuration with another value of a field."""
    value = getattr(config, field)
    if field == "num_attention_heads":
        return replace(config, num_attention_heads=1 if value > 1 else config.hidden_size)
    if field == "hidden_size":
        return replace(config, hidden_size=value + config.num_attention_heads)
    other: Any = not value if isinstance(value, bool) else value / 2 if value < 1 else value + 1
    return replace(config, **{field: other})


@examples(3)
@given(exercises("field"))
def test_fields_change_what_they_change_in_the_real_model(exercise: Exercise) -> None:
    assert exercise.batch is not None
    assume(exercise.config.num_hidden_layers < 10)

    def cost(config: Config) -> int:
        case = Case(replace(config, pad_token_id=0), exercise.model.architecture)
        if exercise.unit == "parameters":
            return sum(tensor.numel() for tensor in case.real().parameters())
        return real_flops(case, Call(*exercise.batch.shape))[1] if exercise.batch else 0

    before = cost(exercise.config)
    # Another padding token changes no cost, but must be in the vocabulary.
    fields = [field for field in exercise.options if field != "pad_token_id"]
    changing = frozenset(field for field in fields if cost(changed(exercise.config, field)) != before)
    assert changing == exercise.right
    assert isinstance(exercise.right, frozenset)
    assert 0 < len(exercise.right) < len(exercise.options) == 5


def ways_to_type(exercise: Exercise) -> Iterator[str]:
    right = exercise.right
    if isinstance(right, tuple):
        for form, sign in (("{}", " × "), ("{}", "x"), ("({})", ", "), ("[{}]", ","), ("torch.Size([{}])", ", ")):
            yield form.format(sign.join(map(str, right)))
        yield " × ".join(f"{side:,}" for side in right)
        yield worked(exercise)[0].letters.replace(r"\times", "×")
    elif isinstance(right, int):
        yield from (
            f"{right}",
            f" {right:,} ",
            f"{right:,}".replace(",", " "),
            f"2*{right} - {right}",
            f"{right}*2^3/8",
        )
        yield f"{right} {exercise.unit}"
        yield f"{right:,}*1 {exercise.unit}"
        if exercise.unit == "bytes":
            yield f"{right} B"
            yield f"{right}/1024 KiB"
        line = worked(exercise)[-1]
        if exercise.kind not in ("memory", "error"):  # in these, N is not a size, or the last line is a sum
            yield as_typed(line.letters)


def as_typed(latex: str) -> str:
    """A LaTeX formula as a user would type it."""
    latex = re.sub(r"\\frac\{(.*)\}\{(\w+)\}", r"(\1)/\2", latex)
    for sign, typed in ((r"\left", ""), (r"\right", ""), (r"\cdot", "*"), ("{,}", ","), ("{", ""), ("}", "")):
        latex = latex.replace(sign, typed)
    return latex


@given(exercises())
def test_the_right_answer_is_right_however_it_is_typed(exercise: Exercise) -> None:
    if isinstance(exercise.right, frozenset):
        assert check(exercise, sorted(exercise.right)) == Verdict("right")
    for text in ways_to_type(exercise):
        assert check(exercise, text, names_of(exercise)) == Verdict("right"), text


@given(exercises("layer", "model", "architecture", "flops", "memory"), st.integers(2, 5))
def test_a_rounded_answer_is_right_and_the_exact_one_is_told(exercise: Exercise, digits: int) -> None:
    assert isinstance(exercise.right, int)
    verdict = check(exercise, f"{exercise.right:.{digits - 1}e}")
    assert verdict.state in ("right", "rounded")
    assert verdict.counts
    if verdict.state == "rounded":
        assert [said.values for said in verdict.remarks] == [{"right": f"{exercise.right:,}"}]
    assert check(exercise, f"{2 * exercise.right:.{digits - 1}e}").state == "wrong"


def test_what_is_rounded_too_much_is_not_accepted() -> None:
    model = exercise(1, "hard", "model")
    assert model.right == 333_579_264  # BERT-large, cased
    assert check(model, "333.6M").state == "rounded"
    assert check(model, "0.33B").state == "rounded"
    rough = check(model, "0.3B")
    assert rough.state == "unreadable"
    assert "at least two significant digits" in rough.remarks[0].message
    assert check(model, "340M").state == "wrong"


def test_zeros_at_the_end_of_a_rounded_answer_are_not_known() -> None:
    """110M counts as 1.1e8. A number with all digits is exact."""
    model = Model(BertConfig())
    tensors = tuple(model.tensors())
    exercise = Exercise("model", model, Sentence(""), 109_482_240, "parameters", tensors=tensors)
    assert check(exercise, "110M") == check(exercise, "1.1e8")
    assert check(exercise, "110M").state == "rounded"
    assert (
        check(exercise, "110,000,000").state
        == check(exercise, "100M").state
        == check(exercise, "111M").state
        == "wrong"
    )


@examples(5)
@given(exercises("tensor", "layer", "model", "architecture", "error"))
def test_each_miscount_is_named(exercise: Exercise) -> None:
    tensors, sizes = exercise.explained(), MiscountSizes.of(exercise.config)
    pooled = any(tensor.name.startswith("pooler.") for tensor in tensors)  # no pooler is added to a count that has one
    # Nothing is added to a part.
    left_out = ("added", "not shared") if exercise.path else "pooler added" if pooled else ()
    made = {name: miscount for name, miscount in MISCOUNTS.items() if not name.endswith(left_out)}
    totals = {name: total(miscount.make(tensors, sizes)) for name, miscount in made.items()}
    for wrong in set(totals.values()) - {exercise.right, 0}:
        verdict = check(exercise, f"{wrong:,}")
        assert verdict.state == "wrong"
        miscounts = {MISCOUNTS[name].description for name, amount in totals.items() if amount == wrong}
        mistakes = {mistake.reason.message for mistake in exercise.mistakes if mistake.amount == wrong}
        told = sentences(verdict)
        single = set[str]().union(*(way for way in told if len(way) == 1))
        assert single <= miscounts | mistakes
        # For tiny sizes, a rare miscount is hardly likelier than chance.
        bits = min(MISCOUNTS[name].bits for name, amount in totals.items() if amount == wrong)
        if not is_chance(wrong, total(tensors), bits):
            assert all(len(way) == 1 for way in told)
            assert mistakes or single & miscounts


def answered(path: str, intermediate_size: int, answer: str) -> set[frozenset[str]]:
    """The explanations of an answer to the parameter count at a path, for a hidden size of 2."""
    config = BertConfig(
        hidden_size=2, num_attention_heads=1, num_hidden_layers=2, intermediate_size=intermediate_size, vocab_size=10
    )
    tensors = tuple(tensor for tensor in counted(build(config)) if tensor.name.startswith(path))
    tensors = tuple(tensor._replace(copies=1) for tensor in tensors)
    exercise = Exercise("tensor", Model(config), Sentence(""), total(tensors), "parameters", path=path, tensors=tensors)
    return {frozenset(way) for way in sentences(check(exercise, answer))}


def test_what_only_tiny_sizes_make_possible_is_not_given_as_the_cause() -> None:
    """With a hidden size of 2, 16 equals 4 H². For a 2 × 6 matrix, this does not show that I was taken to be 4 H."""
    assert not answered("encoder.layer.*.output.dense.weight", 6, "16")
    # The attention's matrices without biases and LayerNorm are also 4 H^2, a count that users do make. Query, key and
    # value as a single matrix, 2 H^2 + 4 H, give 16 only with this hidden size.
    matrices = {frozenset((MISCOUNTS["biases"].description, MISCOUNTS["LayerNorm"].description))}
    assert answered("encoder.layer.*.attention", 6, "16") == matrices


@examples(15)
@given(exercises("tensor", "layer", "flops", "memory", "error"))
def test_each_mistake_of_an_exercise_is_named(exercise: Exercise) -> None:
    for mistake in exercise.mistakes:
        assert mistake.amount != exercise.right
        told = sentences(check(exercise, f"{mistake.amount}"))
        same = [other for other in exercise.mistakes if other.amount == mistake.amount]
        assert {mistake.reason.message} in told or len(same) > len(told) == 3


@examples(20)
@given(exercises("tensor"))
def test_the_bias_of_the_same_module_is_no_part_of_a_weight(exercise: Exercise) -> None:
    real = dict(case_of(exercise).real().named_parameters())
    name = exercise.path.replace("*", "0")
    bias = real.get(name.removesuffix("weight") + "bias")
    assert isinstance(exercise.right, int)
    if bias is not None:
        verdict = check(exercise, f"{exercise.right + bias.numel()}")  # 20 for 16, with a matrix of 4 x 4
        assert {"the bias is counted as well, but it is a separate tensor"} in sentences(verdict)


def test_two_miscounts_are_named_together() -> None:
    model = exercise(1, "hard", "model")
    tensors, sizes = model.explained(), MiscountSizes.of(model.config)
    for name in ("pooler", "positions"):
        tensors = MISCOUNTS[name].make(tensors, sizes)
    assert {MISCOUNTS["pooler"].description, MISCOUNTS["positions"].description} in sentences(
        check(model, f"{total(tensors)}")
    )


def test_what_nothing_explains_is_too_small_or_too_large() -> None:
    model = exercise(1, "hard", "model")
    for text, said in (
        ("17", "Your answer is too small."),
        ("999,999,999,999", "Your answer is too large."),
        ("51/3", "Your answer is too small."),
    ):
        verdict = check(model, text)
        assert (verdict.state, [sentence.message for sentence in verdict.remarks]) == ("wrong", [said])
    assert check(model, "1/3").state == "unreadable"  # no count is a third


@pytest.mark.parametrize(
    ("kind", "text", "said"),
    [
        ("model", "abc", "is not a valid amount"),
        ("model", "3*(4", "has an unclosed parenthesis"),
        ("model", "12 MB", "is in bytes, but parameters are needed here"),
        ("flops", "12 apples", "has an unknown unit"),
        ("model", "9^9^9", "too large"),
        ("model", "1+" * 10**6, "longer than 200 characters"),
        ("model", "1" * 10**6, "is not a valid amount"),
        ("step", "1" * 10**6, "is not a shape"),
        ("shape", "two by three", "is not a shape"),
        ("shape", "()", "is not a shape"),
    ],
)
def test_what_cannot_be_read_is_said_in_one_sentence(kind: Kind, text: str, said: str) -> None:
    verdict = check(exercise(1, "easy", kind), text)
    assert verdict.state == "unreadable"
    [sentence] = verdict.remarks
    assert said in sentence.message.format(**sentence.values)


@given(exercises(), st.text(max_size=40) | st.text("0123456789+-*/^().,x×eMGBi HLV", max_size=40))
def test_any_text_gets_a_verdict(exercise: Exercise, text: str) -> None:
    verdict = check(exercise, (text,) if exercise.options else text, names_of(exercise))
    assert verdict.state == "right" or verdict.remarks or verdict.because
    for said in (*verdict.remarks, *(one for way in verdict.because for one in way)):
        assert said.message.format(**said.values)


def test_what_is_said_to_a_wrong_shape() -> None:
    shape = exercise(1, "easy", "shape")
    assert shape.right == (4, 12)
    for text, said in (
        ("12 × 4", "The dimensions are right, but in the wrong order."),
        ("4", "The shape has 2 dimensions, not 1."),
        ("4 × 13", "1 of 2 dimensions are correct."),
    ):
        [sentence] = check(shape, text).remarks
        assert sentence.message.format(**sentence.values) == said
    twice = exercise(0, "medium", "step")
    assert twice.right == (4, 10, 50, 50)
    [sentence] = check(twice, "4 × 10 × 10 × 50").remarks
    assert sentence.message.format(**sentence.values) == "3 of 4 dimensions are correct."


def test_what_is_said_to_wrong_fields() -> None:
    field = exercise(1, "easy", "field")
    assert field.right == frozenset({"vocab_size"})
    verdict = check(field, ["pad_token_id"])
    assert [said.message.format(**said.values) for said in verdict.remarks] == [
        "No effect here: pad_token_id.",
        "Fields you missed: 1.",
    ]


def value(line: WorkedLine, exercise: Exercise) -> None:
    """Assert that the symbols, the numbers and the result of a line agree."""
    names = names_of(exercise) | ({"N": exercise.memory.parameters} if exercise.memory else {})
    result = Fraction(line.result.replace("{,}", "").replace("+", ""))
    for side in (line.letters, line.numbers):
        assert not side or evaluate(as_typed(side), names) == result


@given(exercises("tensor", "layer", "model", "architecture", "flops", "memory", "error"))
def test_the_worked_solution_comes_out(exercise: Exercise) -> None:
    *terms, last = worked(exercise)
    for line in (*terms, last):
        value(line, exercise)
    results = [int(line.result.replace("{,}", "")) for line in (*terms, last)]
    if terms:
        assert sum(results[:-1]) == results[-1]
    assert exercise.right in results
    assert exercise.kind == "error" or exercise.right == results[-1]


@given(exercises("error"))
def test_one_line_of_the_worked_count_is_wrong_and_the_others_are_right(exercise: Exercise) -> None:
    wrong, right = worked_wrong(exercise), worked(exercise)[:-1]
    assert [line.label for line in wrong] == [line.label for line in right]
    [(mistaken, corrected)] = [
        (one, other) for one, other in zip(wrong, right, strict=True) if one.result != other.result
    ]
    value(mistaken, exercise)
    assert corrected.result.replace("{,}", "") == f"{exercise.right}"
    assert not any(line.letters for line in wrong)


@given(exercises("shape", "step", "field"))
def test_what_is_no_count_is_worked_out_too(exercise: Exercise) -> None:
    lines = worked(exercise)
    if exercise.options:
        changing = frozenset(line.label[0].strip("`") for line in lines if line.result != "0")
        assert changing == exercise.right
    else:
        assert isinstance(exercise.right, tuple)
        names = names_of(exercise)
        sides = lines[0].letters.split(r" \times ")
        assert [evaluate(side, names) for side in sides] == list(exercise.right)
