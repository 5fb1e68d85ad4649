"""Examples of texts to paste, generated from bertcalc's definitions; the article has two mistakes."""

import json
from collections import Counter
from collections.abc import Callable, Iterator

from bertcalc.changes.lora import Lora
from bertcalc.families import build, hf_json
from bertcalc.families.presets import DEFAULT_PRESET
from bertcalc.model.modules import Module
from bertcalc.storage.safetensors_file import header_text
from bertcalc.storage.stored_tensors import StoredTensor
from bertcalc.text import N_

_DEPTH, _WIDTH = 3, 51  # the depth and the width of the first column in torchinfo's tables
_IN_TENSORFLOW = {
    "LayerNorm.weight": "LayerNorm.gamma",
    "LayerNorm.bias": "LayerNorm.beta",
    "embeddings.weight": "embeddings",
    "dense.weight": "dense.kernel",
    **{f"{part}.weight": f"{part}.kernel" for part in ("query", "key", "value")},
}


def _printed() -> str:
    return f"{build(DEFAULT_PRESET, 'BertForSequenceClassification')}"


def _listing() -> str:
    tensors = build(DEFAULT_PRESET).tensors(folded=False)
    return "\n".join(f"{tensor.name} torch.Size({list(tensor.shape)})" for tensor in tensors)


def torchinfo_table(model: Module) -> str:
    """Return the output of ``torchinfo.summary(model)``."""
    total, line = model.num_parameters(), "=" * 75
    rows = [f"{model.class_name:{_WIDTH}}--", *_torchinfo_rows(model, 1, Counter())]
    totals = (f"Total params: {total:,}", f"Trainable params: {total:,}", "Non-trainable params: 0")
    return "\n".join([line, f"{'Layer (type:depth-idx)':{_WIDTH}}Param #", line, *rows, line, *totals, line])


def _torchinfo_rows(module: Module, depth: int, numbers: Counter[int]) -> Iterator[str]:
    """Yield a row for each module inside; at the last depth, a row counts all parameters below it."""
    for _name, child, copies in module.named_children(folded=False):
        for _copy in range(copies):
            numbers[depth] += 1
            is_last = depth == _DEPTH or not any(child.named_children(folded=True))
            count = child.num_parameters() if is_last else child.own_parameters()
            bars = "├─" if depth == 1 else "│    " * (depth - 1) + "└─"
            yield f"{f'{bars}{child.class_name}: {depth}-{numbers[depth]}':{_WIDTH}}{f'{count:,}' if count else '--'}"
            if not is_last:
                yield from _torchinfo_rows(child, depth + 1, numbers)


def _header() -> str:
    named = build("distilbert-base-uncased").named_parameters()
    return header_text([StoredTensor(name, "F32", shape) for name, shape in named])


def _tensorflow() -> str:
    """Return the variables of Google's checkpoint as TensorFlow lists them, with transposed matrices."""
    lines = []
    for name, shape in build(DEFAULT_PRESET).named_parameters():
        path = f"bert.{name}".replace("layer.", "layer_")
        ending = next((ending for ending in _IN_TENSORFLOW if path.endswith(ending)), "")
        path = path.removesuffix(ending) + _IN_TENSORFLOW.get(ending, "")
        sides = reversed(shape) if path.endswith("kernel") else shape
        lines.append(f"{path.replace('.', '/')} (DT_FLOAT) [{','.join(map(str, sides))}]")
    return "\n".join(lines)


def _config() -> str:
    return hf_json.write(build("albert-base-v2"))


def _adapter_config() -> str:
    lora = Lora(r=16, target_modules=("query", "value"), task_type="SEQ_CLS")
    keys = {"base_model_name_or_path": DEFAULT_PRESET, "peft_type": lora.peft_type, "task_type": lora.task_type}
    return json.dumps({**keys, "r": lora.r, "target_modules": lora.target_modules}, indent=2)


def _article() -> str:
    return """\
# How large is BERT-base?

The embeddings have (30522 + 512 + 2) * 768 = 23,835,648 parameters, and their LayerNorm 2 * 768 = 1,536.

The attention of one layer has four matrices with biases: 4 * (768 * 768 + 768) = 2,362,368. The feed-forward of one
layer has 2 * 768 * 3072 = 4,718,592, and the two LayerNorms have 3,072 parameters.

One layer has 7,087,872 parameters, so all 12 layers have 12 * 7,087,872 = 85,054,464. The pooler has 590,592.

In total, BERT-base has 110,482,240 parameters.
"""


def _program() -> str:
    return """\
# BERT-base
V, H, L, I = 30522, 768, 12, 3072
embeddings = (V + 512 + 2) * H + 2 * H
attention = 4 * (H * H + H) + 2 * H
feed_forward = 2 * H * I + I + H + 2 * H
pooler = H * H + H
total = embeddings + attention + feed_forward + pooler
print(total)
"""


EXAMPLES: dict[str, Callable[[], str]] = {
    N_("a number"): lambda: "109,089,024",
    N_("a calculation"): lambda: "12 * (4 * 768 * 768 + 2 * 768 * 3072)",
    N_("a hand count"): lambda: "embeddings = (V + P + T) * H\nattention = L * 4 * H * H\nfeed-forward = L * 2 * H * I",
    N_("an article"): _article,
    N_("a program"): _program,
    N_("a printed PyTorch model"): _printed,
    N_("a list of tensors"): _listing,
    N_("a torchinfo table"): lambda: torchinfo_table(build(DEFAULT_PRESET)),
    N_("TensorFlow's variables"): _tensorflow,
    N_("a safetensors header"): _header,
    N_("a config.json"): _config,
    N_("an adapter_config.json"): _adapter_config,
}
