"""Published models as plain data: what a preset sets, and where the figures come from."""

from typing import NamedTuple

from bertcalc.families import PRESETS, build
from bertcalc.family import Model, Preset, Source
from bertcalc.text import N_

__all__ = ["DEFAULT_PRESET", "PRESETS", "PUBLISHED", "Preset", "PublishedCount", "Source"]

DEFAULT_PRESET = next(iter(PRESETS))


class PublishedCount(NamedTuple):
    """A number of parameters that somebody else published, and the model that it is of.

    ``more`` is what Hugging Face's class has more than was published; ``convention`` says why.
    """

    preset: str
    architecture: str
    parameters: int
    convention: str
    source: str
    add_pooling_layer: bool = True
    more: int = 0

    def model(self) -> Model:
        """The model that the number is of."""
        return build(PRESETS[self.preset].config, self.architecture, add_pooling_layer=self.add_pooling_layer)


_KERAS_HUB = "keras-hub bert_presets.py"
_LUCID = "lucid docs (text models index)"
_MTEB = "mteb, model_implementations"
_AUTOMODEL = "public script listing AutoModel counts"


def _keras(family: str) -> str:
    return f"keras-hub {family}_presets.py"


_POOLED = N_("counted as if it had a pooler")
_SISTER = N_("wrong: the number of its English sister")
_ONE_LABEL = N_("with pooler; one label, where the class has two")
_NO_ROWS = N_("no pooler; without the 2 rows before the first position and without the token type")
_ROUNDED = N_("a rounded figure")
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
    PublishedCount(
        "bert-base-chinese", "BertModel", 109_000_000, _SISTER, f"{_MTEB} (bge-base-zh, the same model)", more=-6732352
    ),
    PublishedCount("bert-base-japanese-v3", "BertModel", 111207168, N_("with pooler"), f"{_MTEB} (ruri-base)"),
    PublishedCount("bert-base-multilingual-cased", "BertModel", 177853440, N_("with pooler"), _KERAS_HUB),
    PublishedCount("bert-large-uncased", "BertModel", 335141888, N_("with pooler"), _KERAS_HUB),
    PublishedCount("bert-large-cased", "BertModel", 333579264, N_("with pooler"), _KERAS_HUB),
    PublishedCount("all-MiniLM-L6-v2", "BertModel", 22713216, N_("with pooler"), _KERAS_HUB),
    PublishedCount("all-MiniLM-L12-v2", "BertModel", 33360000, N_("with pooler"), f"{_KERAS_HUB}; {_MTEB}"),
    PublishedCount("mxbai-embed-xsmall-v1", "BertModel", 24089472, N_("with pooler"), _KERAS_HUB),
    PublishedCount(
        "all-MiniLM-L6-v2",
        "BertForSequenceClassification",
        22713601,
        _ONE_LABEL,
        f"{_MTEB} (ms-marco-MiniLM-L6-v2)",
        more=385,
    ),
    PublishedCount(
        "bert_uncased_L-2_H-128_A-2",
        "BertForSequenceClassification",
        4386049,
        _ONE_LABEL,
        f"{_MTEB} (ms-marco-TinyBERT-L2-v2)",
        more=129,
    ),
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
    PublishedCount(
        "bert-large-chinese", "BertModel", 325522432, N_("with pooler"), f"{_KERAS_HUB} (bge_large_zh); {_MTEB}"
    ),
    PublishedCount("bert-large-chinese", "BertModel", 335_000_000, _SISTER, f"{_MTEB} (bge-large-zh)", more=-9477568),
    PublishedCount(
        "bge-small-zh-v1.5",
        "BertModel",
        23953920,
        N_("with pooler"),
        _KERAS_HUB,
    ),
    PublishedCount("bge-small-zh-v1.5", "BertModel", 33_400_000, _SISTER, _MTEB, more=-9446080),
    PublishedCount("multilingual-e5-small", "BertModel", 117653760, N_("with pooler"), f"{_KERAS_HUB}; {_MTEB}"),
    PublishedCount("LaBSE", "BertModel", 470926848, N_("with pooler"), _MTEB),
    PublishedCount("roberta-base", "RobertaModel", 124645632, N_("with pooler"), _AUTOMODEL),
    PublishedCount(
        "roberta-base",
        "RobertaModel",
        124052736,
        _NO_ROWS,
        _keras("roberta"),
        add_pooling_layer=False,
        more=3 * 768,
    ),
    PublishedCount("roberta-large", "RobertaModel", 355359744, N_("with pooler"), _AUTOMODEL),
    PublishedCount("phobert-base-v2", "RobertaModel", 134998272, N_("with pooler"), f"{_MTEB} (vietnamese-bi-encoder)"),
    PublishedCount("xlm-roberta-base", "XLMRobertaModel", 278043648, N_("with pooler"), _MTEB),
    PublishedCount(
        "xlm-roberta-base",
        "XLMRobertaModel",
        277450752,
        _NO_ROWS,
        _keras("xlm_roberta"),
        add_pooling_layer=False,
        more=3 * 768,
    ),
    PublishedCount("xlm-roberta-large", "XLMRobertaModel", 559890432, N_("with pooler"), _MTEB),
    PublishedCount("bge-m3", "XLMRobertaModel", 567754752, N_("with pooler"), f"{_MTEB} (bge-m3-custom-fr)"),
    PublishedCount(
        "distilbert-base-uncased", "DistilBertModel", 66362880, N_("no pooler"), f"{_keras('distil_bert')}; {_MTEB}"
    ),
    PublishedCount("distilbert-base-cased", "DistilBertModel", 65190912, N_("no pooler"), _keras("distil_bert")),
    PublishedCount(
        "distilbert-base-multilingual-cased", "DistilBertModel", 134734080, N_("no pooler"), _keras("distil_bert")
    ),
    PublishedCount("albert-base-v2", "AlbertModel", 11683584, N_("with pooler"), _keras("albert")),
    PublishedCount("albert-large-v2", "AlbertModel", 17683968, N_("with pooler"), _keras("albert")),
    PublishedCount("albert-xlarge-v2", "AlbertModel", 58724864, N_("with pooler"), _keras("albert")),
    PublishedCount("albert-xxlarge-v2", "AlbertModel", 222595584, N_("with pooler"), _keras("albert")),
    PublishedCount(
        "electra-small-discriminator", "ElectraModel", 13548800, _POOLED, _keras("electra"), more=-256 * 256 - 256
    ),
    PublishedCount(
        "electra-base-discriminator", "ElectraModel", 109482240, _POOLED, _keras("electra"), more=-768 * 768 - 768
    ),
    PublishedCount(
        "electra-large-discriminator", "ElectraModel", 335141888, _POOLED, _keras("electra"), more=-1024 * 1024 - 1024
    ),
    PublishedCount(
        "electra-base-generator", "ElectraModel", 33576960, _POOLED, _keras("electra"), more=-256 * 256 - 256
    ),
    PublishedCount("all-mpnet-base-v2", "MPNetModel", 109486464, N_("with pooler"), _MTEB),
    PublishedCount("ModernBERT-base", "ModernBertModel", 149014272, N_("no pooler"), f"{_MTEB} (gte-modernbert-base)"),
    PublishedCount(
        "ModernBERT-base",
        "ModernBertModel",
        139_000_000,
        N_("the figure of its announcement, later corrected to 149M"),
        "Hugging Face blog, pull request 2575",
        more=10014272,
    ),
    PublishedCount(
        "ModernBERT-large",
        "ModernBertModel",
        394781696,
        N_("no pooler"),
        f"{_MTEB} (ettin-reranker-400m-v1, of the same sizes)",
    ),
    PublishedCount(
        "ettin-encoder-32m", "ModernBertModel", 31883136, N_("no pooler"), f"{_MTEB} (ettin-reranker-32m-v1)"
    ),
    PublishedCount(
        "ettin-encoder-17m", "ModernBertModel", 16797440, N_("no pooler"), f"{_MTEB} (ettin-reranker-17m-v1)"
    ),
    PublishedCount(
        "ettin-encoder-68m", "ModernBertModel", 68144640, N_("no pooler"), f"{_MTEB} (ettin-reranker-68m-v1)"
    ),
    PublishedCount(
        "ettin-encoder-1b", "ModernBertModel", 1028050688, N_("no pooler"), f"{_MTEB} (ettin-reranker-1b-v1)"
    ),
    PublishedCount("mmBERT-base", "ModernBertModel", 306939648, N_("no pooler"), f"{_MTEB} (mDenseOn)"),
    PublishedCount("gpt2", "GPT2Model", 124439808, N_("no pooler"), _keras("gpt2")),
    PublishedCount("gpt2-medium", "GPT2Model", 354823168, N_("no pooler"), _keras("gpt2")),
    PublishedCount("gpt2-large", "GPT2Model", 774030080, N_("no pooler"), _keras("gpt2")),
    PublishedCount("gpt2-xl", "GPT2Model", 1557611200, N_("no pooler"), _keras("gpt2")),
    PublishedCount("deberta-base", "DebertaModel", 138601728, N_("no pooler"), _AUTOMODEL),
    PublishedCount("deberta-large", "DebertaModel", 405163008, N_("no pooler"), _AUTOMODEL),
    PublishedCount("deberta-v3-xsmall", "DebertaV2Model", 70682112, N_("no pooler"), _keras("deberta_v3")),
    PublishedCount("deberta-v3-large", "DebertaV2Model", 434012160, N_("no pooler"), _keras("deberta_v3")),
    PublishedCount(
        "mmBERT-small",
        "ModernBertModel",
        140_000_000,
        _ROUNDED,
        "Hugging Face blog, mmbert.md",
        more=493696,
    ),
    PublishedCount(
        "deberta-v2-xlarge",
        "DebertaV2Model",
        900_000_000,
        _ROUNDED,
        "model card of microsoft/deberta-v2-xlarge",
        more=-15406848,
    ),
    PublishedCount(
        "deberta-v2-xxlarge",
        "DebertaV2Model",
        1_500_000_000,
        _ROUNDED,
        "model card of microsoft/deberta-v2-xxlarge",
        more=64549632,
    ),
    PublishedCount("deberta-v3-small", "DebertaV2Model", 141304320, N_("no pooler"), _keras("deberta_v3")),
    PublishedCount("deberta-v3-base", "DebertaV2Model", 183831552, N_("no pooler"), _keras("deberta_v3")),
    PublishedCount("mdeberta-v3-base", "DebertaV2Model", 278218752, N_("no pooler"), _keras("deberta_v3")),
    PublishedCount(
        "EuroBERT-210m",
        "EuroBertModel",
        211766016,
        N_("no pooler"),
        f"{_MTEB} (jina-embeddings-v5-text-nano, of the same sizes)",
    ),
    PublishedCount("nomic-embed-text-v1.5", "NomicBertModel", 136731648, N_("no pooler"), _MTEB),
)
