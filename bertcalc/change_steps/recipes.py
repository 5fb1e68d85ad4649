"""Changes that people often make, ready to use with any model."""

from typing import NamedTuple

from bertcalc.model.model import Model
from bertcalc.model.modules import Conv1D, Linear
from bertcalc.text import N_


class ChangeRecipe(NamedTuple):
    """Steps as text, with {targets} for the query and value projections and {layers} for every other layer.

    ``architecture`` is a class for the task that the recipe is about; the class of the model's family for this task is
    what it needs. A model with fewer than ``tokens`` is replaced by ``preset``.
    """

    title: str
    steps: str
    architecture: str = ""
    tokens: int = 0
    preset: str = ""

    def steps_for(self, model: Model) -> str:
        """The steps for a model.

        >>> from bertcalc import load
        >>> RECIPES[0].steps_for(load("distilbert-base-uncased"))
        'lora,target_modules=q_lin+v_lin,task_type=SEQ_CLS'
        """
        targets = query_and_value(model)
        every_other = map(str, range(1, model.config.num_hidden_layers, 2) or [0])
        return self.steps.format(targets="+".join(targets) + "+" * (len(targets) == 1), layers="+".join(every_other))


def query_and_value(model: Model) -> list[str]:
    """The names of the linear modules that compute queries and values, the targets of LoRA's paper.

    >>> from bertcalc import load
    >>> query_and_value(load("gpt2"))
    ['c_attn']
    """
    names = dict.fromkeys(
        path.rpartition(".")[2]
        for path, module, _copies in model.modules()
        if isinstance(module, (Linear, Conv1D)) and {"query", "value"} & {*module.place.role.split(", ")}
    )
    return [*names]


RECIPES = (
    ChangeRecipe(
        N_("LoRA for classification"),
        "lora,target_modules={targets},task_type=SEQ_CLS",
        architecture="BertForSequenceClassification",
    ),
    ChangeRecipe(
        N_("A multilingual model for one language"),
        "vocabulary,new_num_tokens=30000",
        tokens=100_000,
        preset="bert-base-multilingual-cased",
    ),
    ChangeRecipe(N_("Half of the layers, as DistilBERT"), "layers,layers={layers}"),
    ChangeRecipe(N_("int8 for a CPU"), "torch_dynamic"),
    ChangeRecipe(N_("A 4-bit GGUF file"), "gguf,type=Q4_0"),
)
