"""What Hypothesis draws: every valid configuration, in sizes that print and build quickly."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from bertcalc import ARCHITECTURES, BertConfig
from bertcalc.activations import ACTIVATIONS
from bertcalc.config import PositionEmbeddingType
from bertcalc.forward.outputs import Call
from tests.oracle import Case

architectures = st.sampled_from(list(ARCHITECTURES))
_PROBABILITIES = st.floats(0, 1) | st.sampled_from([0, 1])
_POSITIVE_FLOATS = st.floats(0, 1, exclude_min=True)
ACTIVATIONS_OF_4 = [name for name, facts in ACTIVATIONS.items() if facts.in_transformers_4]
_ABSOLUTE: tuple[PositionEmbeddingType, ...] = ("absolute",)


@st.composite
def configs(
    draw: st.DrawFn,
    positions: Sequence[PositionEmbeddingType] = _ABSOLUTE,
) -> BertConfig:
    position = draw(st.sampled_from(positions))
    activations = list(ACTIVATIONS) if position == "absolute" else ACTIVATIONS_OF_4
    heads = draw(st.integers(1, 12))
    vocab_size = draw(st.integers(1, 3000))
    tokens = st.none() | st.integers(0, vocab_size - 1)
    is_decoder = draw(st.booleans())
    return BertConfig(
        vocab_size=vocab_size,
        hidden_size=heads * draw(st.integers(1, 64)),
        num_hidden_layers=draw(st.integers(1, 4)),
        num_attention_heads=heads,
        intermediate_size=draw(st.integers(1, 3000)),
        hidden_act=draw(st.sampled_from(activations)),
        hidden_dropout_prob=draw(_PROBABILITIES),
        attention_probs_dropout_prob=draw(_PROBABILITIES),
        max_position_embeddings=draw(st.integers(1, 1000)),
        type_vocab_size=draw(st.integers(1, 10)),
        initializer_range=draw(_POSITIVE_FLOATS),
        layer_norm_eps=draw(_POSITIVE_FLOATS),
        pad_token_id=draw(tokens),
        position_embedding_type=position,
        use_cache=draw(st.booleans()),
        classifier_dropout=draw(st.none() | _PROBABILITIES),
        is_decoder=is_decoder,
        add_cross_attention=is_decoder and draw(st.booleans()),
        bos_token_id=draw(tokens),
        eos_token_id=draw(tokens),
        tie_word_embeddings=draw(st.booleans()),
        num_labels=draw(st.integers(1, 20)),
    )


@st.composite
def cases(
    draw: st.DrawFn,
    positions: Sequence[PositionEmbeddingType] = _ABSOLUTE,
) -> Case:
    architecture = draw(architectures)
    pooler = draw(st.booleans()) if architecture == "BertModel" else True
    return Case(draw(configs(positions)), architecture, pooler)


@st.composite
def passes(draw: st.DrawFn) -> tuple[Case, Call]:
    """A model and what goes through it, with an encoder's output where a decoder can read one."""
    case = draw(cases())
    if case.architecture == "BertForQuestionAnswering":  # its forward method splits the scores in two
        case = case._replace(config=replace(case.config, num_labels=2))
    reads_encoder = case.config.add_cross_attention and case.architecture in _READ_AN_ENCODER
    call = Call(
        batch_size=draw(st.integers(1, 3)),
        sequence_length=draw(st.integers(1, min(9, case.config.max_position_embeddings))),
        encoder_sequence_length=draw(st.none() | st.integers(1, 9)) if reads_encoder else None,
        num_choices=draw(st.integers(1, 3)) if case.architecture == "BertForMultipleChoice" else 1,
    )
    return case, call


_READ_AN_ENCODER = ("BertModel", "BertForMaskedLM", "BertLMHeadModel")
