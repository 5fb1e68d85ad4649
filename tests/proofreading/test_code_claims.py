"""Numbers in code, compared with the counts of the real modules and classes."""

from fractions import Fraction

import pytest
import torch

from bertcalc.proofreading.proofread import proofread
from tests.proofreading.real_models import ROBERTA, count, real

MODULES = [
    "nn.Linear(768, 3072)",
    "nn.Linear(3072, 768)",
    "nn.Linear(768, 768, bias=False)",
    "nn.Embedding(30522, 768)",
    "nn.LayerNorm(1024)",
    "nn.Embedding(30522, 768, padding_idx=0)",
    "nn.Linear(in_features=768, out_features=3072, bias=True)",
    "nn.LayerNorm((768,), eps=1e-12)",
    "nn.LayerNorm(normalized_shape=1024, bias=False)",
]


def module_count(module: str) -> int:
    with torch.device("meta"):
        built = eval(module, {"nn": torch.nn})
    return sum(parameter.numel() for parameter in built.parameters())


@pytest.mark.parametrize("module", MODULES)
def test_the_count_of_a_module_is_right_and_any_other_is_wrong(module: str) -> None:
    text = "BERT-base\n\nprint(count({}))  # {}"
    right = proofread(text.format(module, module_count(module))).claims[-1]
    assert right.verdict == "right"
    wrong = proofread(text.format(module, module_count(module) + 768)).claims[-1]
    assert wrong.verdict == "wrong"
    assert wrong.right_value == module_count(module)


SIZES = {**ROBERTA, "vocab_size": 52_000, "num_hidden_layers": 6}
ESPERANTO = count(real("RobertaForMaskedLM", **SIZES))
CODE = """from transformers import RobertaConfig, RobertaForMaskedLM

config = RobertaConfig(
    vocab_size={vocabulary},
    max_position_embeddings=514,
    num_hidden_layers={layers},
    type_vocab_size=1,
)
model = RobertaForMaskedLM(config=config)
{printed}"""


@pytest.mark.parametrize(
    "printed",
    [
        "model.num_parameters()\n# => {} million parameters",
        "print(model.num_parameters())  # {}M",
        'print("parameters: ", model.num_parameters())\n# => {} million parameters',
        "sum(p.numel() for p in model.parameters())\n# {} million",
    ],
)
def test_a_printed_total_is_that_of_the_model_that_the_code_builds(printed: str) -> None:
    right = CODE.format(vocabulary="52_000", layers=6, printed=printed.format(round(ESPERANTO / 10**6)))
    assert [claim.verdict for claim in proofread(right).claims][-1] == "right"
    copied = CODE.format(vocabulary="52_000", layers=2, printed=printed.format(round(ESPERANTO / 10**6)))
    two = count(real("RobertaForMaskedLM", **{**SIZES, "num_hidden_layers": 2}))
    assert [claim.right_value for claim in proofread(copied).of("wrong")] == [two]


def test_old_versions_counted_the_pooler() -> None:
    pooler = 768 * 768 + 768
    text = CODE.format(vocabulary=52_000, layers=6, printed=f"print(model.num_parameters())\n{ESPERANTO + pooler}")
    claim = proofread(text).claims[-1]
    assert (claim.verdict, claim.right_value) == ("conditional", Fraction(ESPERANTO))


@pytest.mark.parametrize("unknown", ["len(tokenizer)", "args.vocab"])
def test_a_model_with_an_unknown_size_is_not_judged(unknown: str) -> None:
    text = CODE.format(vocabulary=unknown, layers=6, printed="model.num_parameters()\n# => 184 million parameters")
    assert not proofread(text).of("wrong")


@pytest.mark.parametrize(
    "code",
    [
        "print(sum(p.numel() for p in model.encoder.parameters()))  # 42,527,232",
        "head = nn.Linear(768, 30522)\nprint(sum(p.numel() for p in head.parameters()))  # 23,471,418",
        "sum(p.numel() for p in model.parameters() if p.requires_grad)  # 43,117,824",
        "other = BertModel(BertConfig())\nprint(model.num_parameters())  # 66,955,008",
    ],
)
def test_a_count_of_something_else_is_not_the_total(code: str) -> None:
    text = f"model = BertModel(BertConfig(num_hidden_layers=6))\n{code}"
    assert not any(claim.reason.startswith("BertModel has") for claim in proofread(text).of("wrong"))


def test_a_model_with_a_pooler_is_not_called_one_without() -> None:
    pooler = 768 * 768 + 768
    text = f"model = BertModel(BertConfig())\nprint(model.num_parameters())  # {count(real()) + pooler}"
    assert [claim.right_value for claim in proofread(text).of("wrong")] == [count(real())]
