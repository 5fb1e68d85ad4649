"""Changes that people often make, ready to use with any model."""

from typing import NamedTuple

from bertcalc.change_steps.first_steps import first_step
from bertcalc.change_steps.step_texts import KINDS, written
from bertcalc.model.model import Model
from bertcalc.text import N_


class ChangeRecipe(NamedTuple):
    """Steps as text; if the text has only kinds, the arguments are those that fit the model (``first_step``).

    ``architecture`` is BERT's class for the recipe's task; the recipe needs the class of the model's family for the
    same task. A model whose vocabulary has fewer than ``tokens`` is replaced by ``preset``. ``device`` is the GPU that
    the recipe is for, as in bertcalc/memory/devices.py.
    """

    title: str
    steps: str
    architecture: str = ""
    tokens: int = 0
    preset: str = ""
    device: str = ""

    def steps_for(self, model: Model) -> str:
        """The steps as text, with arguments that fit a model.

        >>> from bertcalc import load
        >>> RECIPES[0].steps_for(load("distilbert-base-uncased", "DistilBertForSequenceClassification"))
        'lora,target_modules=q_lin+v_lin,task_type=SEQ_CLS'
        """
        kinds = self.steps.split(";")
        if not all(kind in KINDS for kind in kinds):
            return self.steps
        return written(first_step(kind, model) for kind in kinds)


RECIPES = (
    ChangeRecipe(
        N_("LoRA for classification on 8 GB"),
        "lora",
        architecture="BertForSequenceClassification",
        device="RTX-4060-8GB",
    ),
    ChangeRecipe(N_("QLoRA for classification"), "bitsandbytes;lora", architecture="BertForSequenceClassification"),
    ChangeRecipe(
        N_("A multilingual model for one language"),
        "vocabulary,new_num_tokens=30000",
        tokens=100_000,
        preset="bert-base-multilingual-cased",
    ),
    ChangeRecipe(N_("Half of the layers, as DistilBERT"), "layers"),
    ChangeRecipe(N_("int8 for a CPU"), "torch_dynamic"),
    ChangeRecipe(N_("A 4-bit GGUF file"), "gguf"),
)
