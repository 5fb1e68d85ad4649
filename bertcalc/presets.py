"""Published models as plain data: what a preset sets, and where the figures come from."""

from typing import NamedTuple

from bertcalc.config import Config
from bertcalc.families import build
from bertcalc.text import N_
from bertcalc.tree.nn import Module


class Source(NamedTuple):
    """Where a configuration was published: in words, and its address."""

    said: str
    url: str


class Preset(NamedTuple):
    """A published configuration; every field that is not named has its default."""

    config: Config
    source: Source


_BERT = "https://github.com/google-research/bert/blob/master/"
_GOOGLE = Source(N_("The README of Google's BERT"), f"{_BERT}README.md")
_MULTILINGUAL = Source(N_("The list of multilingual models of Google's BERT"), f"{_BERT}multilingual.md")
_MINIATURES = Source(N_("Turc et al. 2019, smaller BERT models"), "https://arxiv.org/abs/1908.08962")


def _minilm(name: str) -> Source:
    return Source(N_("Its model card on the Hugging Face Hub"), f"https://huggingface.co/sentence-transformers/{name}")


def _preset(vocab: int, hidden: int, layers: int, heads: int, intermediate: int, source: Source) -> Preset:
    config = Config(
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
    "bert-large-chinese": _preset(
        21128, 1024, 24, 16, 4096, Source(N_("bert-large with the vocabulary of bert-base-chinese"), _MULTILINGUAL.url)
    ),
    "all-MiniLM-L6-v2": _preset(30522, 384, 6, 12, 1536, _minilm("all-MiniLM-L6-v2")),
    "all-MiniLM-L12-v2": _preset(30522, 384, 12, 12, 1536, _minilm("all-MiniLM-L12-v2")),
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

    preset: str
    architecture: str
    parameters: int
    convention: str
    source: str
    add_pooling_layer: bool = True

    def model(self) -> Module:
        """The model that the number is of."""
        return build(PRESETS[self.preset].config, self.architecture, add_pooling_layer=self.add_pooling_layer)


_KERAS_HUB = "keras-hub bert_presets.py"
_LUCID = "lucid docs (text models index)"
PUBLISHED: tuple[PublishedCount, ...] = (
    PublishedCount("bert_uncased_L-2_H-128_A-2", "BertModel", 4385920, N_("with pooler"), _KERAS_HUB),
    PublishedCount("bert_uncased_L-4_H-512_A-8", "BertModel", 28763648, N_("with pooler"), _KERAS_HUB),
    PublishedCount("bert_uncased_L-8_H-512_A-8", "BertModel", 41373184, N_("with pooler"), _KERAS_HUB),
    PublishedCount(
        "bert-base-uncased", "BertModel", 109482240, N_("with pooler"), f"{_KERAS_HUB}; torchinfo golden file bert.out"
    ),
    PublishedCount("bert-base-cased", "BertModel", 108310272, N_("with pooler"), _KERAS_HUB),
    PublishedCount(
        "bert-base-chinese",
        "BertModel",
        102267648,
        N_("with pooler"),
        f"{_KERAS_HUB}; calflops README (chinese-roberta-wwm-ext)",
    ),
    PublishedCount("bert-base-multilingual-cased", "BertModel", 177853440, N_("with pooler"), _KERAS_HUB),
    PublishedCount("bert-large-uncased", "BertModel", 335141888, N_("with pooler"), _KERAS_HUB),
    PublishedCount("bert-large-cased", "BertModel", 333579264, N_("with pooler"), _KERAS_HUB),
    PublishedCount("all-MiniLM-L6-v2", "BertModel", 22713216, N_("with pooler"), _KERAS_HUB),
    PublishedCount("bert-base-uncased", "BertForMaskedLM", 109514298, N_("decoder tied; no pooler"), _LUCID),
    PublishedCount(
        "bert-base-uncased",
        "BertForPreTraining",
        110106428,
        N_("decoder tied; the published checkpoint's F32 total"),
        f"{_LUCID}; huggingface.js parse-safetensors-metadata.spec.ts",
    ),
    PublishedCount("bert-base-uncased", "BertForQuestionAnswering", 108893186, N_("no pooler"), _LUCID),
    PublishedCount("bert-base-uncased", "BertForSequenceClassification", 109483778, N_("with pooler"), _LUCID),
    PublishedCount(
        "bert-large-chinese",
        "BertModel",
        324472832,
        N_("no pooler"),
        "layer-by-layer blog post in the Keras manner",
        add_pooling_layer=False,
    ),
)
