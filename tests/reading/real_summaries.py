"""Write the summaries in ``summaries/`` with the libraries that print them.

    pip install keras==3.15.1 torchsummary==1.5.1
    KERAS_BACKEND=torch python -m tests.reading.real_summaries

Each file is a library's output. ``index.json`` has the library's version and its parameter count.
"""

import contextlib
import io
import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

PLACE = Path(__file__).with_name("summaries")


class Summary(NamedTuple):
    """A printed summary: the library that prints it, its text, and the model's parameter count."""

    library: str
    text: str
    parameters: int


def of_keras(model: Any, **options: Any) -> Summary:
    lines: list[str] = []
    model.summary(print_fn=lambda line, **_more: lines.append(line), **options)
    return Summary("keras", "\n".join(lines), model.count_params())


def keras_summaries() -> Iterator[tuple[str, Summary]]:
    """Yield summaries of a functional model, of a model that contains it, and of sequential models.

    The functional model has a shared layer and long names. One sequential model is trained, so its total includes the
    optimizer's variables.
    """
    import keras
    import numpy
    from keras import layers

    ids = keras.Input((128,), dtype="int32", name="input_ids")
    hidden = layers.Embedding(30522, 64, name="token_embedding")(ids)
    hidden = layers.LayerNormalization(name="embeddings_layer_normalization_with_a_very_long_name")(hidden)
    dense = layers.Dense(64, name="shared_dense")
    hidden = dense(dense(hidden))
    attention = layers.MultiHeadAttention(4, 16, name="self_attention_of_the_first_transformer_block")(hidden, hidden)
    pooled = layers.GlobalAveragePooling1D()(layers.Add()([hidden, attention]))
    labels = layers.Dense(3, activation="softmax", name="classifier")(pooled)
    model = keras.Model(ids, labels, name="toy")
    yield "keras_functional", of_keras(model)
    yield "keras_narrow", of_keras(model, line_length=70)
    yield "keras_trainable", of_keras(model, show_trainable=True)
    other_ids = keras.Input((128,), dtype="int32")
    encoder = keras.Model(ids, pooled, name="encoder")
    whole = keras.Model(other_ids, layers.Dense(5)(encoder(other_ids)), name="nested")
    yield "keras_nested", of_keras(whole, expand_nested=True)
    recurrent = keras.Sequential([layers.Embedding(1000, 16), layers.Bidirectional(layers.LSTM(8)), layers.Dense(1)])
    recurrent.build((None, 10))
    yield "keras_sequential", of_keras(recurrent)
    layered = [keras.Input((16,)), layers.Dense(32), layers.BatchNormalization(), layers.Dense(3)]
    trained = keras.Sequential(layered)
    trained.compile(optimizer="adam", loss="mse")
    trained.fit(numpy.zeros((4, 16)), numpy.zeros((4, 3)), verbose=0)
    yield "keras_trained", of_keras(trained)


def torchsummary_summaries() -> Iterator[tuple[str, Summary]]:
    import torch
    import torchsummary

    linear = torch.nn.Sequential(
        torch.nn.Linear(8, 16), torch.nn.LayerNorm(16), torch.nn.ReLU(), torch.nn.Linear(16, 2)
    )
    convolution = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Flatten(), torch.nn.Linear(8 * 36, 10)
    )
    for name, model, size in (("linear", linear, (8,)), ("convolution", convolution, (3, 8, 8))):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            torchsummary.summary(model, size, device="cpu")
        parameters = sum(tensor.numel() for tensor in model.parameters())
        yield f"torchsummary_{name}", Summary("torchsummary", printed.getvalue(), parameters)


def main() -> None:
    index = {}
    for name, summary in (*keras_summaries(), *torchsummary_summaries()):
        PLACE.joinpath(f"{name}.txt").write_text(summary.text, encoding="utf-8")
        made_by = f"{summary.library} {version(summary.library)}"
        index[name] = {"made_by": made_by, "parameters": summary.parameters}
    PLACE.joinpath("index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
