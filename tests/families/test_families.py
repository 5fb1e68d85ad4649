"""A family is one file: no other file names its parts, and registration reports whatever is missing."""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from bertcalc import BertConfig, Config, families, forward_flops, saved_activation_bytes, training_flops
from bertcalc.completeness import missing_parts
from bertcalc.config import ConfigError
from bertcalc.config.activations import ACTIVATIONS
from bertcalc.families import CLASSES, FAMILIES, bert, build, class_of, output_names, register
from bertcalc.forward.outputs import Call, inputs, outputs, run, taking_all
from bertcalc.forward.walk import walk
from bertcalc.memory.peak import changes_in
from bertcalc.memory.plan import Inference
from bertcalc.model import registry
from bertcalc.model.batch import Batch
from bertcalc.model.family import Family, Hidden
from bertcalc.model.formula import component_formulas, symbolic_steps
from bertcalc.model.model import Model, config_of_class
from bertcalc.model.totals import totals_by_part
from bertcalc.model.trace import Trace
from bertcalc.proof.tensor_proof import prove
from bertcalc.teach.exercises import KINDS, sheet
from bertcalc.teach.lessons import lesson, questions
from bertcalc.text.records import dataclass
from pages.ui.shell.navigation import PAGES
from tests.families.made_up import MADE_UP, made_up
from tests.oracle import Case
from tests.sources import strings

ROOT = Path(__file__).parents[2]
# Parts of paths that are common words of the field, or of any program.
WORDS = {
    *("act", "cls", "drop", "ffn", "head", "intermediate", "layer", "layers", "LayerNorm", "mlp", "model", "score"),
    *("summary", "transform", "transformer", "Embeddings", "bias", "weight", "self"),
    *"hkoqv",
}
# Rooms that name parts of models: the families themselves, and those that read the words of write-ups.
ROOMS = {ROOT / "bertcalc" / room for room in ("families", "memory/family_steps", "proofreading")}
# Files that name published models: presets and counts, comparisons, lectures, quotations.
DATA = {
    *(
        "bertcalc/__init__.py",
        "bertcalc/families/presets.py",
        "bertcalc/families/published.toml",
        "bertcalc/diagnosis/known_counts.toml",
        "bertcalc/diagnosis/relatives.py",
    ),
    "bertcalc/changes/targets.py",  # quoted from peft
    "bertcalc/reading/tensors/shared_tables.py",  # names of tables and heads in listings of any library's model
    "bertcalc/change_steps/recipes.py",  # models that recipes start from
    # Names in files, and their measured sizes.
    *("bertcalc/storage/saved_names.toml", "bertcalc/storage/onnx_graphs.toml"),
    "bertcalc/storage/gguf_names.toml",  # quoted from llama.cpp
    "bertcalc/storage/tensorflow_names.py",  # names in TensorFlow checkpoints
    *("bertcalc/explore/compare.toml", "pages/lectures/same-layers.toml", "pages/lectures/why-110-million.toml"),
}
# Names in other files that no behaviour depends on.
SAID = {
    ("bertcalc/__main__.py", "BertForMaskedLM"),  # an example in the help, as in the next file
    ("bertcalc/discover/__main__.py", "BertModel"),
    ("bertcalc/text/arguments.py", "BertConfig"),  # an example in messages
    ("bertcalc/model/registry.py", "BertConfig"),  # likewise
    ("bertcalc/api/live_model.py", "BertModel"),  # likewise
    ("bertcalc/changes/adapter.py", "BertLMHeadModel"),  # likewise
    ("bertcalc/reading/printed_model.py", "BertModel"),  # likewise
    ("bertcalc/reading/listing.py", "word_embeddings"),  # likewise
    # PEFT prints it a second time, whatever the model's own name for it is.
    ("bertcalc/reading/printed_tree.py", "word_embeddings"),
    ("bertcalc/reading/printed_model.py", "word_embeddings"),  # likewise
    ("bertcalc/reading/printed_model.py", "embed_tokens"),  # the table of T5's stacks, for which bertcalc has no family
    ("bertcalc/reading/json_files.py", "BertConfig"),  # an example in a message
    ("bertcalc/reading/examples.py", "BertForSequenceClassification"),  # a text to try
    ("bertcalc/reading/printed_tree.py", "out_proj"),  # from torch.nn.MultiheadAttention
    ("bertcalc/forward/meanings.py", "predictions"),  # the common word
    ("bertcalc/config/fields.py", "layer_norm"),  # a value that a file may have
    *(
        ("bertcalc/discover/results/components.py", name) for name in ("predictions", "qa_outputs", "wte", "wpe")
    ),  # for any model
    # Typed by users, in examples.
    *(("pages/ui/diagnosis/terms_view.py", f"{name}_embeddings") for name in ("word", "position", "token_type")),
}


@cache
def names() -> set[str]:
    """The classes, modules and parts of paths of every family, except common words."""
    found, meanings = set(CLASSES), set[str]()
    for name, family in CLASSES.items():
        found.add(family.config.__name__)
        model = build(family.fullest(), name)
        found |= {
            module.class_name for _path, module, _copies in model.modules() if not hasattr(torch.nn, module.class_name)
        }
        paths = {*(path for path, _module, _copies in model.modules()), *dict(model.named_parameters())}
        found |= {part for path in paths for part in model.without_prefix(path).split(".")}
        steps = model.steps(Batch(1, 2, encoder_sequence_length=2))
        places = [module.place for _path, module, _copies in model.modules()] + [step.place for step in steps]
        meanings |= {word for place in places for said in place for word in re.findall(r"\w+", said)}
    library = {"Conv1D", *(facts.kind for facts in ACTIVATIONS.values())}
    prefixes = {family.prefix for family in FAMILIES.values()}  # another test searches for the names of families
    return {name for name in found - library - meanings - WORDS - prefixes if name.isidentifier()}


def texts(path: Path) -> Iterator[str]:
    """Yield every text in a source except docstrings, including parts of f-strings. In TOML, yield every string."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        yield from strings(tomllib.loads(source))
        return
    tree = ast.parse(source)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def named(text: str, known: set[str]) -> set[str]:
    """The known names in a text, and the family whose name equals the text."""
    return {*known.intersection(re.findall(r"\w+", text)), *({text} & FAMILIES.keys())}


def test_nothing_outside_of_a_family_names_its_modules_or_classes() -> None:
    known = names()
    sources = [
        path
        for folder in ("bertcalc", "pages")
        for kind in ("py", "toml")
        for path in (ROOT / folder).rglob(f"*.{kind}")
    ]
    said = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in sources
        if not ROOMS & {*path.parents}
        for text in texts(path)
        for name in named(text, known)
    }
    assert {(path, name) for path, name in said if path not in DATA} == SAID


@pytest.mark.parametrize(
    "source",
    [
        *("'Wqkv'", "'wte'", "'crossattention'", "'TransformerBlock'", "'DisentangledSelfAttention'", "'gpt2'"),
        *("f'{1}.word_embeddings.weight'", "'the module BertSelfAttention is special'", "['.attn.c_attn']"),
    ],
)
def test_a_name_of_a_family_is_seen_wherever_it_is_in_a_text(source: str, tmp_path: Path) -> None:
    path = tmp_path / "source.py"
    path.write_text(f"x = {source}\n")
    assert any(named(text, names()) for text in texts(path))


@pytest.mark.parametrize("architecture", CLASSES)
def test_every_class_of_every_family_can_be_read_in_every_way(architecture: str) -> None:
    family, cls = CLASSES[architecture], class_of(architecture)
    config = replace(family.fullest(), num_hidden_layers=2, num_labels=2)
    model, call = Model(config, architecture), Call(2, 3, encoder_sequence_length=3)
    model, steps = model, run(model, call)
    assert [entry.name for entry in inputs(model, call, run(taking_all(model), call))] == [*cls.inputs]
    names = output_names(architecture)
    assert [entry.name for entry in outputs(model, call, steps)][: len(names)] == [*names]
    assert sum(totals_by_part(model).values()) == model.num_parameters()
    assert all(lesson(stop).text for stop in walk(steps))
    assert component_formulas(model)
    assert len(symbolic_steps(model)) == len(model.steps(Batch(2, 3)))
    flops = forward_flops(model, batch_size=2, sequence_length=3)
    assert training_flops(model, batch_size=2, sequence_length=3) == 3 * flops > 0
    assert saved_activation_bytes(model, batch_size=2, sequence_length=3) > 0


@pytest.mark.parametrize("architecture", CLASSES)
def test_a_class_that_transformers_does_not_build_is_refused(architecture: str) -> None:
    kind = CLASSES[architecture].config
    for labels in (1, 2, 3):
        changes: dict[str, Any] = {"num_labels": labels, kind.own_name("num_hidden_layers"): 1}
        config = replace(kind.default(), **changes)
        case = Case(config, architecture)
        try:
            expected = case.real().num_parameters()
        except ValueError:
            with pytest.raises(ConfigError, match=f"cannot be built with num_labels {labels}"):
                case.ours()
            assert config_of_class(config, architecture).num_labels == 2  # the nearest number that can be built
        else:
            assert case.ours().num_parameters() == expected


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_exercises(family: str) -> None:
    for level in ("easy", "medium", "hard"):
        found = sheet(7, level, family)
        assert tuple(one.kind for one in found) == KINDS
        assert all(CLASSES[one.model.architecture] is FAMILIES[family] for one in found)


@pytest.fixture
def known() -> Iterator[Family]:
    """Register the made-up family for a test, and remove it afterwards."""
    tables = [table for table in vars(registry).values() if isinstance(table, dict) and "bert" in str(table)]
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
    assert [stop.name for stop in walk(model.steps(Batch(2, 9)))][-2:] == ["first", "last"]


def test_a_class_that_transformers_lacks_is_no_class_to_compare_with(known: Family) -> None:
    with pytest.raises(NotImplementedError, match=MADE_UP):
        prove(Model(known.config.default(), MADE_UP))


def test_a_made_up_family_is_on_every_page() -> None:
    """A process registers the family at its start, as for a family with its own file.

    The searched texts come from the pages' bodies: the frame of a page alone does not contain them.
    """
    process = subprocess.run(
        [sys.executable, "-c", "from tests.families.made_up import main; main()"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stderr
    whole, frame = map(json.loads, process.stdout.splitlines()[-2:])
    assert whole == dict.fromkeys(PAGES, True)
    assert frame == dict.fromkeys(PAGES, False)


def test_what_the_module_of_the_embeddings_holds_does_not_depend_on_its_name(known: Family) -> None:
    def body(t: Trace, c: BertConfig, pooler: bool) -> Hidden:
        with t.module("table", "MadeUpTable", component="embeddings", order=bert.EMBEDDINGS):
            x = bert.summed_embeddings(t, c, c.hidden_size)
        return Hidden(bert.encoder(t, c, x, "Bert"), None)

    def held(family: Family) -> list[tuple[int, str]]:
        model = Model.of_family(family, family.base, BertConfig(), add_pooling_layer=False)
        changes = changes_in(model, Inference(), Batch(2, 9))
        return [(change.num_bytes, change.where.replace("table.", "embeddings.")) for change in changes]

    assert held(replace(known, body=body)) == held(known)


@pytest.mark.parametrize(("kind", "bias"), [("MadeUpRMSNorm", False), ("LayerNorm", False), ("LayerNorm", True)])
def test_a_question_about_beta_is_asked_where_there_is_one(known: Family, kind: str, bias: bool) -> None:
    def head(t: Trace, c: BertConfig, hidden: Hidden) -> None:
        x = t.norm("own_norm", hidden.states, 1e-6, kind=kind, bias=bias)
        t.output("logits", t.linear("decoder", x, c.vocab_size, role="decoder", bias=bias))

    config = known.config.default()
    model = Model.of_family(known, known.classes[1]._replace(head=head), config)
    norm, decoder = walk(model.steps(Batch(1, 4)))[-2:]
    assert ("beta" in "".join(asked.question for asked in questions(norm, config))) == bias
    assert ("no beta" in lesson(norm).text) == (not bias)
    decoder = decoder._replace(key="language model.decoder")
    assert ("the bias" in "".join(asked.answer for asked in questions(decoder, config))) == bias


def broken(head: Callable[[Trace, Config, Hidden], None], **changes: object) -> Family:
    family = made_up(**changes)
    base, cls = family.classes
    return replace(family, classes=(base, cls._replace(head=head)))


def assert_missing(family: Family, pattern: str) -> None:
    """Assert that a message about the family's missing parts matches the pattern."""
    sentences = missing_parts(family)
    assert any(re.search(pattern, sentence) for sentence in sentences), sentences


def test_what_is_missing_is_said_by_the_check_of_a_family() -> None:
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
        nameless: ("'mystery', which is in no part", "last (head.mystery) has no lesson"),
        silent: ("it returns nothing",),
        unheard: ("nothing says what nonsense means",),
        turned: ("what autograd saves for dropout (convolve)",),
    }
    for head, sentences in said.items():
        report = "\n".join(missing_parts(broken(head)))
        for sentence in sentences:
            assert sentence in report
    assert_missing(made_up(presets={}), "made-up: no preset")


@dataclass(frozen=True)
class WrongConfig(BertConfig):
    """A config with a default that is not an activation function."""

    hidden_act: str = "wave"


def test_a_default_that_cannot_be_is_said_by_the_check_of_a_family() -> None:
    assert_missing(made_up(config=WrongConfig), r"WrongConfig\.hidden_act: it cannot be 'wave'")


@dataclass(frozen=True)
class MoreConfig(BertConfig):
    """A config with a field that has no description."""

    num_experts: int = 8


@dataclass(frozen=True)
class LessConfig(Config):
    """A config with missing sizes."""

    vocab_size: int = 100
    num_labels: int = 2


def test_a_field_that_nothing_describes_and_one_that_is_missing_are_said() -> None:
    described = r"MoreConfig\.num_experts: nothing says what it means and may be \(FIELDS\)"
    assert_missing(made_up(config=MoreConfig), described)
    with pytest.raises(ValueError, match=described):
        MoreConfig()
    assert_missing(made_up(config=LessConfig, presets={}), "LessConfig: it has no hidden_size, which every family has")


def test_what_is_tied_to_nothing_or_to_another_shape_is_said() -> None:
    def tied_to(owner: str) -> Callable[[Trace, Config, Hidden], None]:
        def head(t: Trace, c: Config, hidden: Hidden) -> None:
            tied = {"weight": owner}
            t.output("logits", t.linear("last", hidden.states, c.vocab_size, role="classifier", tied=tied))

        return head

    assert_missing(
        broken(tied_to("bert.nowhere.weight")),
        r"last\.weight is tied to bert\.nowhere\.weight, which does not exist",
    )
    assert_missing(
        broken(tied_to("bert.embeddings.position_embeddings.weight")),
        r"last\.weight of shape \(30522, 768\) is tied to .* of shape \(512, 768\)",
    )


def test_a_head_is_looked_at_with_tied_tensors_as_well_as_without() -> None:
    def nameless(t: Trace, c: Config, hidden: Hidden) -> None:
        role = "mystery" if c.tie_word_embeddings else "classifier"
        t.output("logits", t.linear("last", hidden.states, 3, role=role))

    def changing(t: Trace, c: Config, hidden: Hidden) -> None:
        x = t.linear("last", hidden.states, 3, role="classifier")
        t.output("logits" if c.tie_word_embeddings else "prediction_logits", x)

    assert_missing(broken(nameless), "'mystery', which is in no part")
    assert_missing(broken(changing), "its outputs are not the same in every configuration")


def test_a_program_that_cannot_run_or_declares_one_name_twice_is_said() -> None:
    def twice(t: Trace, c: Config, hidden: Hidden) -> None:
        t.output("logits", t.linear("last", t.linear("last", hidden.states, 400, role="dense"), 3, role="classifier"))

    def waving(t: Trace, c: Config, hidden: Hidden) -> None:
        t.output("logits", t.activation("last", hidden.states, "wave"))

    for head, said in ((twice, "last is declared twice, with other tensors"), (waving, "its program cannot run")):
        assert_missing(broken(head), f"MadeUpForTokenClassification: .*{said}")


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
        ({"classes": (base, cls._replace(task=cast(Any, "to-sing")))}, "'to-sing' is not a task"),
        ({"classes": (base, cls._replace(laid_out=("input_id",)))}, "input_id is laid out, but is not an input"),
        ({"classes": (base, cls._replace(inputs=unread))}, "its program reads token_type_ids, which is not an input"),
        ({"prefix": ""}, "no prefix"),
        ({"presets": {"sung": FAMILIES["bert"].presets["bert-base-uncased"]}}, "a configuration of another family"),
    ):
        assert_missing(made_up(**changes), said)


def test_a_new_family_has_no_peaks_until_somebody_has_measured_them() -> None:
    needed = {field.name for field in fields(Family) if field.default is MISSING and field.default_factory is MISSING}
    family = Family(**{name: getattr(made_up(), name) for name in needed})
    assert not family.peaks
    assert not family.like_bert


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_complete(family: str) -> None:
    assert missing_parts(FAMILIES[family]) == []
