"""Fuzz every kind of input that a user can type, paste, upload or put into a link: ``python -m tests.fuzz``.

Each kind of input has a reader. Within a time limit, the reader must accept the input, or refuse it with its own
exception and a message that can be shown. Anything else is a fault. The command prints each fault with its input, and
its exit status is then 1.

    python -m tests.fuzz [--minutes N] [--seed N] [kind ...]

The same seed draws the same inputs. tests/README.md lists the numbers of inputs tried and of faults.
"""

import argparse
import json
import logging
import math
import sys
import time
import traceback
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from heapq import nlargest
from io import StringIO
from itertools import chain, repeat
from math import prod
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from bertcalc import BertConfig, Config, model_ref
from bertcalc.__main__ import main as command
from bertcalc.checkpoints.checkpoint import compare, model_of_shapes
from bertcalc.config import DIMENSIONS, LETTERS, ConfigError, Problem
from bertcalc.controls import chosen_model
from bertcalc.diagnosis import count_lines, hand_count
from bertcalc.diagnosis.diagnose import diagnose
from bertcalc.diagnosis.known_counts import KnownCount
from bertcalc.discover import discover
from bertcalc.discover.results import size_steps
from bertcalc.discover.results.config_input import read_config as read_pasted
from bertcalc.discover.results.request import DiscoveryRequest
from bertcalc.discover.results.shipped import shipped
from bertcalc.discover.results.types import types
from bertcalc.explore.model_values import FIELDS
from bertcalc.export.table import Code, Math, plain
from bertcalc.families import FAMILIES
from bertcalc.families.hf_json import read as read_config
from bertcalc.families.hf_json import text_of
from bertcalc.families.hf_json import write as write_config
from bertcalc.families.presets import PRESETS
from bertcalc.hub import reader
from bertcalc.model.family import Family
from bertcalc.model.model import Model
from bertcalc.proofreading.proofread import proofread
from bertcalc.reading.examples import EXAMPLES as PASTED
from bertcalc.reading.read_text import read as read_any
from bertcalc.teach import answers
from bertcalc.teach.exercises import sheet
from bertcalc.text import code, literal, visible
from bertcalc.text.amounts import Unit, typed
from bertcalc.text.arithmetic import evaluate
from bertcalc.text.problem import InputError
from pages.ui.compare.comparison import VIEW
from pages.ui.diagnosis.terms_view import EXAMPLES
from pages.ui.opening import link
from pages.ui.shell.controls import CONTROLS, Decimal, Fold, Number, Select, Switch, Text
from tests.checkpoints.checkpoints import read_file
from tests.export.test_formats import check_name
from tests.markdown import read
from tests.mutation import Mutator
from tests.pages.places import PLACES, check, opened
from tests.payloads import PAYLOADS
from tests.reading.hostile import HOSTILE

_CONFIG = BertConfig()
_MODEL = Model(_CONFIG)
_PRESENT = KnownCount(_MODEL, _MODEL.num_parameters())
_SIZES = {letter: getattr(_CONFIG, field) for field, letter in LETTERS.items()}
_UNITS: tuple[Unit | None, ...] = (None, "parameters", "FLOPs", "bytes")
PAGES = Path(__file__).parents[1] / "pages"
_PATIENCE = 15.0  # seconds that a discovery may take
# Classes that together cover all kinds of formulas and conditions.
_SIZED = (
    "gpt2 GPT2LMHeadModel",
    "llama LlamaForCausalLM",
    "deepseek_v3 DeepseekV3ForCausalLM",
    "bamba BambaForCausalLM",
    "funnel FunnelForMaskedLM",
    "convbert ConvBertForMaskedLM",
    "deberta-v2 DebertaV2ForMaskedLM",
    "gemma3n_text Gemma3nForCausalLM",
)


class Kind(NamedTuple):
    """A kind of input and its reader. Inputs are mutated from ``seeds`` and ``words``; ``large`` inputs come first."""

    read: Callable[[str], bool]  # whether the input was accepted; raises an exception for a fault
    seconds: float  # limit of CPU time for one input
    seeds: Sequence[str]  # real inputs
    words: Sequence[str]
    large: Callable[[], Iterator[str]] = lambda: iter(())


def show(problem: Problem) -> None:
    """Check that a problem can be shown: its message is short, and can be encoded as UTF-8."""
    sentence = str(problem)
    assert len(sentence) < 2_000, sentence
    sentence.encode()


def read_amount(text: str) -> bool:
    """Read an amount in every unit."""
    taken = False
    for unit in _UNITS:
        try:
            amount = typed(text, unit)
        except InputError as error:
            show(error.problem)
        else:
            assert 0 <= amount.low <= amount.value <= amount.high
            taken = True
    return taken


def read_count(text: str) -> bool:
    """Read a parameter count and explain it."""
    try:
        number = typed(text)
    except InputError:
        return False
    diagnose(_PRESENT, number)
    return True


def read_calculation(text: str) -> bool:
    """Evaluate a formula, without symbols and with the sizes of a model."""
    taken = False
    for names in ({}, _SIZES):
        try:
            evaluate(text, names)
            taken = True
        except InputError as error:
            show(error.problem)
    return taken


def read_terms(text: str) -> bool:
    """Check a hand count line by line. The text may be too long."""
    if problem := count_lines.problem(text):
        show(problem)
    report = hand_count.check(_MODEL, _CONFIG, count_lines.read(text, _CONFIG))
    for verdict in report.verdicts:
        if verdict.line.problem:
            show(verdict.line.problem)
    return any(verdict.is_right for verdict in report.verdicts)


def read_answer(text: str) -> bool:
    """Check the text as an answer to every exercise of a sheet."""
    verdicts = [answers.check(exercise, text, _SIZES) for exercise in sheet(1, "medium") if not exercise.options]
    for verdict in verdicts:
        for remark in verdict.remarks:
            show(Problem("", text, remark.message, dict(remark.values)))
    return any(verdict.state != "unreadable" for verdict in verdicts)


def read_pasted_text(text: str) -> bool:
    """Recognise and read pasted text of any kind, and format all messages about it."""
    try:
        reading = read_any(text)
    except InputError as error:
        for problem in error.problems:
            show(problem)
        return False
    for part in reading.sentences():
        show(part)
    assert (reading.num_parameters or 0) >= 0
    return True


def read_writeup(text: str) -> bool:
    """Check the numbers of a write-up, and export the report."""
    try:
        report = proofread(text)
    except InputError as error:
        show(error.problem)
        return False
    for claim in report.claims:
        assert 0 <= claim.start < claim.end <= len(text)
    return bool(str(report))


def read_json(text: str) -> bool:
    """Read a config.json of a built-in family."""
    try:
        reading = read_config(text_of(text.encode("utf-8", "surrogatepass")))
    except InputError as error:
        for problem in error.problems:
            show(problem)
        return False
    for remark in reading.remarks:
        show(remark)
    return True


def read_any_json(text: str) -> bool:
    """Read a config.json of any model type, without building a model."""
    try:
        config = read_pasted(text)
    except InputError as error:
        show(error.problem)
        return False
    for remark in config.remarks:
        show(remark)
    return True


def read_discovery(text: str) -> bool:
    """Read a config.json of any model type and search for its formula, for at most 15 seconds."""
    until = time.monotonic() + _PATIENCE

    def wanted() -> None:
        if time.monotonic() > until:
            raise TimeoutError

    try:
        config = read_pasted(text)
        cls = config.cls or types()[config.model_type][0]
        discover(DiscoveryRequest({**config.fields, "model_type": config.model_type}, cls), wanted=wanted)
    except InputError as error:
        show(error.problem)
        return False
    except TimeoutError:
        pass
    assert time.monotonic() < until + 5
    return True


def read_sizes(text: str) -> bool:
    """Read a class name followed by the sizes of a link to the Any model page. Then move some of the sliders."""
    name, _, written = text.rpartition(" ")
    kind, cls = name.split(" ") if name in _SIZED else ("gpt2", "GPT2LMHeadModel")
    discovery = shipped(kind, cls)
    assert discovery is not None
    try:
        sizes = size_steps.read_sizes(written)
    except InputError as error:
        show(error.problem)
        return False
    problem = size_steps.refused(discovery, sizes)
    if problem is None:
        assert 0 < discovery.count(**sizes) <= size_steps.MOST_PARAMETERS
    else:
        show(problem)
    history = size_steps.SizeHistory(discovery, {} if problem else sizes)
    for field, value in list(sizes.items())[:3]:
        history.move(field, value)
        if field in history.attempt:
            assert all(0 < size < 10**16 for size in size_steps.nearest(discovery, field, value, history.present))
        elif field in discovery.fields:
            assert history.values()[field] == value
            assert value in size_steps.stops(discovery, field, history.present)
    return problem is None


def read_model(text: str) -> bool:
    """Read the model in a link, of any family. The model that replaces an impossible one must have a link, too."""
    model, problems = chosen_model.read(dict(parse_qsl(text, keep_blank_values=True)))
    for problem in problems:
        show(problem)
    assert chosen_model.read(model.link()) == (model, [])
    assert model.model().num_parameters() > 0
    return not problems


def read_command(text: str) -> bool:
    """Run the command with a line of arguments. Any further lines are the file for ``--config``."""
    line, _, file = text.partition("\n")
    arguments = line.replace("\0", "").split()
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as errors:
        if file:
            path = Path(folder) / "config.json"
            path.write_bytes(file.encode("utf-8", "surrogatepass"))
            arguments += ["--config", str(path)]
        try:
            status: object = command(arguments)
        except SystemExit as end:  # raised by argparse: an invalid number, or --help
            status = end.code
    if status == 2:
        assert errors.getvalue().strip()
        assert len(errors.getvalue()) < 3_000
        assert not out.getvalue()
    else:
        assert status == 0
        assert out.getvalue()
    return status == 0


def read_safetensors(text: str) -> bool:
    """Read a file of weights. The text is the header if it begins with a brace, and the whole file otherwise."""
    header = text.encode("utf-8", "surrogatepass")
    raw = text[:1] != "{"
    file = header if raw else len(header).to_bytes(8, "little") + header
    try:
        tensors = read_file(file, 0 if raw else _data_bytes(text)).tensors
        model, _guessed = model_of_shapes(tensors)
    except InputError as error:
        show(error.problem)
        return False
    compare(tensors, model)
    return True


def _data_bytes(header: str) -> int:
    """Return how many bytes of data must follow a header, so that some of the drawn headers are valid."""
    try:
        end = max(entry["data_offsets"][1] for name, entry in json.loads(header).items() if name != "__metadata__")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return 0
    return end if isinstance(end, int) else 0


def read_repository(text: str) -> bool:
    """Check a repository name on the Hub. The URL of a valid name must point to a file of that repository."""
    from huggingface_hub import hf_hub_url

    name = text.strip()
    if problem := reader.check_name(name):
        show(problem)
        return False
    url = urlsplit(hf_hub_url(name, "config.json"))
    assert (url.netloc, url.path) == ("huggingface.co", f"/{name}/resolve/main/config.json")
    assert not url.query
    assert not url.fragment
    return True


def read_models(text: str) -> bool:
    """Read the models of a comparison."""
    items, wrong = model_ref.read(text)
    for refused in wrong:
        show(refused.problem)
        refused.text.encode()
    assert model_ref.read(model_ref.write(items)) == (items, [])
    for item in items:
        try:
            item.model(_MODEL).num_parameters()
        except ConfigError as error:
            show(error.problem)
    return bool(items)


def read_link(text: str) -> bool:
    """Find the problems of a link before any page is drawn."""
    rejected = link.rejections(dict(parse_qsl(text, keep_blank_values=True)))
    for name, _text, message, values in rejected:
        message.format(name=name, text="", **values).encode()
    return not rejected


def read_page(text: str) -> bool:
    """Open a link to a page, run the page to its end, and rerun it, as after a click."""
    from streamlit.testing.v1 import AppTest

    page, _, query = text.partition("?")
    app = AppTest.from_file(str(PAGES / "main.py"), default_timeout=600)
    parameters: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        parameters.setdefault(name, []).append(value)
    app.query_params.update(parameters)
    app.run()
    if page in _addresses():
        app.switch_page(f"{page}.py")
    app.run()
    assert not app.exception, app.exception[0].stack_trace
    return not app.text


def read_text(text: str) -> bool:
    """Escape untrusted text for Markdown and other formats: it must contain no markup, and be read back unchanged."""
    for write in (code, literal):
        markdown = read(f"a $x$ {write(text)}, {code(text)}")
        assert not markdown.made
        assert markdown.code[-1:] in ([visible(text)], [f'"{visible(text)}"'])
    math, name = Math("x"), Code(markdown.code[-1])
    assert plain(f"a $x$ {code(text)}, {code(text)}") == ("a ", math, " ", name, ", ", name)
    check_name(text)
    return literal(text) == text


def read_place(text: str) -> bool:
    """Enter untrusted text in one of the places that accept it. Check what the page shows and exports."""
    place, _, payload = text.partition("?")
    if place not in PLACES:
        place = list(PLACES)[len(text) % len(PLACES)]
    if place not in _OPEN:
        _OPEN[place] = opened(place)
    try:
        _OPEN[place] = PLACES[place](_OPEN[place], payload)
        return check(_OPEN[place]) > 0
    except Exception:
        del _OPEN[place]
        raise


_OPEN: dict[str, Any] = {}  # open pages by place; they stay open, as in a browser


def _addresses() -> list[str]:
    return sorted(path.stem for path in PAGES.glob("*.py") if path.stem != "main")


def _sizes_of(name: str) -> dict[str, int]:
    """The sizes of a class in ``_SIZED``."""
    discovery = shipped(*name.split(" "))
    assert discovery is not None
    return discovery.fields


def _own_fields(family: Family) -> dict[str, object]:
    """The editable values of a family's first preset, keyed by the family's own field names."""
    model = chosen_model.ChosenModel().reset(next(iter(family.presets)))
    return {model.config.own_name(name): value for name, value in model.values().items()}


def _links_of_models() -> list[str]:
    """Links with every preset and every field of every family."""
    whole = [urlencode(_own_fields(family)) for family in FAMILIES.values()]
    return [*whole, *(f"preset={name}&num_hidden_layers=3" for name in PRESETS)]


def _lines() -> list[str]:
    """Arguments of ``python -m bertcalc`` with every preset, field and class, and files of every family."""
    lines = ["--help", "--batch-size 32 --sequence-length 64 --json", "bert-base-uncased --hidden-size=1024"]
    for family in FAMILIES.values():
        [(preset, start), *_more] = family.presets.items()
        fields = [f"--{name.replace('_', '-')} {value}" for name, value in vars(start.config).items()]
        lines += [f"{preset} {' '.join(fields)}", *(f"{preset} {field} --json" for field in fields)]
        lines += [f"--architecture {cls.name} --json" for cls in family.classes]
        lines.append(f"--json --vocab-size 8192\n{write_config(Model(start.config, family.base.name))}")
    return lines


def _large_lines() -> Iterator[str]:
    """Arguments for the largest possible models with large batches, and the largest files."""
    for family in list(FAMILIES.values())[::5]:
        config = next(iter(family.presets.values())).config
        limits = {config.own_name(field): most for field, (_least, most) in DIMENSIONS.items() if config.has(field)}
        fields = " ".join(f"--{name} {most}" for name, most in limits.items())
        yield f"{next(iter(family.presets))} {fields} --batch-size 1000000 --json"
    yield f"--hidden-size {'9' * 100_000}"
    yield f"{'bert-base-' * 10_000}"
    yield " ".join(f"--hidden-size{number} 1" for number in range(10_000))
    yield from (f"--json\n{file}" for file in _large_json())


_FILES = [
    write_config(Model(next(iter(family.presets.values())).config, family.base.name)) for family in FAMILIES.values()
]
_DISCOVERED = (
    '{"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "vocab_size": 100}',
    '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2, "head_dim": 16}',
    '{"model_type": "clip", "text_config": {"num_hidden_layers": 2}, "vision_config": {"num_hidden_layers": 2}}',
    '{"model_type": "t5", "num_layers": 2, "d_model": 64, "num_heads": 4, "is_encoder_decoder": true}',
    '{"model_type": "mixtral", "num_hidden_layers": 2, "num_local_experts": 4, "layer_types": ["full_attention"]}',
    '{"model_type": "detr", "backbone": "resnet50", "use_timm_backbone": false, "backbone_config": {"depths": [1]}}',
    '{"model_type": "swin", "depths": [2, 2], "num_heads": [3, 6], "image_size": 64, "window_size": 7}',
    '{"model_type": "encoder-decoder", "encoder": {"model_type": "bert"}, "decoder": {"model_type": "gpt2"}}',
)
_HOSTILE = (
    '"auto_map": {"AutoConfig": "evil/evil--evil.Evil"}',
    '"torch_dtype": "os.system"',
    '"dtype": "evil"',
    '"attn_implementation": "evil/evil"',
    '"_attn_implementation": "kernels-community/evil"',
    '"_name_or_path": "/etc/passwd"',
    '"name_or_path": "https://evil.example/x"',
    '"quantization_config": {"quant_method": "gptq"}',
    '"backbone": "/etc"',
    '"backbone": "evil/evil"',
    '"use_pretrained_backbone": true',
    '"vocab_file": "/etc/passwd"',
    '"num_hidden_layers": 2000',
    '"vocab_size": 999999999',
    '"hidden_size": 999999999',
    '"n_embd": -1',
    '"n_layer": "12"',
    '"rope_scaling": {"type": "evil", "factor": 1e308}',
    '"id2label": {"0": "a", "1": "b"}',
    '"layer_types": ["evil"]',
    '"hidden_act": "evil"',
    '"model_type": "gpt2", "model_type": "bert"',
    '"is_decoder": true, "add_cross_attention": true',
    '"image_size": [1, 2, 3]',
    '"__class__": "evil"',
    '"to_dict": 1',
    '"sub_configs": {}',
    '"attribute_map": {"hidden_size": "vocab_size"}',
    '"num_labels": 999999',
    '"\\u202e": 1',
    ": null",
    ": NaN",
    ": 1e400",
    ": []",
    ": {}",
    ": true",
    ": -1",
    ": 0",
    ": 1.5",
    ", ",
)


def _names_of_link() -> list[str]:
    """Every parameter that a link can have, with values that are possible for some parameters."""
    values = {
        Number: ("0", "1", "7", "512", "65536", "999999999999999", "-5"),
        Switch: ("true", "false"),
        Fold: ("true", "false"),
        Decimal: ("0.5", "1e-300", "-1", "nan"),
        Text: ("",),
    }
    return [
        f"&{name}={value}"
        for name, control in sorted(CONTROLS.items())
        for value in (control.options if isinstance(control, Select) else values[type(control)])
    ]


def _header(config: Config) -> str:
    """The safetensors header of a model's file."""
    end, tensors = 0, {}
    for name, shape in Model(config).named_parameters():
        begin, end = end, end + 4 * prod(shape)
        tensors[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}
    return json.dumps(tensors)


def _large_json() -> Iterator[str]:
    """JSON files of various structures, up to the maximum length."""
    yield "[" * 999_999
    yield '{"a":' * 199_999
    yield "[" + "1," * 499_000 + "1]"
    yield '{"hidden_size": ' + "9" * 4_299 + "}"
    yield '{"hidden_size": 1e' + "9" * 900_000 + "}"
    yield json.dumps({f"k{number}": number for number in range(60_000)})
    yield json.dumps({"id2label": {str(number): "" for number in range(60_000)}})
    yield json.dumps({"architectures": ["x"] * 190_000})
    yield json.dumps({"model_type": [[]] * 190_000})
    yield '"' + "\\ud800" * 160_000 + '"'
    yield " " * 1_000_001


def _large_headers() -> Iterator[str]:
    """Headers of various structures, up to the maximum length, and the length of a header that is missing."""
    empty = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
    yield json.dumps({f"t{number}": empty for number in range(60_000)})
    yield json.dumps({f"encoder.layer.{number}.x": empty for number in range(50_000)})
    yield json.dumps({"x" * 3_900_000: empty})
    yield json.dumps({"t": {**empty, "shape": [2**62] * 64}})
    yield json.dumps({"t": {**empty, "shape": [2**62] * 400_000}})
    yield '{"a":' * 700_000
    yield json.dumps({"__metadata__": {f"k{number}": "v" for number in range(200_000)}})
    yield (10**18).to_bytes(8, "little").decode("latin-1")
    config = BertConfig(num_hidden_layers=1_000)
    yield _header(config)


def _large_terms() -> Iterator[str]:
    """The lines that are slowest to search, up to the maximum number of lines and beyond."""
    for name in ("", "attention", "LayerNorm", "model", "*"):
        yield "\n".join(f"{name} = {109_482_241 + 7 * line}" for line in range(40))
        yield "\n".join(f"{name} = L*4*H*H + {line + 1}*H + 12345" for line in range(500))
    yield "=" * 4_000
    yield "a" * 1_000_000


def _large_links() -> Iterator[str]:
    """Links far longer than an address can be: they arrive over the WebSocket.

    Streamlit ignores a thousand parameters.
    """
    yield "&".join(f"hiden_size{number}=1" for number in range(1_000))
    yield "&".join(f"{name}{name}=1" for name in link.KNOWN)
    yield f"{'hidden_size' * 100_000}=1"
    yield f"preset={'bert-base-' * 100_000}"
    yield "&".join(f"{name}={'ab' * 20_000}" for name in link.KNOWN)


def _large_pages() -> Iterator[str]:
    """Links to every page with the largest possible model."""
    limits = "&".join(f"{field}={most}" for field, (_least, most) in DIMENSIONS.items())
    for name in _addresses():
        yield f"{name}?{limits}&batch_size=65536&sequence_length=1000000&is_decoder=true&add_cross_attention=true"
    changes = "~".join(f"{field}-{most}" for field, (_least, most) in DIMENSIONS.items())
    for view in VIEW.options:
        yield f"compare?compare={view}&models={'+'.join(f'{name}~{changes}' for name in list(PRESETS)[:12])}"


_FORMULAS = (
    "768*3072 + 3072",
    "4H^2 + 9H",
    "2^20 / 4",
    "12 × (1,024 + 1)",
    "4H² + 2HI + 9H + I",
    "((((1))))",
    "2^2^2^2",
)
_AMOUNTS = (
    "110M",
    "1.1e8",
    "22.4 GFLOPs",
    "16 GiB",
    "75,641,856",
    "30 million parameters",
    "1.1亿",
    "437.9 MB",
    "7e-3k",
)
_LINKS = (
    "?preset=bert-large-uncased&vocab_size=21128&architecture=BertForMaskedLM&lang=zh",
    "layers?step=encoder.layer.*.attention.self.softmax&layer=5&sequence_length=512",
    "explain?number=110M",
    "explain?explain=terms&terms=attention = L * 4 * H * H",
    "exercises?seed=7&level=easy&exercise=3",
    "compare?models=bert-base-uncased~vocab_size-21128 present&compare=table",
    "design?target_parameters=30M&budget_of=FLOPs",
    "outputs?output_attentions=true&labels=true&use_cache=false",
    "memory?optimizer=adamw&training_dtype=bf16",
    "sweep?sweep=map",
    "any_model?model_type=gpt2&sizes=n_layer-48~n_embd-1600~n_head-25&part=transformer.h.*.attn",
    "any_model?model_type=llama&model_class=LlamaForCausalLM&sizes=num_hidden_layers-40&any_bring=true&proof=true",
    "structure?preset=electra-small-discriminator&freeze_layers=3&embedding_size=64",
    "?preset=gpt2&n_layer=24&architecture=GPT2LMHeadModel&n_inner=4096",
    "compute?preset=answerdotai/ModernBERT-base",
    "compare?compare=glance",
    "bring?bring=hub&repo_id=google-bert/bert-base-uncased",
)
_TERMS = [example.terms for example in EXAMPLES.values()]
_WRITEUPS = (
    "# How large is BERT?\n\nBERT-base has 12 layers of 768, so 30522 × 768 = 23,440,896, about 110M in all.",
    "<table><tr><td>attention</td><td>2,362,368</td></tr></table> 合计 1.1 亿个参数，每层 $4H^2 + 9H$。",
)

_MARKDOWN = (":red[", "](//evil)", "www.evil.", "https://evil.", "@evil.", "```", "\\|", "\n\n", "$$", "<b>", "&#62;")

KINDS: dict[str, Kind] = {
    "amount": Kind(read_amount, 0.02, _AMOUNTS, ("k", "MiB", "B", "亿", "e", "bytes", "FLOPs", " ", ",", "_")),
    "calculation": Kind(read_calculation, 0.05, _FORMULAS, ("(", ")", "^", "**", "H", "x", "/0", "-", "9999999999")),
    "count": Kind(read_count, 1, (*_AMOUNTS, "109,482,240", "109,089,024", "334,607,104"), ("000", ",", "0", "5")),
    "terms": Kind(
        read_terms, 2, _TERMS, ("attention", "\n", " = ", "H*H", "LayerNorm", "12", "层", "total", "q"), _large_terms
    ),
    "pasted text": Kind(
        read_pasted_text,
        20,
        [*(example() for example in PASTED.values()), str(_MODEL), *_WRITEUPS, *_AMOUNTS, *_FORMULAS, *_TERMS],
        (
            "torch.Size([",
            "(a): B(\n",
            "Layer (type) Param #",
            "{",
            "```",
            "...",
            "<br>",
            "\\n",
            ")",
            "│",
            "layer_0/",
            ".0.",
        ),
        lambda: (write() for write in HOSTILE.values()),
    ),
    "write-up": Kind(
        read_writeup,
        20,
        _WRITEUPS,
        ("768", " × ", " = ", "M", "$", "|", "\n", "<td>", "参数", "layers", "attention", "%"),
        lambda: (write()[:100_000] for write in HOSTILE.values()),
    ),
    "answer": Kind(read_answer, 1, (*_FORMULAS, *_AMOUNTS, "768 × 3072", "(2, 3)"), ("x", "×", ",", "B", "H", "^")),
    "config.json": Kind(
        read_json,
        1,
        (
            *(json.dumps(vars(preset.config) | {"model_type": "bert"}, indent=1) for preset in PRESETS.values()),
            *_FILES,
            '{"architectures": ["BertForMaskedLM"], "id2label": {"0": "a"}, "hidden_size": 770}',
        ),
        ('"hidden_size": ', '"vocab_size": ', "[[", "{" * 50, '"id2label": {"0": 1}', "1e9", "-1", "2.5", "[]"),
        _large_json,
    ),
    "any config.json": Kind(
        read_any_json,
        1,
        (
            '{"model_type": "gpt2", "n_embd": 1600, "n_layer": 48, "architectures": ["GPT2LMHeadModel"]}',
            '{"model_type": "clip", "text_config": {"hidden_size": 8}, "vision_config": {"layer_types": ["a", "b"]}}',
            '{"architectures": ["T5Model"], "id2label": {"0": "a"}, "num_layers": 3, "is_encoder_decoder": true}',
        ),
        (
            '"num_layers": ',
            "[[",
            "{" * 9,
            '"auto_map": {}',
            "1e9",
            "-1",
            "2.5",
            "[]",
            '"_x": ',
            "99999999999",
            '"model_type": ',
        ),
        _large_json,
    ),
    "discovery": Kind(read_discovery, 2, _DISCOVERED, _HOSTILE),
    "sizes": Kind(
        read_sizes,
        2,
        (
            "n_layer-48~n_embd-1600~n_head-25",
            "vocab_size-21128",
            "text_config.hidden_size-8~block_sizes[0]-3",
            *(f"{name} {size_steps.write_sizes(_sizes_of(name))}" for name in _SIZED),
        ),
        ("~", "-", "n_embd-", "n_head-0", "0", "9999", "[0]", ".", *(f"{name} " for name in _SIZED)),
    ),
    "safetensors": Kind(
        read_safetensors,
        5,
        [
            _header(BertConfig(num_hidden_layers=1, hidden_size=12)),
            '{"a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}}',
        ],
        ('"data_offsets": ', '"shape": [', "[0, 0]", '"dtype": "F64"', "9223372036854775807", '"__metadata__": {}'),
        _large_headers,
    ),
    "repository": Kind(
        read_repository,
        0.02,
        ("google-bert/bert-base-uncased", "bert-base-uncased", "prajjwal1/bert-tiny"),
        ("../", "https://", "file:///etc/passwd", "//evil.example", "@", "%2F", "a" * 97, ".git", "--", "main", "C:\\"),
    ),
    "models": Kind(
        read_models,
        1,
        ("bert-base-uncased~vocab_size-21128 present", "bert-large-uncased~architecture-BertForMaskedLM~num_labels-3"),
        ("~", "-", " ", *FIELDS, *list(PRESETS)[:5], "none", "true", "1e400", "999999999999999"),
        lambda: iter(("~" * 8_000, "a " * 4_000, "present~x-" * 800, "present " * 1_000, "p" * 1_000_000)),
    ),
    "model": Kind(read_model, 1, _links_of_models(), _names_of_link()),
    "command": Kind(
        read_command,
        12,  # a thousand layers, each simulated
        _lines(),
        (
            "--",
            " ",
            "=",
            "\n",
            "--config",
            "--json",
            "-h",
            *(f" --{name} " for name in FIELDS),
            *list(PRESETS)[:9],
        ),
        _large_lines,
    ),
    "text": Kind(read_text, 0.5, PAYLOADS, _MARKDOWN),
    "place": Kind(read_place, 10, [f"{place}?{text}" for place in PLACES for text in PAYLOADS], _MARKDOWN),
    "link": Kind(read_link, 1, [text.partition("?")[2] for text in _LINKS], _names_of_link(), _large_links),
    "page": Kind(
        read_page,
        10,
        (*_LINKS, *(f"{name}?layer=2" for name in _addresses())),
        (*(f"{name}?" for name in _addresses()), *_names_of_link()),
        _large_pages,
    ),
}


class Outcome(NamedTuple):
    """The result of fuzzing one kind of input.

    It holds the numbers of inputs tried and accepted, an input for each fault, and (seconds, input) pairs of the
    slowest inputs.
    """

    tried: int
    taken: int
    faults: dict[str, str]
    slowest: list[tuple[float, str]]


def fuzz(kind: Kind, random: Random, seconds: float = math.inf, most: int | None = None) -> Outcome:
    """Try the large inputs first, then mutated inputs until the time is up or ``most`` inputs have been tried."""
    kind.read(kind.seeds[0])  # loads the reader's imports before anything is timed
    mutator = Mutator(random, kind.seeds, kind.words)
    until, tried, taken = time.monotonic() + seconds, 0, 0
    faults: dict[str, str] = {}
    slow: list[tuple[float, str]] = []
    for text in chain(kind.large(), (mutator.draw() for _number in repeat(None))):
        if tried == most or time.monotonic() > until:
            break
        tried += 1
        began = time.process_time()
        try:
            taken += kind.read(text)
        except Exception:
            where = traceback.format_exc().strip().splitlines()
            faults.setdefault("\n".join(where[-3:])[:1_000], text)
        took = time.process_time() - began
        if took > kind.seconds:
            faults.setdefault(f"{took:.2f} seconds", text)
        slow = nlargest(5, [*slow, (took, text)])
    return Outcome(tried, taken, faults, slow)


def peak(kind: Kind, text: str) -> int:
    """Return the peak of the bytes allocated while reading a text, without the text itself."""
    tracemalloc.start()
    with suppress(Exception):
        kind.read(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main() -> None:
    """Fuzz the kinds of input named on the command line. Print a line for each kind, and its faults."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="kind", help=", ".join(KINDS))
    parser.add_argument("--minutes", type=float, default=1, help="for each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if unknown := set(options.kinds) - KINDS.keys():
        parser.error(f"no such kind: {', '.join(unknown)}")
    logging.disable(logging.WARNING)  # Streamlit warns that there is no browser
    wrong = False
    for name in options.kinds or KINDS:
        outcome = fuzz(KINDS[name], Random(options.seed), 60 * options.minutes)
        took, text = outcome.slowest[0]
        most = max(peak(KINDS[name], text) for _took, text in outcome.slowest)
        print(
            f"{name}: {outcome.tried:,} tried, {outcome.taken:,} taken, {len(outcome.faults)} faults, "
            f"slowest {took * 1000:,.1f} ms ({len(text):,} characters: {text[:60]!r}), peak {most / 1e6:,.1f} MB",
            flush=True,
        )
        for where, text in outcome.faults.items():
            print(f"  {where}\n  from {text[:2_000]!r}", flush=True)
        wrong = wrong or bool(outcome.faults)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
