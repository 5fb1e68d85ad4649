"""A family is one file: nothing else names what is in it, and what it lacks is said when it is made known."""

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

import pytest

from bertcalc import BertConfig, Config, families, forward_flops, saved_activation_bytes, training_flops
from bertcalc.exercises.generate import KINDS, sheet
from bertcalc.families import CLASSES, FAMILIES, build, class_of, output_names, register
from bertcalc.families.complete import lacks
from bertcalc.family import Family, Hidden
from bertcalc.formula import component_formulas, symbolic_steps
from bertcalc.forward.lessons import lesson
from bertcalc.forward.outputs import Call, inputs, outputs, run, taking_all
from bertcalc.forward.trace import Sizes, Trace
from bertcalc.forward.walk import walk
from bertcalc.proof.tensor_proof import prove
from bertcalc.subject import Subject
from bertcalc.tree.totals import totals_by_part
from pages.ui.navigation import PAGES
from tests.families.made_up import MADE_UP, made_up

ROOT = Path(__file__).parents[2]
# What a family is called is no name of a module: these are words that the whole field uses.
WORDS = {"attention", "dropout", "embeddings", "encoder", "pooler", "classifier", "output", "decoder", "activation"}


def names() -> set[str]:
    """Classes, modules and paths of every family, as far as they are no words."""
    found = set(CLASSES)
    for name, family in CLASSES.items():
        found.add(family.config.__name__)
        for path, module, _copies in build(family.fullest(), name).modules():
            if module.kind.startswith(family.kind):
                found.add(module.kind)
            bare = path.removeprefix(f"{family.prefix}.")
            found |= {bare} if "." in bare else set()
            found |= {part for part in bare.split(".") if "_" in part}
    meanings = {step.key for name, family in CLASSES.items() for step in build(family.fullest(), name).run(Sizes(1, 2))}
    return found - WORDS - meanings


def texts(path: Path) -> Iterator[str]:
    """Every text in the source, without docstrings and what people read."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in docs else None
        if isinstance(text, str) and " " not in text:
            yield text


def test_nothing_outside_of_a_family_names_its_modules_or_classes() -> None:
    own = ROOT / "bertcalc" / "families"
    data = {ROOT / "bertcalc" / "presets.py", ROOT / "bertcalc" / "__init__.py"}
    sources = [*(ROOT / "bertcalc").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
    known = names()
    said = [
        (f"{path.relative_to(ROOT)}", text)
        for path in sources
        if own not in path.parents and path not in data
        for text in texts(path)
        if text in known or any(f"{name}." in text or f".{name}" in text for name in known if "." in name)
    ]
    assert said == []


@pytest.mark.parametrize("architecture", CLASSES)
def test_every_class_of_every_family_can_be_read_in_every_way(architecture: str) -> None:
    family, cls = CLASSES[architecture], class_of(architecture)
    config = replace(family.fullest(), num_hidden_layers=2, num_labels=2)
    subject, call = Subject(config, architecture), Call(2, 3, encoder_sequence_length=3)
    model, steps = subject.model(), run(subject, call)
    assert [entry.name for entry in inputs(subject, call, run(taking_all(subject), call))] == [*cls.inputs]
    names = output_names(architecture)
    assert [entry.name for entry in outputs(subject, call, steps)][: len(names)] == [*names]
    assert sum(totals_by_part(model).values()) == model.num_parameters()
    assert all(lesson(stop).text for stop in walk(steps))
    assert component_formulas(subject)
    assert len(symbolic_steps(subject)) == len(model.run(Sizes(2, 3)))
    flops = forward_flops(model, batch_size=2, sequence_length=3)
    assert training_flops(model, batch_size=2, sequence_length=3) == 3 * flops > 0
    assert saved_activation_bytes(model, batch_size=2, sequence_length=3) > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_exercises(family: str) -> None:
    for level in ("easy", "medium", "hard"):
        found = sheet(7, level, family)
        assert tuple(one.kind for one in found) == KINDS
        assert all(CLASSES[one.subject.architecture] is FAMILIES[family] for one in found)


@pytest.fixture
def known() -> Iterator[Family]:
    """The made-up family, known for a test, after which nothing knows it any more."""
    tables = [table for table in vars(families).values() if isinstance(table, dict) and "bert" in str(table)]
    kept = [(table, {**table}) for table in tables]
    register(family := made_up())
    yield family
    for table, before in kept:
        table.clear()
        table.update(before)
    for name, module in [*sys.modules.items()]:
        if name.startswith(("bertcalc", "pages")):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def test_a_head_added_in_one_place_counts_and_runs(known: Family) -> None:
    config = known.config.default()
    model = build(config, "MadeUpForTokenClassification")
    body = build(config, "MadeUpModel", add_pooling_layer=False)
    more = 768 * 5 + 5 + 5 * 3 + 3
    assert model.num_parameters() == body.num_parameters() + more
    flops = forward_flops(model, 2, 9) - forward_flops(body, 2, 9)
    assert flops == 2 * (2 * 9 * 768 * 5 + 2 * 9 * 5 * 3)
    assert [stop.name for stop in walk(model.run(Sizes(2, 9)))][-2:] == ["first", "last"]


def test_a_class_that_transformers_lacks_is_no_class_to_compare_with(known: Family) -> None:
    with pytest.raises(NotImplementedError, match=MADE_UP):
        prove(Subject(known.config.default(), MADE_UP))


def test_a_made_up_family_is_on_every_page() -> None:
    """In a process that knows it from its beginning, as a family with a file of its own is known."""
    process = subprocess.run(
        [sys.executable, "-c", "from tests.families.made_up import main; main()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout.splitlines()[-1]) == dict.fromkeys(PAGES, True)


def broken(head: Callable[[Trace, Config, Hidden], None], **changes: object) -> Family:
    family = made_up(**changes)
    base, cls = family.classes
    return replace(family, classes=(base, cls._replace(head=head)))


def test_what_is_missing_is_said_when_a_family_is_made_known() -> None:
    def nameless(t: Trace, c: Config, hidden: Hidden) -> None:
        t.output("logits", t.linear("last", hidden.states, 3, role="mystery"))

    def silent(t: Trace, c: Config, hidden: Hidden) -> None:
        t.linear("last", hidden.states, 3, role="classifier")

    def unheard(t: Trace, c: Config, hidden: Hidden) -> None:
        t.output("nonsense", t.linear("last", hidden.states, 3, role="classifier"))

    def turned(t: Trace, c: Config, hidden: Hidden) -> None:
        x = t.step("dropout", "convolve", hidden.states, shape=hidden.states.shape)  # type: ignore[arg-type]
        t.output("logits", t.linear("last", x, 3, role="classifier"))

    said = {
        nameless: ("'mystery', which is in no part", "nothing is said at last (head.mystery)"),
        silent: ("it returns nothing",),
        unheard: ("nothing says what nonsense means",),
        turned: ("what autograd keeps of dropout (convolve)",),
    }
    for head, sentences in said.items():
        with pytest.raises(ValueError, match="MadeUpForTokenClassification: ") as error:
            register(broken(head))
        for sentence in sentences:
            assert sentence in str(error.value)
    with pytest.raises(ValueError, match="made-up: no preset"):
        register(made_up(presets={}))


@dataclass(frozen=True)
class WrongConfig(BertConfig):
    """One default is none of the activations."""

    hidden_act: str = "wave"


def test_a_default_that_cannot_be_is_said_when_a_family_is_made_known() -> None:
    with pytest.raises(ValueError, match=r"WrongConfig\.hidden_act: it cannot be 'wave'"):
        register(made_up(config=WrongConfig))


@dataclass(frozen=True)
class MoreConfig(BertConfig):
    """A field that nothing describes."""

    num_experts: int = 8


@dataclass(frozen=True)
class LessConfig(Config):
    """Sizes are missing."""

    vocab_size: int = 100
    num_labels: int = 2


def test_a_field_that_nothing_describes_and_one_that_is_missing_are_said() -> None:
    described = r"MoreConfig\.num_experts: nothing says what it means and may be \(FIELDS\)"
    with pytest.raises(ValueError, match=described):
        register(made_up(config=MoreConfig))
    with pytest.raises(ValueError, match=described):
        MoreConfig()
    with pytest.raises(ValueError, match="LessConfig: it has no hidden_size, which every family has"):
        register(made_up(config=LessConfig, presets={}))


def test_what_is_tied_to_nothing_or_to_another_shape_is_said() -> None:
    def tied_to(owner: str) -> Callable[[Trace, Config, Hidden], None]:
        def head(t: Trace, c: Config, hidden: Hidden) -> None:
            tied = {"weight": owner}
            t.output("logits", t.linear("last", hidden.states, c.vocab_size, role="classifier", tied=tied))

        return head

    with pytest.raises(ValueError, match=r"last\.weight is tied to bert\.nowhere\.weight, and there is no such tensor"):
        register(broken(tied_to("bert.nowhere.weight")))
    with pytest.raises(ValueError, match=r"last\.weight of shape \(30522, 768\) is tied to .* of shape \(512, 768\)"):
        register(broken(tied_to("bert.embeddings.position_embeddings.weight")))


def test_a_head_is_looked_at_with_tied_tensors_as_well_as_without() -> None:
    def nameless(t: Trace, c: Config, hidden: Hidden) -> None:
        role = "mystery" if c.tie_word_embeddings else "classifier"
        t.output("logits", t.linear("last", hidden.states, 3, role=role))

    def changing(t: Trace, c: Config, hidden: Hidden) -> None:
        x = t.linear("last", hidden.states, 3, role="classifier")
        t.output("logits" if c.tie_word_embeddings else "prediction_logits", x)

    with pytest.raises(ValueError, match="'mystery', which is in no part"):
        register(broken(nameless))
    with pytest.raises(ValueError, match="its outputs are not the same in every configuration"):
        register(broken(changing))


def test_a_program_that_cannot_run_or_declares_one_name_twice_is_said() -> None:
    def twice(t: Trace, c: Config, hidden: Hidden) -> None:
        t.output("logits", t.linear("last", t.linear("last", hidden.states, 400, role="dense"), 3, role="classifier"))

    def waving(t: Trace, c: Config, hidden: Hidden) -> None:
        t.output("logits", t.activation("last", hidden.states, "wave"))

    for head, said in ((twice, "last is declared twice, with other tensors"), (waving, "its program cannot run")):
        with pytest.raises(ValueError, match=f"MadeUpForTokenClassification: .*{said}"):
            register(broken(head))


def test_a_name_that_is_taken_is_said_and_nothing_is_overwritten() -> None:
    before = {**FAMILIES}, {**CLASSES}, {**families.PRESETS}
    base, cls = made_up().classes
    for changes, said in (
        ({"name": "bert"}, "there is a family bert already"),
        ({"classes": (base, cls._replace(name="BertForTokenClassification"))}, "there is a class Bert.* already"),
        (
            {"presets": {"bert-base-uncased": made_up().presets["made-up-base"]}},
            "there is a preset bert-base-.* already",
        ),
        ({"config": BertConfig}, "BertConfig is the configuration of bert already"),
    ):
        with pytest.raises(ValueError, match=said):
            register(made_up(**changes))
    assert before == ({**FAMILIES}, {**CLASSES}, {**families.PRESETS})


def test_what_contradicts_itself_in_a_declaration_is_said() -> None:
    base, cls = made_up().classes
    unread = tuple(name for name in cls.inputs if name != "token_type_ids")
    for changes, said in (
        ({"classes": ()}, "its first class must be that of the body"),
        ({"classes": (cls, base)}, "its first class must be that of the body"),
        ({"classes": (base, cls, cls)}, "it is declared 2 times"),
        ({"classes": (base, cls._replace(task=cast(Any, "to-sing")))}, "'to-sing' is no task"),
        ({"classes": (base, cls._replace(laid_out=("input_id",)))}, "input_id is laid out, but is none of its inputs"),
        ({"classes": (base, cls._replace(inputs=unread))}, "its program reads token_type_ids, which is none of its"),
        ({"prefix": ""}, "no prefix"),
        ({"presets": {"sung": FAMILIES["bert"].presets["bert-base-uncased"]}}, "a configuration of another family"),
    ):
        with pytest.raises(ValueError, match=said):
            register(made_up(**changes))


def test_a_new_family_has_no_peaks_until_somebody_has_measured_them() -> None:
    needed = {field.name for field in fields(Family) if field.default is MISSING and field.default_factory is MISSING}
    family = Family(**{name: getattr(made_up(), name) for name in needed})
    assert not family.peaks
    assert not family.like_bert


@pytest.mark.parametrize("architecture", CLASSES)
def test_no_class_lacks_anything_in_any_way_that_it_runs(architecture: str) -> None:
    """Registration runs a head in one way; here every class is run in all."""
    family = CLASSES[architecture]
    for config in (family.config.default(), family.fullest()):
        model = build(config, architecture)
        for seen in (None, 1):
            steps = model.run(Sizes(1, 1, encoder_sequence_length=seen))
            assert not list(lacks(model, steps))
            assert output_names(architecture) == tuple(step.output for step in steps if step.output)
