r"""Follow Python code that builds a configuration: later assignments, and the model that is built. Nothing is executed.

>>> code = configs_in_code("config = BertConfig(hidden_size=128)\nconfig.num_hidden_layers = 2\nm = BertModel(config)")
>>> code.configs[0].text, code.unfollowed
('BertConfig(hidden_size=128, num_hidden_layers=2, architectures=["BertModel"])', ())
"""

import ast
import json
import re
import textwrap
import warnings
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from bertcalc.families import CLASSES, hf_json
from bertcalc.families.config_files.size_names import SIZE_NAMES
from bertcalc.families.presets import PRESETS, preset_named
from bertcalc.model.model import Model
from bertcalc.proofreading.mentions.plain_text import without_prompts
from bertcalc.proofreading.mentions.program import value_of

_LONGEST = 20_000  # maximum number of characters of code
_LONGEST_STATEMENT = 40  # maximum number of lines
_NOT_PYTHON = re.compile(r"^[ \t]*(?:[!%]|```|~~~).*$", re.M)
# Configurations of models, not of adapters, quantization or generation.
_OF_MODELS = re.compile(
    r"(?!(?:Ada)?Lora|IA3|LNTuning|P(?:refix|rompt)|\w*Quant|BitsAnd|GPTQ|Generation)[A-Z]\w{0,60}Config"
)
_MODEL = re.compile(r"[A-Z][A-Za-z0-9]{1,60}")
_LOADED = re.compile(r"\w{1,40}(?:Model|For|LMHead)|SentenceTransformer$")  # a class of models, not of tokenizers
_OTHER_LIBRARY = re.compile(r"^(?:TF|Flax)(?=[A-Z])")
_AUTO = re.compile(r"(?:TF|Flax)?AutoModel(?:For(?P<task>\w+)|WithLMHead)?")
# Tasks of transformers' pipeline, each with the automatic class that it loads.
_OF_TASKS = {
    "fill-mask": "AutoModelForMaskedLM",
    "feature-extraction": "AutoModel",
    "text-generation": "AutoModelForCausalLM",
    "question-answering": "AutoModelForQuestionAnswering",
    **dict.fromkeys(("ner", "token-classification"), "AutoModelForTokenClassification"),
    **dict.fromkeys(
        ("text-classification", "sentiment-analysis", "zero-shot-classification"), "AutoModelForSequenceClassification"
    ),
}
SENTENCE_TRANSFORMER = "SentenceTransformer"
_LM_HEADS = {"CausalLM": "LMHeadModel"}  # classes of BERT and GPT-2 whose name does not end with the task
_ALTERING = ("add_adapter", "prune_heads", "set_input_embeddings", "set_output_embeddings", "add_module")
_OF_JSON = {"true": True, "false": False, "null": None}
_FEWEST_SIZES = 2  # minimum number of sizes in a dictionary that is a configuration


class ConfigInText(NamedTuple):
    """A configuration in a text, with its first and last line, from 1.

    ``add_pooling_layer`` and ``tokens`` (a new vocabulary size, or None) are arguments in code that builds the model.
    """

    text: str
    first: int
    last: int
    add_pooling_layer: bool = True
    tokens: int | None = None
    changed: tuple[int, ...] = ()  # the lines with these arguments
    unknown: tuple[tuple[str, str], ...] = ()  # (key, expression) of values that are not in the text
    preset: str = ""  # the published model that from_pretrained loads
    loader: str = ""  # the class in the code that loads the model
    part: str = ""  # the path of a configuration inside another object, such as text_config


class ConfigsInText(NamedTuple):
    """The configurations in a text, and the lines of code that may change a model but were not followed.

    ``unlisted`` has the names of models that the code loads and that are not presets, and ``unnamed`` expressions for
    such names whose values are not in the text. ``whole`` is the type of the model whose file contains the
    configurations.
    """

    configs: tuple[ConfigInText, ...] = ()
    unfollowed: tuple[int, ...] = ()
    unlisted: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()
    whole: str = ""


def configs_in_code(text: str) -> ConfigsInText:
    """Return the configurations of the models that Python code builds, or else all configurations in the code.

    The result is empty if the text is too long, or has no configuration that Python can parse.
    """
    if len(text) > _LONGEST:
        return ConfigsInText()
    code = _CodeFollower()
    with warnings.catch_warnings():  # Python warns about escapes such as "\\d"
        warnings.simplefilter("ignore")
        for line, statement in _statements(text):
            code.follow(statement, line)
    return ConfigsInText(
        tuple(code.results()), tuple(sorted(code.unfollowed)), tuple(code.unlisted), tuple(code.unnamed)
    )


def _statements(text: str) -> Iterator[tuple[int, ast.stmt]]:
    """Yield (number of lines before its block, statement) for each statement outside functions, loops and classes."""
    plain = _NOT_PYTHON.sub("", without_prompts(text))
    if whole := _parsed(plain):
        yield from ((0, statement) for statement in whole.body)
        return
    lines = plain.split("\n")
    start = 0
    while start < len(lines):
        end = _end(lines, start)
        block = _parsed("\n".join(lines[start:end]))
        yield from ((start, statement) for statement in (block.body if block else ()))
        start = end if block else start + 1


def _end(lines: list[str], start: int) -> int:
    """Return the index after a statement: its brackets are closed, and the following line is not indented."""
    depth, end = 0, start
    while end < min(len(lines), start + _LONGEST_STATEMENT):
        depth += sum(lines[end].count(sign) for sign in "([{") - sum(lines[end].count(sign) for sign in ")]}")
        end += 1
        continues = end < len(lines) and lines[end][:1] in (" ", "\t", ")", "]", "}") and lines[end].strip()
        if depth <= 0 and not continues:
            break
    return end


def _parsed(text: str) -> ast.Module | None:
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.parse(textwrap.dedent(text))
    return None


class LoadedModel(NamedTuple):
    """A call of from_pretrained: the model's name, the class, and the number of labels (None if it is unknown)."""

    name: str
    cls: str
    num_labels: int | None

    def architecture(self, config: str) -> str:
        """Return the class of the loaded model, whose configuration has the class ``config``; empty for the body."""
        return _architecture(self.cls, config)


class CodeAdapter(NamedTuple):
    """An adapter's configuration in code, the model that it is added to, and the lines that were not followed."""

    config: ConfigInText
    base: LoadedModel | None
    unfollowed: tuple[int, ...]


def adapters_in_code(text: str, kinds: Collection[str]) -> tuple[CodeAdapter, ...]:
    """Return the different adapters in Python code; ``kinds`` are the names of their classes in peft."""
    if len(text) > _LONGEST:
        return ()
    code = _CodeFollower(re.compile("|".join(map(re.escape, kinds))))
    for line, statement in _statements(text):
        code.follow(statement, line)
    distinct = {(adapter.config.text, adapter.base): adapter for adapter in code.adapters()}
    return tuple(distinct.values())


@dataclass
class _ConfigInCode:
    """A configuration at one point of the code: its class (empty for a dictionary), its values, and its lines."""

    kind: str
    values: dict[str, Any]
    first: int
    last: int
    preset: str = ""


@dataclass
class _ModelInCode:
    """A model that the code builds, and its variable (empty if it has none)."""

    config: _ConfigInCode
    architecture: str
    variable: str
    add_pooling_layer: bool = True
    tokens: int | None = None
    changed: list[int] = field(default_factory=list)
    loader: str = ""


class _UnknownValue(NamedTuple):
    """An expression whose value is not in the text.

    ``is_word`` is True for calls and attributes, such as torch.float32, which readers of configurations show as words.
    """

    expression: str
    is_word: bool


class _CodeFollower:
    """The variables of a program after each statement."""

    def __init__(self, kinds: re.Pattern[str] = _OF_MODELS) -> None:
        self.unfollowed: set[int] = set()
        self.unlisted: dict[str, None] = {}  # names of models that the code loads and that are not presets
        self.unnamed: dict[str, None] = {}  # expressions for such names
        self.loaded: dict[str, LoadedModel] = {}  # by variable
        self.adapted: list[tuple[LoadedModel | None, _ConfigInCode]] = []  # the arguments of get_peft_model
        self._kinds = kinds  # the classes of configurations
        self._before = 0  # number of lines before the current block
        self._numbers: dict[str, Any] = {}
        self._values: dict[str, Any] = {}  # other literals, such as "gelu"
        self._configs: dict[str, _ConfigInCode] = {}
        self._every: list[_ConfigInCode] = []
        self._builds: list[_ModelInCode] = []
        self._nested: list[_ModelInCode] = []  # in a function, a class or a list

    def results(self) -> Iterator[ConfigInText]:
        """Yield the configuration of each model that is built; if none is built, every configuration."""
        builds = self._builds or self._nested
        sized = (config for config in self._every if {*SIZE_NAMES, "num_labels"} & config.values.keys())
        yield from dict.fromkeys(map(_of_build, builds) if builds else map(_of_config, sized))

    def follow(self, statement: ast.stmt, before: int) -> None:
        """Update the variables by a statement; ``before`` is the number of lines before its block."""
        self._before, line = before, before + statement.lineno
        for call in ast.walk(statement):
            if isinstance(call, ast.Call):
                self._rewrite_load(call)
        match statement:
            case ast.Assign([ast.Name(name)], value):
                self._assign(name, value, line)
            case ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                self._assign(name, value, line)
            case ast.Assign([target], value):
                self._assign_part(target, value, line)
            case ast.Expr(ast.Call() as call):
                self._call(call, line)
            case ast.AugAssign(target):
                self._lose(target, line)
            case ast.Delete(targets):
                for target in targets:
                    self._lose(target, line)
            case ast.Expr(value):
                self._builds_inside(value, line)
            case ast.Import() | ast.ImportFrom():
                pass
            case _:
                self._inside(statement)

    def _rewrite_load(self, call: ast.Call) -> None:
        """Write a call that loads a published model as Class.from_pretrained("name"); leave other calls unchanged."""
        first, second, *_others = *call.args, None, None
        keywords = {word.arg: word.value for word in call.keywords}
        match call.func:
            case ast.Attribute(owner, "from_pretrained"):
                name = first or keywords.get("pretrained_model_name_or_path")
            case ast.Name("SentenceTransformer") | ast.Attribute(attr="SentenceTransformer"):
                owner, name = call.func, first or keywords.get("model_name_or_path")
            case ast.Name("pipeline") | ast.Attribute(ast.Name("transformers"), "pipeline"):
                task = self._string(first or keywords.get("task"))
                owner, name = ast.Name(_OF_TASKS.get(task, "")), second or keywords.get("model")
            case _:
                return
        published, is_of_model = self._string(name), bool(_LOADED.match(_last_name(owner)))
        if name is not None and is_of_model and not preset_named(published):
            with suppress(RecursionError):
                (self.unlisted if published else self.unnamed)[published or ast.unparse(name)] = None
        if name is None or not published or not (is_of_model or self._is_config(owner)):
            return
        loads = isinstance(call.func, ast.Attribute) and call.func.value is owner
        call.keywords = [word for word in call.keywords if loads and word.value is not name]
        call.args = [ast.copy_location(ast.Constant(published), name), *(call.args[1:] if loads else ())]
        call.func = ast.copy_location(ast.Attribute(owner, "from_pretrained"), call.func)

    def _string(self, node: ast.expr | None) -> str:
        """Return the value of a constant or of a variable if it is a string; otherwise an empty string."""
        value = self._literal(node) if isinstance(node, ast.Name | ast.Constant) else None
        return value if isinstance(value, str) else ""

    def _assign(self, name: str, value: ast.expr, line: int) -> None:
        is_adapted = self._adapt(value, line)
        is_lost = self._uses_model(name, value) and not is_adapted
        self.loaded.pop(name, None)
        if loaded := self._load(value):
            self.loaded[name] = loaded
        for variables in (self._numbers, self._values):
            variables.pop(name, None)
        config = self._config(value, line)
        if config is None and name in self._configs and not isinstance(value, ast.Name):
            del self._configs[name]
            self.unfollowed.add(line)
        if config is not None:
            self._configs[name] = config
            return
        if build := self._build(_without_placement(value), name):
            self._builds.append(build)
        elif (number := value_of(value, self._numbers)) is not None:
            self._numbers[name] = number
        elif is_lost or self._has_configs(value):
            self._builds_inside(value, line)
            self.unfollowed.add(line)
        else:
            with suppress(ValueError, TypeError, RecursionError, MemoryError):
                self._values[name] = ast.literal_eval(value)

    def _load(self, value: ast.AST) -> LoadedModel | None:
        """Return the published model that an expression loads; None for other expressions."""
        match value:
            case ast.Name(name):
                return self.loaded.get(name)
            case ast.Call(ast.Attribute(owner, "from_pretrained"), [ast.Constant(str() as name), *_], keywords):
                labels = next((word.value for word in keywords if word.arg == "num_labels"), None)
                number = None if labels is None else value_of(labels, self._numbers)
                return LoadedModel(name, _last_name(owner), None if number is None else int(number))
        return None

    def _adapt(self, value: ast.AST, line: int) -> bool:
        """Note the base model and the configuration of get_peft_model(model, config); return whether it is known."""
        if not isinstance(value, ast.Call) or _last_name(value.func) != "get_peft_model":
            return False
        keywords = {word.arg: word.value for word in value.keywords}
        arguments = [*value.args, *filter(None, map(keywords.get, ("model", "peft_config")))]
        configs = [self._config(argument, line) for argument in arguments if self._may_be_config(argument)]
        config = next(filter(None, configs), None)
        if config is not None:
            base = next(filter(None, map(self._load, arguments)), None)
            self.adapted.append((base, replace(config, values=dict(config.values))))
        return config is not None

    def adapters(self) -> Iterator[CodeAdapter]:
        """Yield the adapters that get_peft_model adds to a model; if there are none, every configuration."""
        lines = tuple(sorted(self.unfollowed))
        of_bases = self.adapted or [(None, config) for config in self._every if config.kind]
        for base, config in of_bases:
            yield CodeAdapter(_of_config(config), base, lines)

    def _uses_model(self, name: str, value: ast.expr) -> bool:
        """Whether a statement replaces a model by an object made from it: model = get_peft_model(model, ...)."""
        names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        return self._is_model(name) and name in names and not _is_call_of(value, name, _PLACEMENTS)

    def _is_model(self, name: str) -> bool:
        return name in self.loaded or self._last_build(name) is not None

    def _has_configs(self, value: ast.expr) -> bool:
        return any(self._build(node, "") for node in ast.walk(value) if isinstance(node, ast.Call))

    def _assign_part(self, target: ast.expr, value: ast.expr, line: int) -> None:
        """Follow config.field = value and config["field"] = value; note an assignment to a part of a model."""
        match target:
            case ast.Attribute(ast.Name(name), key) | ast.Subscript(ast.Name(name), ast.Constant(str() as key)):
                if name in self._configs:
                    self._configs[name].values[key] = self._literal(value)
                    self._configs[name].last = max(self._configs[name].last, line)
                    return
        self._lose(target, line)

    def _lose(self, target: ast.expr, line: int) -> None:
        """Note a line that changes a configuration or a model in a way that is not followed."""
        if isinstance(target, ast.Name):
            for variables in (self._numbers, self._values, self._configs):
                variables.pop(target.id, None)
            return
        names = {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}
        attributes = {node.attr for node in ast.walk(target) if isinstance(node, ast.Attribute)}
        is_of_model = any(map(self._is_model, names)) and not attributes & {"config", "requires_grad"}
        if is_of_model or names & self._configs.keys():
            self.unfollowed.add(line)

    def _call(self, call: ast.Call, line: int) -> None:
        """Follow config.update({...}) and model.resize_token_embeddings(n); note other calls that change a model."""
        self._adapt(call, line)
        match call.func:
            case ast.Attribute(ast.Name(name), "update") if name in self._configs:
                self._update(self._configs[name], call, line)
            case ast.Attribute(ast.Name(name), "resize_token_embeddings") if self._is_model(name):
                self._resize(name, call, line)
            case ast.Attribute(ast.Name(name), method) if method in _ALTERING and self._is_model(name):
                self.unfollowed.add(line)
            case _:
                if config := self._config(call, line):
                    self._every[-1] = config
                elif build := self._build(call, ""):
                    self._builds.append(build)
                else:
                    self._builds_inside(call, line)

    def _update(self, config: _ConfigInCode, call: ast.Call, line: int) -> None:
        values = self._keywords(call.keywords, line)
        for argument in call.args:
            values |= self._entries(argument, line)
        config.values |= values
        config.last = max(config.last, line)

    def _resize(self, name: str, call: ast.Call, line: int) -> None:
        build = self._last_build(name)
        tokens = value_of(call.args[0], self._numbers) if len(call.args) == 1 and not call.keywords else None
        if build is None or tokens is None or tokens.denominator != 1 or tokens < 1:
            self.unfollowed.add(line)
            return
        build.tokens = int(tokens)
        build.changed.append(line)

    def _last_build(self, name: str) -> _ModelInCode | None:
        return next((build for build in reversed(self._builds) if build.variable == name), None)

    def _inside(self, statement: ast.stmt) -> None:
        """Find models that a function, a loop or a class builds, and note its lines that may change a model."""
        for node in ast.walk(statement):
            if isinstance(node, ast.Assign | ast.AugAssign | ast.Delete):
                targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets
                for target in targets:
                    self._lose(target, self._before + node.lineno)
            if isinstance(node, ast.Call):
                is_altering = isinstance(node.func, ast.Attribute) and node.func.attr in (
                    *_ALTERING, "resize_token_embeddings", "update",
                )  # fmt: skip
                names = {part.id for part in ast.walk(node.func) if isinstance(part, ast.Name)}
                if is_altering and (names & self._configs.keys() or any(map(self._is_model, names))):
                    self.unfollowed.add(self._before + node.lineno)
        self._builds_inside(statement, self._before + statement.lineno)

    def _builds_inside(self, node: ast.AST, line: int) -> None:
        """Add the models that are built inside a larger expression or statement; repetitions are not followed."""
        for part in ast.walk(node):
            if isinstance(part, ast.Call) and (build := self._build(part, "")):
                self._nested.append(build)
                self.unfollowed.add(line)

    def _config(self, value: ast.expr, line: int) -> _ConfigInCode | None:
        """Return the configuration that an expression builds or that its variable holds; None for other expressions."""
        match value:
            case ast.Name(name) if name in self._configs:
                return self._configs[name]
            case ast.Call(ast.Name("deepcopy") | ast.Attribute(attr="deepcopy"), [ast.Name(name)]) if (
                name in self._configs
            ):
                return replace(self._configs[name], values=dict(self._configs[name].values))
        kind, values = self._made(value, line)
        if kind is None or (not kind and len(SIZE_NAMES & values.keys()) < _FEWEST_SIZES):
            return None
        last = line + (value.end_lineno or value.lineno) - value.lineno
        config = _ConfigInCode(kind, values, line, last, _preset_of(value))
        self._every.append(config)
        return config

    def _loaded_config(self, call: ast.Call, line: int) -> _ConfigInCode | None:
        """Return the configuration of the model that from_pretrained loads; None if it is not a preset."""
        kind, values = self._published(call, line) if self._kinds is _OF_MODELS else (None, {})
        last = line + (call.end_lineno or call.lineno) - call.lineno
        return _ConfigInCode(kind, values, line, last, _preset_of(call)) if kind else None

    def _made(self, value: ast.expr, line: int) -> tuple[str | None, dict[str, Any]]:
        """Return the class (empty for a dictionary) and the values of a configuration; None for another expression."""
        match value:
            case ast.Dict():
                return "", self._entries(value, line)
            case ast.Call(ast.Name("dict"), [], keywords):
                return "", self._keywords(keywords, line)
            case ast.Call(ast.Attribute(owner, "from_dict"), [argument], keywords) if self._is_config(owner):
                return _last_name(owner), self._entries(argument, line) | self._keywords(keywords, line)
            case ast.Call(ast.Attribute(owner, "from_pretrained")) if self._is_config(owner):
                return self._published(value, line)
            case ast.Call(function, [], keywords) if self._is_config(function):
                return _last_name(function), self._keywords(keywords, line)
        return None, {}

    def _published(self, call: ast.Call, line: int) -> tuple[str | None, dict[str, Any]]:
        """Return the configuration that from_pretrained loads: a preset's, with the arguments that are its fields."""
        config = PRESETS[preset].config if (preset := _preset_of(call)) else None
        if config is None:
            return None, {}
        values = json.loads(hf_json.write(Model(config)))
        fields = {*values, *SIZE_NAMES, "id2label", "label2id"} - {"architectures", "model_type"}
        given = {key: value for key, value in self._keywords(call.keywords, line).items() if key in fields}
        left_out = {"architectures", "model_type", *(["num_labels"] if "id2label" in given else [])}
        kept = {key: value for key, value in values.items() if key not in left_out}
        return type(config).__name__, kept | given

    def _keywords(self, keywords: list[ast.keyword], line: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for keyword in keywords:
            if keyword.arg is None:
                values |= self._entries(keyword.value, line)
            else:
                values[keyword.arg] = self._literal(keyword.value)
        return values

    def _entries(self, value: ast.expr, line: int) -> dict[str, Any]:
        """Return the entries of a dictionary; if they are unknown, the line counts as not followed."""
        match value:
            case ast.Name(name) if name in self._configs:
                used = self._configs[name]
                self._every = [config for config in self._every if config is not used]
                return dict(used.values)
            case ast.Name(name) if isinstance(self._values.get(name), dict):
                return {f"{key}": entry for key, entry in self._values[name].items()}
            case ast.Dict(keys, values) if all(isinstance(key, ast.Constant) for key in keys):
                names = [str(key.value) for key in keys if isinstance(key, ast.Constant)]
                return dict(zip(names, map(self._literal, values), strict=True))
        self.unfollowed.add(line)
        return {}

    def _literal(self, node: ast.expr) -> Any:
        """Return the value of an expression, or an _UnknownValue."""
        if isinstance(node, ast.Name) and node.id in (known := {**_OF_JSON, **self._values}):
            return known[node.id]
        with suppress(ValueError, TypeError, RecursionError, MemoryError, SyntaxError):
            return ast.literal_eval(node)
        is_number = not isinstance(node, ast.Attribute | ast.Subscript)
        number = value_of(node, self._numbers) if is_number else None
        if number is None:
            return _UnknownValue(ast.unparse(node), isinstance(node, ast.Call | ast.Attribute))
        return int(number) if number.denominator == 1 and not isinstance(node, ast.Constant) else float(number)

    def _is_config(self, node: ast.AST) -> bool:
        return bool(self._kinds.fullmatch(_last_name(node)))

    def _may_be_config(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(ast.Attribute(owner, "from_pretrained" | "from_dict")):
                return self._is_config(owner)
            case ast.Call(function):
                return self._is_config(function)
        return isinstance(node, ast.Name)

    def _build(self, value: ast.AST, variable: str) -> _ModelInCode | None:
        """Return the model that a call builds from a known configuration; None for other expressions."""
        if not isinstance(value, ast.Call):
            return None
        function, owner = value.func, _last_name(value.func)
        if isinstance(function, ast.Attribute) and owner in ("from_config", "_from_config", "from_pretrained"):
            function = function.value
        name = _last_name(function)
        keywords = {keyword.arg: keyword.value for keyword in value.keywords}
        argument = keywords.get("config", value.args[0] if value.args and owner != "from_pretrained" else None)
        if not _MODEL.fullmatch(name) or self._kinds.fullmatch(name):
            return None
        line = self._before + value.lineno
        if argument is None and owner == "from_pretrained" and _LOADED.match(name):
            config = self._loaded_config(value, line)
        else:
            config = self._config(argument, line) if argument and self._may_be_config(argument) else None
        if config is None or not config.kind:
            return None
        architecture = _architecture(name, config.kind)
        build = _ModelInCode(replace(config, values=dict(config.values)), architecture, variable, loader=name)
        match keywords.get("add_pooling_layer"):
            case ast.Constant(bool() as pooler):
                build.add_pooling_layer = pooler
                build.changed += [] if pooler else [line]
            case ast.expr():
                self.unfollowed.add(line)
        return build


def _is_call_of(value: ast.expr, name: str, methods: tuple[str, ...]) -> bool:
    match value:
        case ast.Call(ast.Attribute(ast.Name(owner), method)):
            return owner == name and method in methods
    return False


def _preset_of(value: ast.AST) -> str:
    """Return the preset that a call of from_pretrained loads; empty if it loads none."""
    match value:
        case ast.Call(ast.Attribute(attr="from_pretrained"), [ast.Constant(str() as name), *_]):
            return preset_named(name) or ""
    return ""


def _without_placement(value: ast.expr) -> ast.expr:
    """Remove the calls after a model that change neither its class nor its sizes: AutoModel(...).to("cuda")."""
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _PLACEMENTS:
        value = value.func.value
    return value


_PLACEMENTS = ("to", "cuda", "cpu", "eval", "train", "half", "float", "bfloat16")


def _last_name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _architecture(name: str, kind: str) -> str:
    """Return the class that is built; for an automatic class, the class for its task, or empty for the body."""
    automatic = _AUTO.fullmatch(name)
    if name == SENTENCE_TRANSFORMER:
        return ""
    if automatic is None:
        return _OTHER_LIBRARY.sub("", name)
    prefix, task = kind.removesuffix("Config"), automatic["task"]
    if task is None:
        return ""
    names = (f"{prefix}For{task}", f"{prefix}{_LM_HEADS.get(task, task)}")
    return next((name for name in names if name in CLASSES), names[0])


def _of_config(config: _ConfigInCode) -> ConfigInText:
    unknown = [
        (key, value.expression)
        for key, value in config.values.items()
        if isinstance(value, _UnknownValue) and (not value.is_word or key in SIZE_NAMES or key == "num_labels")
    ]
    written = _written(config.kind, config.values)
    return ConfigInText(written, config.first, config.last, unknown=tuple(unknown), preset=config.preset)


def _of_build(build: _ModelInCode) -> ConfigInText:
    values = dict(build.config.values)
    if build.architecture and "architectures" not in values:
        values["architectures"] = [build.architecture]
    return _of_config(replace(build.config, values=values))._replace(
        add_pooling_layer=build.add_pooling_layer,
        tokens=build.tokens,
        changed=tuple(build.changed),
        loader=build.loader,
    )


def _written(kind: str, values: Mapping[str, Any]) -> str:
    """Write a configuration as a call, or as a JSON object if it has no class."""
    if not kind:
        return json.dumps(
            {key: f"{value[0]}" if isinstance(value, _UnknownValue) else value for key, value in values.items()}
        )
    arguments = ", ".join(f"{key}={_text(value)}" for key, value in values.items())
    return f"{kind}({arguments})"


def _text(value: Any) -> str:
    """Write a value in Python; an unknown value stays the expression in the code."""
    if isinstance(value, _UnknownValue):
        return value.expression
    with suppress(ValueError, TypeError):
        return json.dumps(value) if not isinstance(value, bool | None) else f"{value}"
    return f"{value!r}"
