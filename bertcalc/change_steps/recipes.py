"""Changes that people often make, ready to use."""

from typing import NamedTuple

from bertcalc.text import N_


class ChangeRecipe(NamedTuple):
    """Steps as text, with the preset and the class of the model that they start from."""

    title: str
    preset: str
    architecture: str
    steps: str


RECIPES = (
    ChangeRecipe(
        N_("LoRA for classification on 8 GB"),
        "bert-base-uncased",
        "BertForSequenceClassification",
        "lora,target_modules=query+value,task_type=SEQ_CLS",
    ),
    ChangeRecipe(
        N_("A multilingual BERT for one language"),
        "bert-base-multilingual-cased",
        "BertModel",
        "vocabulary,new_num_tokens=30000",
    ),
    ChangeRecipe(
        N_("Half of the layers, as DistilBERT"),
        "bert-base-uncased",
        "BertModel",
        "layers,layers=1+3+5+7+9+11",
    ),
    ChangeRecipe(
        N_("int8 for a CPU"),
        "bert-base-uncased",
        "BertForSequenceClassification",
        "torch_dynamic",
    ),
    ChangeRecipe(
        N_("The smallest file that keeps the model"),
        "bert-base-uncased",
        "BertForSequenceClassification",
        "gguf,type=Q4_0",
    ),
)
