"""Python code that builds a configuration: each program is executed, and its real model is counted."""

import re
from typing import Any

import pytest
import torch
import transformers

import bertcalc
from bertcalc.proofreading.mentions.config_code import configs_in_code
from bertcalc.text.problem import InputError

SIZES = "hidden_size=64, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96"
CONFIG = f"config = BertConfig({SIZES})\n"
FOLLOWED = {
    "a later assignment": f"{CONFIG}config.num_hidden_layers = 2\nmodel = BertModel(config)",
    "an assignment after the model": f"{CONFIG}model = BertModel(config)\nconfig.num_hidden_layers = 2",
    "an update": f"{CONFIG}config.update({{'vocab_size': 99, 'type_vocab_size': 1}})\nmodel = BertModel(config)",
    "the second is built": f"small = BertConfig({SIZES})\nlarge = BertConfig(hidden_size=128, num_attention_heads=2)\n"
    "model = BertModel(large)",
    "no pooler": f"{CONFIG}model = BertModel(config, add_pooling_layer=False)",
    "a new vocabulary": f"{CONFIG}model = BertForMaskedLM(config)\nmodel.resize_token_embeddings(5000)",
    "arithmetic": "H = 32\nwide = 2 * H\nconfig = BertConfig(hidden_size=wide, num_attention_heads=4, "
    "num_hidden_layers=1 + 1, intermediate_size=4*wide)\nmodel = BertModel(config)",
    "a dictionary": f"sizes = dict({SIZES})\nsizes['vocab_size'] = 77\nconfig = BertConfig(**sizes)\n"
    "model = BertForPreTraining(config=config)",
    "an automatic class": f"{CONFIG}config.num_labels = 7\n"
    "model = AutoModelForSequenceClassification.from_config(config)",
    "an automatic decoder": f"{CONFIG}config.is_decoder = True\nmodel = AutoModelForCausalLM.from_config(config)",
    "a copy": f"{CONFIG}from copy import deepcopy\nother = deepcopy(config)\nother.vocab_size = 55\n"
    "model = BertModel(config)",
    "another name": f"{CONFIG}other = config\nother.vocab_size = 55\nmodel = BertModel(config)",
    "inside the call": f"model = RobertaForMaskedLM(RobertaConfig({SIZES}))",
    "another type": "config = LlamaConfig(vocab_size=99, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, "
    "intermediate_size=96)\nconfig.num_hidden_layers = 3\nmodel = LlamaForCausalLM(config)",
}


def _real(program: str) -> int:
    classes = re.findall(r"\b[A-Z]\w{3,}", program)
    names: dict[str, Any] = {name: getattr(transformers, name) for name in classes if hasattr(transformers, name)}
    with torch.device("meta"):
        exec(program, names)  # the programs are in this file
    count: int = names["model"].num_parameters()
    return count


@pytest.mark.parametrize("program", FOLLOWED.values(), ids=FOLLOWED)
def test_code_is_counted_like_the_model_that_it_builds(program: str) -> None:
    reading = bertcalc.read(program)
    assert reading.num_parameters == _real(program)
    assert "not followed" not in str(reading)


LOADED = {
    "labels": "model = BertForSequenceClassification.from_pretrained('bert-base-uncased', num_labels=5)",
    "layers": "model = BertModel.from_pretrained('bert-base-uncased', num_hidden_layers=3, dtype=torch.float16)",
    "names of labels": "model = AutoModelForTokenClassification.from_pretrained('distilbert-base-uncased', "
    "id2label={0: 'O', 1: 'B', 2: 'I'})",
    "a task": "model = AutoModelForMaskedLM.from_pretrained('bert-base-uncased')",
    "no pooler": "model = BertModel.from_pretrained('bert-base-uncased', add_pooling_layer=False)",
    "on a device": "model = AutoModelForQuestionAnswering.from_pretrained('gpt2').to('meta')",
    "a program": "from transformers import AutoModelForSequenceClassification\n\n"
    "model = AutoModelForSequenceClassification.from_pretrained(\n    'bert-base-uncased',\n    num_labels=9,\n)",
    "a configuration": "config = BertConfig.from_pretrained('bert-base-uncased')\nconfig.hidden_size = 384\n"
    "config.num_attention_heads = 6\nmodel = BertModel(config)",
    "a default configuration": "model = BertForSequenceClassification(BertConfig(num_labels=5))",
    "an automatic configuration": "config = AutoConfig.from_pretrained('gpt2', n_layer=2)\n"
    "model = AutoModel.from_config(config)",
    "a loaded configuration inside the call": "model = BertModel(BertConfig.from_pretrained('bert-base-uncased', "
    "num_hidden_layers=4))",
    "a variable": "MODEL_NAME = 'distilbert-base-uncased'\nmodel = AutoModel.from_pretrained(MODEL_NAME)",
    "a keyword": "model = AutoModel.from_pretrained(pretrained_model_name_or_path='gpt2')",
    "a program without counts": "from transformers import AutoTokenizer, AutoModelForTokenClassification\n"
    "name = 'bert-base-uncased'\nconfig = AutoConfig.from_pretrained(name, num_labels=7)\n"
    "model = AutoModelForTokenClassification.from_config(config)\nfor n, p in model.named_parameters():\n    print(n)",
}


class _WithoutWeights:
    """A class of transformers whose from_pretrained builds a model without weights, from its default configuration."""

    def __init__(self, name: str) -> None:
        self._class = getattr(transformers, name)

    def __call__(self, *values: Any, **fields: Any) -> Any:
        return self._class(*values, **fields)

    def from_config(self, config: Any) -> Any:
        return self._class.from_config(config)

    def from_pretrained(self, pretrained_model_name_or_path: str, **fields: Any) -> Any:
        kinds = {"bert": "BertConfig", "dist": "DistilBertConfig", "gpt2": "GPT2Config"}
        kind = kinds[pretrained_model_name_or_path[:4]]
        pooler = {key: fields.pop(key) for key in ("add_pooling_layer",) if key in fields}
        config = getattr(transformers, kind)(**fields)
        if self._class.__name__.endswith("Config"):
            return config
        is_automatic = self._class.__name__.startswith("Auto")
        return self.from_config(config) if is_automatic else self._class(config, **pooler)


@pytest.mark.parametrize("program", LOADED.values(), ids=LOADED)
def test_a_loaded_model_has_the_arguments_of_its_call(program: str) -> None:
    classes = set(re.findall(r"\b[A-Z]\w{5,}", program)) & {*dir(transformers)}
    names: dict[str, Any] = {"torch": torch, **{name: _WithoutWeights(name) for name in classes}}
    with torch.device("meta"):
        exec(re.sub("(?m)^from .*", "", program), names)  # the programs are in this file
    reading = bertcalc.read(program)
    assert (reading.kind, reading.num_parameters) == ("config", names["model"].num_parameters())
    assert "not followed" not in str(reading)


ROBERTA = {"vocab_size": 50265, "max_position_embeddings": 514, "type_vocab_size": 1}
MINILM = {"hidden_size": 384, "num_hidden_layers": 6, "intermediate_size": 1536}


@pytest.mark.parametrize(
    ("program", "cls", "config"),
    [
        ('pipeline("fill-mask", model="roberta-base")', "RobertaForMaskedLM", transformers.RobertaConfig(**ROBERTA)),
        ('nlp = pipeline(task="ner", model="roberta-base", device=0)', "RobertaForTokenClassification",
         transformers.RobertaConfig(**ROBERTA)),
        ('transformers.pipeline("feature-extraction", "bert-base-uncased")', "BertModel", transformers.BertConfig()),
        ('SentenceTransformer("sentence-transformers/all-MiniLM-L6-v2")', "BertModel",
         transformers.BertConfig(**MINILM)),
        ('from sentence_transformers import SentenceTransformer\nname = "all-MiniLM-L6-v2"\n'
         "model = SentenceTransformer(name, device='cpu')", "BertModel", transformers.BertConfig(**MINILM)),
    ],
)  # fmt: skip
def test_other_programs_load_the_classes_of_transformers(program: str, cls: str, config: Any) -> None:
    with torch.device("meta"):
        real = getattr(transformers, cls)(config)
    reading = bertcalc.read(program)
    assert reading.model is not None
    assert (reading.model.architecture, reading.num_parameters) == (cls, real.num_parameters())
    assert ("pooling" in str(reading)) is ("SentenceTransformer" in program)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("AutoModel.from_pretrained(model_name)", "loads a model by model_name, whose value is not in the text"),
        ("model = RobertaModel.from_pretrained(args.model)", "by args.model, whose value is not in the text"),
        ('from transformers import AutoModel\nname = "nobody/large"\nmodel = AutoModel.from_pretrained(name)',
         "does not have the sizes of nobody/large"),
        ('SentenceTransformer("nobody/large")', "does not have the sizes of nobody/large"),
    ],
)  # fmt: skip
def test_a_loaded_model_without_known_sizes_is_asked_for(program: str, reason: str) -> None:
    with pytest.raises(InputError, match=re.escape(reason)):
        bertcalc.read(program)


def test_labels_that_are_not_in_the_text_are_asked_for() -> None:
    with pytest.raises(InputError, match=r"num_labels to len\(labels\), .* write the value itself"):
        bertcalc.read('AutoModelForTokenClassification.from_pretrained("bert-base-cased", num_labels=len(labels))')


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("model.pooler = torch.nn.Linear(64, 100)", 3),
        ("model.resize_token_embeddings(len(tokenizer))", 3),
        ("model.encoder.layer = model.encoder.layer[:1]", 3),
        ("for layer in range(2):\n    config.num_hidden_layers += 1", 4),
        ("model.prune_heads({0: [1]})", 3),
        ("del model.pooler", 3),
        ("model = torch.nn.Sequential(model, torch.nn.Linear(64, 9))", 3),
        ("models = torch.nn.ModuleList([BertModel(config) for _ in range(3)])", 3),
        ("def build(config):\n    config.vocab_size = 9\n    return BertModel(config)", 4),
    ],
)
def test_a_change_that_is_not_followed_is_named(change: str, line: int) -> None:
    reading = bertcalc.read(f"{CONFIG}model = BertModel(config)\n{change}")
    [note] = [note for note in reading.notes if "not followed" in str(note)]
    assert f"{line}" in note.values["lines"].split(", ")


@pytest.mark.parametrize(
    "harmless",
    ["model.eval()", "model = model.to('cuda')", "for p in model.parameters():\n    p.requires_grad = False",
     "print(model.num_parameters())", "model.config.use_cache = False", "optimizer = AdamW(model.parameters())"],
)  # fmt: skip
def test_a_line_that_changes_no_tensor_is_not_named(harmless: str) -> None:
    assert "not followed" not in str(bertcalc.read(f"{CONFIG}model = BertModel(config)\n{harmless}"))


@pytest.mark.parametrize("value", ["layers", "12 if large else 6", "[6, 12][large]"])
def test_a_value_that_is_not_in_the_text_is_asked_for(value: str) -> None:
    with pytest.raises(InputError, match=r"num_hidden_layers to .* write the value itself"):
        bertcalc.read(f"config = BertConfig(hidden_size=64, num_attention_heads=4, num_hidden_layers={value})")


def test_two_models_of_one_program_have_two_counts() -> None:
    program = f"{CONFIG}encoder = BertModel(config)\ndecoder = BertLMHeadModel(BertConfig({SIZES}, is_decoder=True))"
    reading = bertcalc.read(program)
    assert reading.num_parameters is None
    expected = [_real(f"{program}\nmodel = {name}") for name in ("encoder", "decoder")]
    assert [possible.parameters for possible in reading.possible_counts] == expected


def test_code_around_text_is_followed() -> None:
    text = f"In [1]: {CONFIG}In [2]: config.num_hidden_layers = 2\nIn [3]: model = BertModel(config)\nthat is all."
    [config] = configs_in_code(text).configs
    assert "num_hidden_layers=2" in config.text


@pytest.mark.parametrize("text", ["(" * 20_000, "config = BertConfig(" * 900, "a = [\n" * 3_000, "x" * 10**6])
def test_hostile_code_takes_no_time(text: str) -> None:
    assert not configs_in_code(text).configs


def test_a_change_of_a_published_model_is_named() -> None:
    reading = bertcalc.read(
        'model = BertModel.from_pretrained("bert-base-uncased")\nmodel.encoder.layer = model.encoder.layer[:6]'
    )
    assert "Lines of code that were not followed: 2." in str(reading)
    assert "not followed" not in str(
        bertcalc.read('model = BertModel.from_pretrained("bert-base-uncased")\nmodel.eval()')
    )


def test_a_text_without_a_model_is_not_about_bert() -> None:
    reading = bertcalc.read(
        "We trained it on 4 devices for 25,457 steps and saw 10,605 and 21,717 examples in one hour."
    )
    assert reading.model is None
    assert "does not name its model" in str(reading)
