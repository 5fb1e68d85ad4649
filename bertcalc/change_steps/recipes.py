"""Common changes, ready to use with any model."""

from typing import NamedTuple

from bertcalc.change_steps.first_steps import first_step
from bertcalc.change_steps.step_texts import KINDS, written
from bertcalc.model.model import Model
from bertcalc.text import N_


class ChangeRecipe(NamedTuple):
    """A title, and steps as text. If ``steps`` has only kinds, ``first_step`` chooses arguments that fit the model.

    ``architecture`` is BERT's class for the recipe's task; for other families, the recipe uses their class for the same
    task. A model with fewer than ``tokens`` tokens in its vocabulary is replaced by ``preset``. ``device`` is the GPU
    that the recipe is for, named as in bertcalc/memory/devices.py.
    """

    title: str
    steps: str
    architecture: str = ""
    tokens: int = 0
    preset: str = ""
    device: str = ""

    def steps_for(self, model: Model) -> str:
        """Return the steps as text, with arguments that fit a model.

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
    ChangeRecipe(N_("Half of the layers, as in DistilBERT"), "layers"),
    ChangeRecipe(N_("int8 for a CPU"), "torch_dynamic"),
    ChangeRecipe(N_("A 4-bit GGUF file"), "gguf"),
)
