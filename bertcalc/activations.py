"""What ``hidden_act`` can be: transformers' ACT2FN, as data."""

from typing import NamedTuple


class ActivationFacts(NamedTuple):
    """How ``print`` shows an activation, the tensors that it learns (nearly always none), who has it."""

    kind: str
    extra: str = ""
    parameters: tuple[tuple[str, tuple[int, ...]], ...] = ()
    in_transformers_4: bool = True


# Read off transformers 5.23 (transformers/activations.py); a test compares every entry with it.
# in_transformers_4 was read off 4.57.
ACTIVATIONS: dict[str, ActivationFacts] = {
    "gelu": ActivationFacts("GELUActivation"),
    "gelu_10": ActivationFacts("ClippedGELUActivation"),
    "gelu_fast": ActivationFacts("FastGELUActivation"),
    "gelu_new": ActivationFacts("NewGELUActivation"),
    "gelu_python": ActivationFacts("GELUActivation"),
    "gelu_pytorch_tanh": ActivationFacts("GELUTanh"),
    "gelu_python_tanh": ActivationFacts("GELUTanh"),
    "gelu_accurate": ActivationFacts("AccurateGELUActivation"),
    "hardswish": ActivationFacts("Hardswish", in_transformers_4=False),
    "laplace": ActivationFacts("LaplaceActivation"),
    "leaky_relu": ActivationFacts("LeakyReLU", "negative_slope=0.01"),
    "linear": ActivationFacts("LinearActivation"),
    "mish": ActivationFacts("MishActivation"),
    "quick_gelu": ActivationFacts("QuickGELUActivation"),
    "relu": ActivationFacts("ReLU"),
    "relu2": ActivationFacts("ReLUSquaredActivation"),
    "relu6": ActivationFacts("ReLU6"),
    "sigmoid": ActivationFacts("Sigmoid"),
    "silu": ActivationFacts("SiLUActivation"),
    "sqrtsoftplus": ActivationFacts("SqrtSoftplusActivation", in_transformers_4=False),
    "swish": ActivationFacts("SiLU"),
    "tanh": ActivationFacts("Tanh"),
    # These two learn something: a slope, and two exponents.
    "prelu": ActivationFacts("PReLU", "num_parameters=1", (("weight", (1,)),)),
    "xielu": ActivationFacts("XIELUActivation", "", (("alpha_p", (1,)), ("alpha_n", (1,)))),
}
