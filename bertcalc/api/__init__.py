"""The public functions and the public Model: load a model, and get its counts and formulas.

>>> bert = load("bert-base-uncased")
>>> bert.num_parameters()
109482240
>>> bert.replace(num_hidden_layers=24).num_parameters()
194536704
>>> bert.formula("encoder.layer.*")
4H² + 2HI + 9H + I

Methods and functions import slow modules, above all SymPy, only when they need them.
"""

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, overload

from bertcalc import families
from bertcalc.compute.flops import forward_flops, training_flops
from bertcalc.config import Config
from bertcalc.memory.peak import inference_peak_bytes, training_peak_bytes
from bertcalc.memory.saved import saved_activation_bytes
from bertcalc.model import model as core
from bertcalc.model.batch import Batch
from bertcalc.model.change import Change
from bertcalc.storage.model_file import file_bytes, quantized
from bertcalc.text import shorten
from bertcalc.text.arguments import Single, check_of, checked, method, quoted, single_model
from bertcalc.text.problem import InputError, Problem, wrong
from bertcalc.text.suggestions import nearest

if TYPE_CHECKING:
    from bertcalc.api.model_comparison import ModelComparison
    from bertcalc.diagnosis.explain import Explanation
    from bertcalc.diagnosis.number_meanings import Meanings
    from bertcalc.discover.results.result import Discovered
    from bertcalc.model.formula import Formula
    from bertcalc.proofreading.claims import Proofread
    from bertcalc.reading.text_reading import Kind, TextReading
    from bertcalc.widget import FormulaWidget
else:  # ``checked`` evaluates annotations at runtime, which must not import these slow modules
    Explanation = Discovered = Formula = Kind = Meanings = ModelComparison = Proofread = TextReading = Any
    FormulaWidget = Any

_SHADOWED = "{name} is read as the preset, not as the file or folder of that name here: write ./{name} to read it."
NO_FORMULAS = "Formulas need SymPy, which is not installed: pip install sympy."
_NO_WIDGET = "A widget needs anywidget and SymPy, which are not both installed: pip install anywidget sympy."
_OTHERS = "bertcalc.infer finds the formula of any class of transformers."
_NO_DISCOVERY = (
    "No formula for {model} comes with bertcalc, and inferring one needs PyTorch and transformers: "
    "pip install torch transformers."
)


class Model(core.Model):
    """A model: a configuration, its class, and the tree of its modules.

    ``load`` and ``build`` create models. Methods accept a batch as ``batch_size`` and ``sequence_length``, and return
    numbers of parameters, FLOPs or bytes. Notebooks show the modules with their parameters.

    >>> bert = load("bert-base-uncased")
    >>> bert.config.hidden_size, bert.architecture
    (768, 'BertModel')
    >>> for name, module, copies in bert.get_submodule("encoder.layer.0").named_children(folded=True):
    ...     print(name, module.num_parameters())
    attention 2363904
    intermediate 2362368
    output 2361600
    """

    # The methods of the core skip argument checks for speed; the public methods have them.
    num_parameters = checked(core.Model.num_parameters)
    own_parameters = checked(core.Model.own_parameters)
    named_parameters = checked(core.Model.named_parameters)
    named_children = checked(core.Model.named_children)
    modules = checked(core.Model.modules)
    tensors = checked(core.Model.tensors)
    ties = checked(core.Model.ties)
    printed_lines = checked(core.Model.printed_lines)
    flops = method(forward_flops, "flops")
    training_flops = method(training_flops, "training_flops")
    training_peak_bytes = method(training_peak_bytes, "training_peak_bytes")
    inference_peak_bytes = method(inference_peak_bytes, "inference_peak_bytes")
    saved_activation_bytes = method(saved_activation_bytes, "saved_activation_bytes")
    file_bytes = method(file_bytes, "file_bytes")
    quantized = method(quantized, "quantized")

    @checked
    def formula(self, path: str = "") -> Formula:
        """The formula for the number of parameters of the whole model or of the module at ``path``.

        ``path`` is a module's name without the body's prefix; ``encoder.layer.*`` is a single layer. Needs SymPy:
        raises ImportError without it. Raises UnknownNameError if there is no such module.

        >>> load("bert-base-uncased").formula("pooler")
        H² + H
        """
        if not find_spec("sympy"):
            raise ImportError(NO_FORMULAS)
        from bertcalc.model.formula import formula

        return formula(self, path=path)

    @overload
    def explain(self, number: int) -> list[Explanation]: ...

    @overload
    def explain(self, number: str) -> Meanings: ...

    @checked
    def explain(self, number: Any) -> list[Explanation] | Meanings:
        """Explain a number by the mistakes that lead to it, or a text by the possible meanings of its number.

        For an int, a number of parameters, the result is the shortest sets of mistakes that lead to it, the likeliest
        first. For a text, such as "453,634,720 bytes", "110M", "178.79 GMACs" or "which vocabulary gives 109,482,240?",
        the result has the likeliest meanings; ``str`` gives sentences. Raises InputError if the text is not a valid
        amount or question (with no number or several numbers, for example), and ArgumentError for a negative number and
        for a model of columns.

        >>> load("bert-base-uncased").explain(108_891_648)
        [(Cause(miscount='pooler', amount=-590592),)]
        >>> print(load("bert-base-uncased").explain("85,054,464"))
        85,054,464 is the count of all 12 layers.
        """
        if isinstance(number, str):
            from bertcalc.diagnosis.number_meanings import meanings_of

            return meanings_of(self, number)
        single_model("explain()", self)
        return self._mistakes(number)

    @checked
    def _mistakes(self, number: Single) -> list[Explanation]:
        from bertcalc.diagnosis.explain import explain

        return explain(self, self.config, number)

    @checked
    def compare(
        self, other: core.Model, quantity: str = "parameters", *, batch_size: Single = 1, sequence_length: Single = 128
    ) -> ModelComparison:
        """The difference between this model and another, as a sum over the fields that differ.

        Accepts the same arguments and raises the same errors as ``bertcalc.compare``.

        >>> load("bert-base-uncased").compare(load("bert-large-uncased"), "forward", sequence_length=512).difference
        238371602432
        """
        return compare(self, other, quantity, batch_size=batch_size, sequence_length=sequence_length)

    @checked
    def replace(
        self, /, *, architecture: str | None = None, add_pooling_layer: bool | None = None, **fields: Any
    ) -> "Model":
        """A copy with different configuration fields, or with a different class of the same family.

        ``architecture`` and ``add_pooling_layer`` are the same as in ``load``. ``fields`` are fields of the
        configuration, under the family's own names or BERT's. Changes, such as adapters, are kept.

        Raises ConfigError for a field that the configuration does not have and for invalid values, UnknownNameError for
        a class that the family does not have, and ArgumentError for a model of columns.

        >>> load("bert-base-uncased").replace(num_hidden_layers=24).num_parameters()
        194536704
        >>> load("bert-base-uncased").replace(architecture="BertForTokenClassification", num_labels=9)
        <BertForTokenClassification: 108,898,569 parameters>
        """
        if fields:
            single_model("replace()", self)
        config = replace(self.config, **fields) if fields else self.config
        if add_pooling_layer is None:
            return self.changed(config, architecture)
        model = build(config, architecture or self.architecture, add_pooling_layer=add_pooling_layer)
        return model.changed(changes=self.changes)

    @checked
    def interactive_page(self, url: str = "") -> str:
        """A single HTML file with sliders, the formula and bars, which needs no server.

        ``url`` is the address to which the page links; "" means no link. Needs SymPy. Raises ArgumentError for a model
        of columns.

        >>> page = load("bert-base-uncased").interactive_page()
        >>> page.startswith("<!DOCTYPE html>"), len(page) < 100_000
        (True, True)
        """
        single_model("interactive_page()", self)
        from bertcalc.charts.colors import COLORS
        from bertcalc.export.formula_page import interactive_page

        return interactive_page(self, COLORS["light"], url=url)

    @checked
    def adapted(self, adapter: Change) -> "Model":
        """A copy with an adapter or another change.

        Adapters have peft's arguments: ``Lora``, ``IA3``, ``PromptTuning``, ``PrefixTuning``, ``PromptEncoder``,
        ``LNTuning`` and ``BitFit``. Other changes must come before an adapter: ``ResizeVocabulary``, ``DropLayers``,
        ``PruneHeads``, ``NarrowFeedForward`` and ``FactorizeEmbeddings``. Raises InputError if the change is not
        possible.

        >>> from bertcalc import Lora
        >>> bert = load("bert-base-uncased", "BertForSequenceClassification")
        >>> bert.adapted(Lora(r=8, target_modules=["query", "value"], task_type="SEQ_CLS")).num_parameters()
        109780228
        """
        kind: Any = type(adapter)
        return self.changed(changes=(*self.changes, check_of(kind)("adapter", adapter)))

    @checked
    def trainable_formula(self) -> Formula:
        """The formula for the number of trained parameters.

        Needs SymPy: raises ImportError without it.

        >>> from bertcalc import Lora
        >>> bert = load("bert-base-uncased")
        >>> bert.adapted(Lora(r=8, target_modules=["query", "value"])).trainable_formula()
        4HLr
        """
        if not find_spec("sympy"):
            raise ImportError(NO_FORMULAS)
        from bertcalc.model.formula import trained_formula

        return trained_formula(self)

    @property
    def trainable_parameters(self) -> int:
        """The number of trained parameters: all parameters, unless an adapter froze some.

        >>> from bertcalc import Lora
        >>> load("bert-base-uncased").adapted(Lora(r=8, target_modules=["query", "value"])).trainable_parameters
        294912
        """
        return self.num_parameters(only_trainable=True)

    @checked
    def widget(self) -> FormulaWidget:
        """The interactive page as a notebook widget; its ``model`` attribute is the model that the sliders show.

        Needs anywidget and SymPy (the extra "widget"): raises ImportError without them. Raises ArgumentError for a
        model of columns.

        >>> shown = load("bert-base-uncased").widget()  # the last line of a notebook's cell
        >>> shown.model.num_parameters()
        109482240
        """
        single_model("widget()", self)
        if not (find_spec("anywidget") and find_spec("sympy")):
            raise ImportError(_NO_WIDGET)
        from bertcalc.widget import FormulaWidget

        return FormulaWidget(self)

    def _repr_html_(self) -> str | None:
        return self._repr_mimebundle_().get("text/html")

    def _repr_mimebundle_(self, **_options: object) -> dict[str, str]:
        from bertcalc.api.notebook import mime_bundle

        return mime_bundle(self)


@checked
def load(source: Any, architecture: str | None = None, *, add_pooling_layer: bool = True) -> Model:
    """Load a model from a description, without reading weights.

    ``source`` is a preset or its name on the Hub ("FacebookAI/roberta-base"), the path of a config.json or of its
    folder, the content of a config.json as a dictionary, or a configuration object of bertcalc or transformers.
    ``architecture`` is the class, such as "BertForMaskedLM"; the default is the class that the source names or,
    if it names none, the body's class. ``add_pooling_layer`` is an option of the body's class.

    A preset takes precedence over a file or folder with the same name, with a warning. To read the folder, write
    "./bert-base-uncased".

    Raises InputError if the source cannot be read. Warns about keys in a config.json that are ignored but may change
    the count.

    >>> load("FacebookAI/roberta-base").num_parameters()
    124645632
    >>> load({"model_type": "bert", "num_hidden_layers": 6}, "BertForMaskedLM")
    <BertForMaskedLM: 66,987,066 parameters>
    """
    if isinstance(source, Config) or (isinstance(source, str) and families.preset_named(source)):
        if isinstance(source, str) and any(map(os.path.isfile, (source, os.path.join(source, "config.json")))):
            warn_of([Problem.of(_SHADOWED, name=shorten(source))])
        return build(source, architecture, add_pooling_layer=add_pooling_layer)
    from bertcalc.api.sources import described

    try:
        model = described(source)
    except InputError as error:
        raise of_another_type(error, _OTHERS) from None
    warn_of(model.doubts)
    return build(model.config, architecture or model.architecture, add_pooling_layer=add_pooling_layer)


def of_another_type(error: InputError, more: str) -> InputError:
    """Extend the error for a config.json with an unsupported model type.

    The new message suggests the nearest type or, if there is none, appends ``more``. Other errors are returned
    unchanged.
    """
    from bertcalc.families import hf_json  # imported here, because the import is slow

    if not hf_json.is_of_another_type(error.problems):
        return error
    problem = error.problem
    if problem.field == "model_type" and isinstance(problem.value, str) and (near := _nearest_type(problem.value)):
        message = "model_type {value} is unknown: did you mean {nearest}?"
        return wrong(message, "model_type", problem.value, value=quoted(problem.value), nearest=near)
    return wrong("{error} {more}", error=str(error), more=more)


def _nearest_type(model_type: str) -> str | None:
    """The transformers model type most similar to a name; None if the name is a type or SymPy is not installed."""
    try:
        from bertcalc.discover.results.types import types
    except ImportError:  # SymPy is not installed
        return None
    options = {*families.FAMILIES, *types()}
    return None if model_type in options else nearest(model_type, options)


def warn_of(doubts: Iterable[Problem]) -> None:
    """Show ``doubts`` as warnings, which point to the caller of the public function that called ``warn_of``."""
    for doubt in doubts:
        warnings.warn(str(doubt), UserWarning, stacklevel=4)


@checked
def build(config: Config | str, architecture: str | None = None, *, add_pooling_layer: bool = True) -> Model:
    """Build the model of a Hugging Face class, for instance ``build(BertConfig(), "BertForMaskedLM")``.

    ``config`` can also be the name of a preset: "bert-base-uncased", or "FacebookAI/roberta-base". The default
    ``architecture`` is the body's class (BertModel). Only the body's class has the option ``add_pooling_layer``.

    Raises InputError if there is no such preset, or if the configuration's family has no class with this name. Raises
    ConfigError if transformers refuses to build the class with this configuration. Raises ArgumentError, which is a
    TypeError, if ``add_pooling_layer`` is False for any other class; transformers raises TypeError as well.

    >>> build("bert-base-uncased", add_pooling_layer=False).num_parameters()
    108891648
    """
    return Model.build(config, architecture, add_pooling_layer=add_pooling_layer)


@checked
def read(text: str, kind: Kind | None = None, *, model: core.Model | None = None) -> TextReading:
    """Read a pasted text: recognize its kind, count its parameters, and compare it with the model that it describes.

    A text is a number, a calculation, a hand count, an article, a config.json, the output of ``print(model)``, a
    listing of names and shapes, a summary from Keras, torchinfo or torchsummary, an index or a header of safetensors
    files, or an adapter_config.json, of at most 1,000,000 characters. ``kind`` overrides the recognized kind:
    "printed-model", "listing", and so on (``bertcalc.reading.text_reading.KINDS``). Numbers and hand counts are
    explained with ``model``, by default BERT-base. Nothing in the text is executed.

    The result has ``model``, ``num_parameters``, ``possible_counts`` and the differences ``missing`` and
    ``additional``; ``str`` gives all of them as sentences. For a config.json of an unsupported type, such as Llama's,
    the count comes from the formula for its class that is shipped with bertcalc, if there is one (this needs SymPy).
    Raises InputError if the text cannot be read as this kind.

    >>> print(read("fc.weight torch.Size([2, 768])\\nfc.bias torch.Size([2])"))
    Read as: a listing of 2 tensors.
    The text describes 1,538 parameters.
    """
    try:
        from bertcalc.discover.results.other_config import read_any as read_text
    except ImportError:  # SymPy is not installed
        from bertcalc.reading.read_text import read as read_text

    reading = read_text(text, kind, model)
    if reading.model is None:
        return reading
    return replace(reading, model=Model(*reading.model.__reduce__()[1]))


@checked
def proofread(text: str, model: core.Model | None = None) -> Proofread:
    """Check every number and calculation of a write-up: lecture notes, an article, a notebook.

    ``text`` is Markdown, HTML, LaTeX, a notebook (.ipynb) or plain text of up to 100,000 characters, in English or
    Chinese. ``model`` is the model that the text describes; by default, it is recognized from the text.

    The result has ``claims``. Each claim has ``start`` and ``end`` (positions in the text), ``value``, ``verdict``
    ("right", "wrong", "conditional" or "unknown"), ``right_value`` and ``reason``. ``str`` gives the result as
    sentences; ``html()`` and ``markdown()`` return the text with marked claims.

    Raises InputError if the text is too long.

    >>> for claim in proofread("BERT-base: the attention of one layer has 4*768*768 = 2,359,296 parameters.").claims:
    ...     print(claim)
    ✗ "4*768*768 = 2,359,296": 2,362,368 is right for attention of one layer. The mistake: the biases of the attention \
are left out.
    """
    from bertcalc.proofreading.proofread import proofread

    return proofread(text, model)


@checked
def compare(
    first: core.Model,
    second: core.Model,
    quantity: str = "parameters",
    *,
    batch_size: Single = 1,
    sequence_length: Single = 128,
) -> ModelComparison:
    """The difference between two models, as a sum over the fields that differ and, last, the models' changes.

    ``quantity`` is "parameters", the parameters of a component ("embeddings", "encoder", "pooler", "head"), FLOPs
    ("forward", "training") or bytes ("weights", "activations", "training_memory", "inference_memory"). FLOPs and bytes
    are for a batch in float32; training uses AdamW. Memory peaks need SymPy.

    The result is a table with ``rows`` and ``difference``. Raises UnknownNameError for any other quantity,
    ArgumentError for a model of columns or a sequence longer than a model's maximum, and InputError if a model cannot
    run or its memory is not simulated.

    >>> compare(load("bert-base-uncased"), load("bert-large-uncased")).difference
    225659648
    """
    from bertcalc.api.model_comparison import compared

    return compared(first, second, quantity, Batch(batch_size, sequence_length))


@checked
def infer(
    model_type: str,
    cls: str | None = None,
    changes: Mapping[str, Any] | None = None,
    *,
    flops: bool = False,
    seconds: float = 60.0,
) -> Discovered:
    """Infer the formula of any transformers class, such as ``infer("bloom", "BloomForCausalLM")``.

    Formulas of common classes at their default configurations are shipped with bertcalc and need only SymPy. Any other
    formula is inferred by building the real class at many sizes. This needs PyTorch and transformers, and takes up to
    ``seconds``. The default ``cls`` is the base model of the type. ``changes`` are fields that differ from the default
    configuration. With ``flops``, the result also has a formula for the FLOPs of a forward pass.

    Raises InputError if transformers has no such class or cannot build it, or if no formula is found in time. Raises
    ImportError if a library that it needs is not installed.

    >>> infer("bloom", "BloomForCausalLM").parameters
    16156544
    """
    if not find_spec("sympy"):
        raise ImportError(NO_FORMULAS)
    from bertcalc.discover.results.shipped import shipped

    ready = shipped(model_type, cls) if cls and not changes else None
    if ready and (ready.compute or not flops):
        return ready
    if not (find_spec("torch") and find_spec("transformers")):
        raise ImportError(_NO_DISCOVERY.format(model=cls or model_type))
    from bertcalc.discover import discover
    from bertcalc.discover.results.request import DiscoveryRequest

    return discover(DiscoveryRequest(model_type, cls, changes, flops=flops, seconds=seconds))
