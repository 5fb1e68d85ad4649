"""Programs for architectures other than BERT, written in this file and compared with the real models."""

from typing import Any

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from bertcalc.forward.walk import walk
from bertcalc.model.batch import Batch
from bertcalc.model.modules import Conv1D, Module, Norm
from bertcalc.model.stack import in_layers, stack
from bertcalc.model.trace import AttentionOptions, Step, Trace, Value

SMALL = {"vocab_size": 50, "pad_token_id": 0}


def albert(t: Trace, c: Any) -> None:
    """ALBERT: one group of tensors for all runs, and embeddings narrower than the layers."""
    with t.module("embeddings", "AlbertEmbeddings", component="embeddings", order=EMBEDDINGS):
        ids, types = t.inputs("input_ids", "token_type_ids")
        width = c.embedding_size
        x = t.embedding("word_embeddings", ids, c.vocab_size, width, role="word", padding_idx=c.pad_token_id)
        kinds = t.embedding("token_type_embeddings", types, c.type_vocab_size, width, role="token type")
        places = Value("position_ids", (1, ids.shape[-1]), ids=True)
        rows = t.embedding("position_embeddings", places, c.max_position_embeddings, width, role="position")
        x = t.add("add_position", t.add("add_token_type", x, kinds), rows)
        x = t.dropout("dropout", t.norm("LayerNorm", x, c.layer_norm_eps), c.hidden_dropout_prob)
    with t.module("encoder", "AlbertTransformer", component="encoder"):
        x = t.linear("embedding_hidden_mapping_in", x, c.hidden_size, role="mapping")
        with (
            t.repeat("albert_layer_groups", 1, "AlbertLayerGroup", runs=c.num_hidden_layers),
            t.repeat("albert_layers", 1, "AlbertLayer"),
            t.ordered("full_layer_layer_norm", "attention", "ffn", "ffn_output", "activation", "dropout"),
        ):
            heads = c.num_attention_heads
            with t.attention("attention", "AlbertAttention", heads, c.hidden_size // heads, order=ALBERT):
                q, k, v = (t.linear(name, x, c.hidden_size, role=name) for name in ("query", "key", "value"))
                p = c.attention_probs_dropout_prob
                y = t.attend(q, k, v, AttentionOptions(dropout=p, dropout_name="attention_dropout"))
                y = t.dropout("output_dropout", t.linear("dense", y, c.hidden_size, role="output"), 0.0)
                x = t.norm("LayerNorm", t.add("add", y, x), c.layer_norm_eps)
            y = t.activation("activation", t.linear("ffn", x, c.intermediate_size, role="up"), c.hidden_act)
            y = t.linear("ffn_output", y, c.hidden_size, role="down")
            x = t.norm("full_layer_layer_norm", t.add("add", y, x), c.layer_norm_eps)
            x = t.dropout("dropout", x, c.hidden_dropout_prob)
    x = t.linear("pooler", t.first_token(x), c.hidden_size, role="dense")
    t.output("pooler_output", t.activation("pooler_activation", x, "tanh"))


EMBEDDINGS = ("word_embeddings", "position_embeddings", "token_type_embeddings", "LayerNorm", "dropout")
ALBERT = ("attention_dropout", "output_dropout", "query", "key", "value", "dense", "LayerNorm")


def distilbert(t: Trace, c: Any) -> None:
    """DistilBERT: modules are registered in another order than they run."""
    with t.module("embeddings", "Embeddings", component="embeddings"):
        (ids,) = t.inputs("input_ids")
        x = t.embedding("word_embeddings", ids, c.vocab_size, c.dim, role="word", padding_idx=c.pad_token_id)
        places = Value("position_ids", (1, ids.shape[-1]), ids=True)
        x = t.add(
            "add", x, t.embedding("position_embeddings", places, c.max_position_embeddings, c.dim, role="position")
        )
        x = t.dropout("dropout", t.norm("LayerNorm", x, 1e-12), c.dropout)
    with (
        t.module("transformer", "Transformer", component="encoder"),
        t.repeat("layer", c.n_layers, "TransformerBlock"),
    ):
        order = ("q_lin", "k_lin", "v_lin", "out_lin", "dropout")
        with t.attention("attention", "DistilBertSelfAttention", c.n_heads, c.dim // c.n_heads, order=order):
            q, k, v = (t.linear(f"{name}_lin", x, c.dim, role=name) for name in "qkv")
            y = t.attend(q, k, v, AttentionOptions(dropout=c.attention_dropout))
            y = t.linear("out_lin", y, c.dim, role="output")
        x = t.norm("sa_layer_norm", t.add("add_attention", y, x), 1e-12)
        with t.module("ffn", "FFN", order=("dropout", "lin1", "lin2", "activation")):
            y = t.activation("activation", t.linear("lin1", x, c.hidden_dim, role="up"), c.activation)
            y = t.dropout("dropout", t.linear("lin2", y, c.dim, role="down"), c.dropout)
        x = t.norm("output_layer_norm", t.add("add", y, x), 1e-12)


def gpt2(t: Trace, c: Any) -> None:
    """GPT-2: transposed weights, a fused projection, and a tied head without a bias."""
    width = c.n_embd
    with t.module("transformer", "GPT2Model"):
        (ids,) = t.inputs("input_ids")
        x = t.embedding("wte", ids, c.vocab_size, width, role="word")
        places = Value("position_ids", (1, ids.shape[-1]), ids=True)
        x = t.dropout("drop", t.add("add", x, t.embedding("wpe", places, c.n_positions, width, role="position")), 0.1)
        with t.repeat("h", c.n_layer, "GPT2Block"):
            y = t.norm("ln_1", x, c.layer_norm_epsilon)
            order = ("c_attn", "c_proj", "attn_dropout", "resid_dropout")
            with t.attention("attn", "GPT2Attention", c.n_head, width // c.n_head, order=order):
                q, k, v = t.cut(t.conv1d("c_attn", y, 3 * width, role="query, key, value"), "query", "key", "value")
                y = t.attend(q, k, v, AttentionOptions(dropout=c.attn_pdrop, dropout_name="attn_dropout"))
                y = t.dropout("resid_dropout", t.conv1d("c_proj", y, width, role="output"), c.resid_pdrop)
            x = t.add("add_attention", y, x)
            y = t.norm("ln_2", x, c.layer_norm_epsilon)
            with t.module("mlp", "GPT2MLP", order=("c_fc", "c_proj", "act", "dropout")):
                y = t.activation("act", t.conv1d("c_fc", y, 4 * width, role="up"), c.activation_function)
                y = t.dropout("dropout", t.conv1d("c_proj", y, width, role="down"), c.resid_pdrop)
            x = t.add("add", y, x)
        x = t.norm("ln_f", x, c.layer_norm_epsilon)
    tied = {"weight": "transformer.wte.weight"}
    t.output("logits", t.linear("lm_head", x, c.vocab_size, role="decoder", bias=False, tied=tied))


def modernbert(t: Trace, c: Any) -> None:
    """ModernBERT: different layers, no biases, a gated feed-forward network, a fused projection, rotary positions."""
    width, eps, heads = c.hidden_size, c.norm_eps, c.num_attention_heads
    t.ordered("embeddings", "layers", "final_norm", "rotary_emb")
    with t.module("embeddings", "ModernBertEmbeddings", component="embeddings"):
        (ids,) = t.inputs("input_ids")
        x = t.embedding("tok_embeddings", ids, c.vocab_size, width, role="word", padding_idx=c.pad_token_id)
        x = t.dropout("drop", t.norm("norm", x, eps, bias=False), c.embedding_dropout)
    turned = [t.angles("rotary_emb", "ModernBertRotaryEmbedding", x, width // heads)]
    for start, copies in ((0, 1), (1, c.num_hidden_layers - 1)):
        with t.repeat("layers", copies, "ModernBertEncoderLayer", start=start):
            if start:
                y = t.norm("attn_norm", x, eps, bias=False)
            else:
                t.idle("attn_norm", "Identity")
                y = x
            with t.attention("attn", "ModernBertAttention", heads, width // heads):
                q, k, v = t.cut(
                    t.linear("Wqkv", y, 3 * width, role="query, key, value", bias=False), "query", "key", "value"
                )
                y = t.attend(q, k, v, AttentionOptions(dropout=None, angles=turned))
                y = t.linear("Wo", y, width, role="output", bias=False)
                t.idle("out_drop", "Identity")
            x = t.add("add_attention", y, x)
            y = t.norm("mlp_norm", x, eps, bias=False)
            with t.module("mlp", "ModernBertMLP"):
                both = t.linear("Wi", y, 2 * c.intermediate_size, role="up", bias=False)
                y, gate = t.cut(both, "input", "gate")
                y = t.activation("act", y, c.hidden_activation)
                y = t.dropout("drop", t.multiply("gated", y, gate), c.mlp_dropout)
                y = t.linear("Wo", y, width, role="down", bias=False)
            x = t.add("add", y, x)
    t.output("last_hidden_state", t.norm("final_norm", x, eps, bias=False))


MODELS: dict[str, Any] = {
    "AlbertModel": (
        albert,
        transformers.AlbertConfig(
            **SMALL, embedding_size=8, hidden_size=12, num_attention_heads=3, intermediate_size=20, num_hidden_layers=4
        ),
    ),
    "DistilBertModel": (
        distilbert,
        transformers.DistilBertConfig(**SMALL, dim=12, n_heads=3, hidden_dim=20, n_layers=2),
    ),
    "GPT2LMHeadModel": (gpt2, transformers.GPT2Config(vocab_size=50, n_embd=12, n_head=3, n_layer=2)),
    "ModernBertModel": (
        modernbert,
        transformers.ModernBertConfig(
            **SMALL, hidden_size=12, num_attention_heads=3, intermediate_size=20, num_hidden_layers=4
        ),
    ),
}


def traced(program: Any, config: Any, name: str) -> tuple[Module, list[Step]]:
    root, steps = Module(name), list[Step]()
    program(Trace(root, "", Batch(2, 9), steps, choices=False), config)
    return root, steps


@pytest.mark.parametrize("name", MODELS)
def test_another_architecture_can_be_written_and_is_the_real_one(name: str) -> None:
    program, config = MODELS[name]
    ours, steps = traced(program, config, name)
    with torch.device("meta"):
        real = getattr(transformers, name)(config)
    assert str(ours) == str(real)
    shapes = [(found, tuple(tensor.shape)) for found, tensor in real.named_parameters()]
    assert list(ours.named_parameters()) == shapes
    assert ours.num_parameters() == sum(tensor.numel() for tensor in real.parameters())
    declared, _nothing = Module(name), None
    program(Trace(declared, "", Batch(), None, choices=False), config)
    assert str(declared) == str(real)
    # Every product of the real forward pass, in every run of a layer.
    real.set_attn_implementation("eager")
    with FlopCounterMode(display=False) as counter, torch.device("meta"):
        real(input_ids=torch.zeros((2, 9), dtype=torch.long))
    assert sum(2 * step.runs * step.multiply_adds() for step in steps) == counter.get_total_flops()
    # Each tensor is used in a step.
    used = {tensor.name for step in steps for tensor in step.tensors}
    assert used == {tensor.name for tensor in ours.tensors()}


def test_rmsnorm_has_no_beta() -> None:
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    ours, real = Norm("LlamaRMSNorm", 12, 1e-6, bias=False), LlamaRMSNorm(12)
    assert str(ours) == str(real)
    assert dict(ours.named_parameters()) == {name: tuple(tensor.shape) for name, tensor in real.named_parameters()}


def test_a_transposed_weight_is_gpt2s() -> None:
    from transformers.pytorch_utils import Conv1D as Real

    ours, real = Conv1D(3, 7), Real(7, 3)
    assert str(ours) == str(real)
    assert dict(ours.named_parameters()) == {name: tuple(tensor.shape) for name, tensor in real.named_parameters()}


class Layer(torch.nn.Module):  # type: ignore[misc]  # torch publishes no types
    """A layer with a single product."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = torch.nn.Linear(6, 6)


class Convolved(torch.nn.Module):  # type: ignore[misc]  # torch publishes no types
    """Identical layers, and a convolution over three tokens that runs after the first layer."""

    def __init__(self) -> None:
        super().__init__()
        self.word = torch.nn.Embedding(11, 6)
        self.layers = torch.nn.ModuleList([Layer() for _layer in range(4)])
        self.conv = torch.nn.Conv1d(6, 6, 3, padding=1)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.layers[0].dense(self.word(ids))
        x = self.conv(x.mT).mT
        for layer in self.layers[1:]:
            x = layer.dense(x)
        return x


def convolved(t: Trace, c: Any) -> None:
    with t.ordered("word", "layers", "conv"):
        x = t.embedding("word", t.inputs("input_ids")[0], 11, 6, role="word")
        with t.repeat("layers", 1, "Layer", start=0):
            x = t.linear("dense", x, 6, role="dense")
        batch, length, width = x.shape
        x = t.step("channels", "copy", x, shape=(batch, width, length))
        x = t.convolution("conv", x, 3, role="convolution")
        x = t.step("tokens", "copy", x, shape=(batch, length, width))
        with t.repeat("layers", 3, "Layer", start=1, alike=True):
            t.output("last_hidden_state", t.linear("dense", x, 6, role="dense"))


def test_a_convolution_between_layers_that_are_alike() -> None:
    ours, steps = traced(convolved, None, "Convolved")
    real = Convolved()
    assert str(ours) == str(real)
    assert list(ours.named_parameters()) == [(name, tuple(one.shape)) for name, one in real.named_parameters()]
    with FlopCounterMode(display=False) as counter:
        real(torch.zeros((2, 9), dtype=torch.long))
    flops = {name: sum(found.values()) for name, found in counter.get_flop_counts().items()}
    found = {step.name: 2 * step.multiply_adds() for step in steps if step.multiply_adds()}
    assert found["conv"] == flops["Convolved.conv"]
    assert found["layers.0.dense"] == found["layers.*.dense"] == flops["Convolved.layers.2.dense"]
    assert sum(2 * step.runs * step.multiply_adds() for step in steps) == flops["Global"]
    assert [(group.start, group.copies) for group in stack(steps).groups] == [(0, 1), (1, 3)]
    tensors = [(tensor.name, tensor.copies) for step in steps for tensor in step.tensors if "layers" in tensor.name]
    assert tensors == [
        *(("layers.0.dense.weight", 1), ("layers.0.dense.bias", 1)),
        *(("layers.*.dense.weight", 3), ("layers.*.dense.bias", 3)),
    ]


def rotated(t: Trace, c: Any) -> None:
    """Layers take the kinds of angles in turn, after a first layer that takes the first kind."""
    x = t.embedding("word", t.inputs("input_ids")[0], 11, 6, role="word")
    kinds = [t.angles("rotary", "Rotary", x, 6) for _kind in range(2)]
    for start, copies, angles in ((0, 1, kinds[:1]), (1, 5, (kinds[0], kinds[1], kinds[1]))):
        with t.repeat("layers", copies, "Layer", start=start):
            x = t.linear("dense", t.rotate("rotated", x, angles), 6, role="dense")
    t.output("last_hidden_state", x)


def test_layers_take_angles_in_turn() -> None:
    ours, steps = traced(rotated, None, "Rotated")
    assert str(ours).count("Rotary()") == 1  # one module, which is called twice
    assert dict(ours.children["rotary"].buffers) == {
        "rotary.inv_freq": ((6,), False),
        "rotary_again.inv_freq": ((6,), False),
    }
    given = [step.gives for step in steps if step.operation == "angles"]
    assert [value.name for value in given] == ["rotary", "rotary_again"]
    assert [value.shape for value in given] == [(2, 1, 9, 6)] * 2
    first, others = (step for step in steps if step.operation == "rotate")
    assert [value.name for value in first.takes] == ["word", "rotary"]
    assert first.turns == ()
    assert [value.name for value in others.turns] == ["rotary", "rotary_again", "rotary_again"]
    taken = [in_layers(others, [layer]).takes[1].name for layer in range(1, 6)]
    assert taken == ["rotary_again", "rotary_again", "rotary", "rotary_again", "rotary_again"]
    assert [value.name for value in in_layers(others, None).takes[1:]] == ["rotary", "rotary_again"]
    assert [value.name for value in in_layers(others, [3]).takes[1:]] == ["rotary"]
    opened = [next(stop for stop in walk(steps, layer) if stop.name.endswith("rotated")) for layer in (0, 1, 3)]
    assert [stop.takes[-1].name for stop in opened] == ["rotary", "rotary_again", "rotary"]


def test_what_is_not_run_is_counted_and_said() -> None:
    root, steps = Module("Model"), list[Step]()
    t = Trace(root, "", Batch(1, 4), steps, choices=False)
    with t.module("body", "Body"):
        x = t.embedding("table", t.inputs("input_ids")[0], 5, 3, role="word")
        with t.not_run():
            t.linear("spare", x, 2, role="dense")
        t.linear("last", x, 2, role="dense")
    assert root.num_parameters() == 5 * 3 + 2 * (3 * 2 + 2)
    assert [(step.name, step.operation) for step in steps] == [
        ("input_ids", "input"),
        ("body.table", "lookup"),
        ("body.spare", "unused"),
        ("body.last", "linear"),
    ]
    assert [tensor.name for tensor in steps[2].tensors] == ["body.spare.weight", "body.spare.bias"]


def test_an_output_that_no_step_gives_is_a_mistake() -> None:
    t = Trace(Module("Model"), "", Batch(1, 4), [], choices=False)
    with pytest.raises(ValueError, match="no step gives nothing"):
        t.output("logits", Value("nothing", (1,)))
