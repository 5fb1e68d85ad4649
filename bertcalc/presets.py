"""Published models as plain data: what a preset sets, and where the figures come from."""

import csv
from importlib.resources import files
from typing import NamedTuple

from bertcalc.config import BertConfig

_GOOGLE = "https://github.com/google-research/bert/blob/master/README.md"
_MULTILINGUAL = "https://github.com/google-research/bert/blob/master/multilingual.md"
_MINIATURES = "Turc et al. 2019, arXiv:1908.08962; https://github.com/google-research/bert/blob/master/README.md"
_MINILM = "https://huggingface.co/sentence-transformers/"


class Preset(NamedTuple):
    """A published configuration; every field that is not named has its default."""

    config: BertConfig
    source: str


def _preset(vocab: int, hidden: int, layers: int, heads: int, intermediate: int, source: str) -> Preset:
    config = BertConfig(
        vocab_size=vocab,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=intermediate,
    )
    return Preset(config, source)


PRESETS: dict[str, Preset] = {
    "bert-base-uncased": _preset(30522, 768, 12, 12, 3072, _GOOGLE),
    "bert-large-uncased": _preset(30522, 1024, 24, 16, 4096, _GOOGLE),
    "bert-base-cased": _preset(28996, 768, 12, 12, 3072, _GOOGLE),
    "bert-large-cased": _preset(28996, 1024, 24, 16, 4096, _GOOGLE),
    "bert-base-multilingual-cased": _preset(119547, 768, 12, 12, 3072, _MULTILINGUAL),
    "bert-base-chinese": _preset(21128, 768, 12, 12, 3072, _MULTILINGUAL),
    # No published checkpoint: bert-large with the Chinese vocabulary, the example of a Chinese blog post.
    "bert-large-chinese": _preset(21128, 1024, 24, 16, 4096, "bert-large with the vocabulary of bert-base-chinese"),
    "all-MiniLM-L6-v2": _preset(30522, 384, 6, 12, 1536, f"{_MINILM}all-MiniLM-L6-v2"),
    "all-MiniLM-L12-v2": _preset(30522, 384, 12, 12, 1536, f"{_MINILM}all-MiniLM-L12-v2"),
    **{
        f"bert_uncased_L-{layers}_H-{hidden}_A-{hidden // 64}": _preset(
            30522, hidden, layers, hidden // 64, 4 * hidden, _MINIATURES
        )
        for layers in (2, 4, 6, 8, 10, 12)
        for hidden in (128, 256, 512, 768)
    },
}
DEFAULT_PRESET = "bert-base-uncased"


class PublishedCount(NamedTuple):
    """A number of parameters that somebody else published, and the model that it is of."""

    name: str
    architecture: str
    config: BertConfig
    add_pooling_layer: bool
    parameters: int
    convention: str
    source: str


def published_counts() -> list[PublishedCount]:
    """The table in published_counts.csv, one entry for each line."""
    with (files("bertcalc") / "published_counts.csv").open(encoding="utf-8") as file:
        return [_published(line) for line in csv.DictReader(file)]


def _published(line: dict[str, str]) -> PublishedCount:
    numbers = {field: int(line[field]) for field in vars(BertConfig()) if line.get(field)}
    pooler = line["architecture"] != "BertModel" or line["convention"] != "without pooler"
    return PublishedCount(
        line["name"],
        line["architecture"],
        BertConfig(**numbers),  # type: ignore[arg-type]  # the columns of the table are dimensions, all integers
        pooler,
        int(line["parameters"]),
        line["convention"],
        line["source"],
    )
