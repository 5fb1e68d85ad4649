"""The possible values of ``hidden_act``: transformers' ACT2FN as data."""

from typing import NamedTuple


class TensorsForBackward(NamedTuple):
    """The tensors that autograd saves for an activation: its input, its output, and numbers of further tensors.

    - ``same_size``: the number of tensors of the input's size and dtype.
    - ``learning``: the number of further such tensors, which are saved only if the activation's parameters are trained.
    - ``bools``: the number of tensors of the input's size with one byte per element.
    - ``scalars``: the number of tensors with one element.
    """

    input: bool = False
    output: bool = False
    same_size: int = 0
    learning: int = 0
    bools: int = 0
    scalars: int = 0


INPUT, OUTPUT = TensorsForBackward(input=True), TensorsForBackward(output=True)


class ActivationFacts(NamedTuple):
    """An activation's class name, the ``extra`` arguments that ``print`` shows, and the tensors that autograd saves.

    ``parameters`` are the names and shapes of the activation's trainable tensors; most activations have none.
    """

    kind: str
    kept: TensorsForBackward
    extra: str = ""
    parameters: tuple[tuple[str, tuple[int, ...]], ...] = ()


# From transformers 5.23 (transformers/activations.py); a test compares every entry with transformers.
ACTIVATIONS: dict[str, ActivationFacts] = {
    "gelu": ActivationFacts("GELUActivation", INPUT),
    "gelu_10": ActivationFacts("ClippedGELUActivation", TensorsForBackward(input=True, same_size=1)),
    "gelu_fast": ActivationFacts("FastGELUActivation", TensorsForBackward(input=True, same_size=6)),
    "gelu_new": ActivationFacts("NewGELUActivation", TensorsForBackward(input=True, same_size=3)),
    "gelu_python": ActivationFacts("GELUActivation", TensorsForBackward(same_size=3)),
    "gelu_pytorch_tanh": ActivationFacts("GELUTanh", INPUT),
    "gelu_python_tanh": ActivationFacts("GELUTanh", TensorsForBackward(input=True, same_size=3)),
    "gelu_accurate": ActivationFacts("AccurateGELUActivation", TensorsForBackward(input=True, same_size=3)),
    "hardswish": ActivationFacts("Hardswish", INPUT),
    "laplace": ActivationFacts("LaplaceActivation", TensorsForBackward(same_size=1)),
    "leaky_relu": ActivationFacts("LeakyReLU", INPUT, "negative_slope=0.01"),
    "linear": ActivationFacts("LinearActivation", TensorsForBackward()),
    "mish": ActivationFacts("MishActivation", INPUT),
    "quick_gelu": ActivationFacts("QuickGELUActivation", TensorsForBackward(input=True, same_size=1)),
    "relu": ActivationFacts("ReLU", OUTPUT),
    "relu2": ActivationFacts("ReLUSquaredActivation", TensorsForBackward(same_size=1)),
    "relu6": ActivationFacts("ReLU6", INPUT),
    "sigmoid": ActivationFacts("Sigmoid", OUTPUT),
    "silu": ActivationFacts("SiLUActivation", INPUT),
    "sqrtsoftplus": ActivationFacts("SqrtSoftplusActivation", TensorsForBackward(input=True, output=True)),
    "swish": ActivationFacts("SiLU", INPUT),
    "tanh": ActivationFacts("Tanh", OUTPUT),
    # prelu and xielu have parameters: prelu has a slope, xielu two exponents.
    "prelu": ActivationFacts("PReLU", INPUT, "num_parameters=1", (("weight", (1,)),)),
    "xielu": ActivationFacts(
        "XIELUActivation",
        TensorsForBackward(input=True, same_size=2, learning=1, bools=1, scalars=2),
        "",
        (("alpha_p", (1,)), ("alpha_n", (1,))),
    ),
}
