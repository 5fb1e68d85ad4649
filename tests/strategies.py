"""What Hypothesis draws: every valid configuration, in sizes that print and build quickly."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import reject
from hypothesis import strategies as st

from bertcalc import ARCHITECTURES, BertConfig, Config, RobertaConfig
from bertcalc.activations import ACTIVATIONS
from bertcalc.config import ConfigError
from bertcalc.families import CLASSES
from bertcalc.fields import PositionEmbeddingType
from bertcalc.forward.outputs import Call
from bertcalc.moves import Locks
from bertcalc.presets import PRESETS
from bertcalc.track import FIELDS, ChosenModel
from tests.oracle import BASES, Case

architectures = st.sampled_from(list(CLASSES))
_PROBABILITIES = st.floats(0, 1) | st.sampled_from([0, 1])
_POSITIVE_FLOATS = st.floats(0, 1, exclude_min=True)
ACTIVATIONS_OF_4 = [name for name, facts in ACTIVATIONS.items() if facts.in_transformers_4]
_ABSOLUTE: tuple[PositionEmbeddingType, ...] = ("absolute",)


@st.composite
def configs(
    draw: st.DrawFn,
    positions: Sequence[PositionEmbeddingType] = _ABSOLUTE,
    kind: type[Config] = BertConfig,
) -> Config:
    counts_from_padding = kind is RobertaConfig
    positions = _ABSOLUTE if counts_from_padding else positions  # relative ones are BERT's alone
    position = draw(st.sampled_from(positions))
    activations = list(ACTIVATIONS) if position == "absolute" else ACTIVATIONS_OF_4
    heads = draw(st.integers(1, 12))
    vocab_size = draw(st.integers(1, 3000))
    tokens = st.none() | st.integers(0, vocab_size - 1)
    is_decoder = draw(st.booleans())
    pad = draw(st.integers(0, min(vocab_size - 1, 20)) if counts_from_padding else tokens)
    return kind(
        vocab_size=vocab_size,
        hidden_size=heads * draw(st.integers(1, 64)),
        num_hidden_layers=draw(st.integers(1, 4)),
        num_attention_heads=heads,
        intermediate_size=draw(st.integers(1, 3000)),
        hidden_act=draw(st.sampled_from(activations)),
        hidden_dropout_prob=draw(_PROBABILITIES),
        attention_probs_dropout_prob=draw(_PROBABILITIES),
        max_position_embeddings=draw(st.integers(pad + 2 if counts_from_padding and pad is not None else 1, 1000)),
        type_vocab_size=draw(st.integers(1, 10)),
        initializer_range=draw(_POSITIVE_FLOATS),
        layer_norm_eps=draw(_POSITIVE_FLOATS),
        pad_token_id=pad,
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
    classes: Sequence[str] = tuple(CLASSES),
) -> Case:
    architecture = draw(st.sampled_from(classes))
    kind = RobertaConfig if architecture.startswith("Roberta") else BertConfig
    pooler = draw(st.booleans()) if architecture in BASES else True
    return Case(draw(configs(positions, kind)), architecture, pooler)


@st.composite
def chosen_models(draw: st.DrawFn) -> ChosenModel:
    """What a link can say: only what has a control, so that the pad_token_id is the preset's."""
    case = draw(cases())
    preset = draw(st.sampled_from(list(CLASSES[case.architecture].presets)))
    try:
        config = replace(PRESETS[preset].config, **{field: getattr(case.config, field) for field in FIELDS})
    except ConfigError:
        reject()
    locks = draw(st.builds(Locks, st.booleans(), st.booleans()))
    return ChosenModel(preset, config, case.architecture, case.add_pooling_layer, locks)


def bert_cases(positions: Sequence[PositionEmbeddingType] = _ABSOLUTE) -> st.SearchStrategy[Case]:
    """Models of BERT alone, for what is said of its names."""
    return cases(positions, tuple(ARCHITECTURES))


@st.composite
def passes(draw: st.DrawFn, classes: Sequence[str] = tuple(CLASSES)) -> tuple[Case, Call]:
    """A model and what goes through it, with an encoder's output where a decoder can read one."""
    case = draw(cases(classes=classes))
    if case.architecture.endswith("QuestionAnswering"):  # its forward method splits the scores in two
        case = case._replace(config=replace(case.config, num_labels=2))
    reads_encoder = case.config.add_cross_attention and case.architecture.endswith(_READ_AN_ENCODER)
    call = Call(
        batch_size=draw(st.integers(1, 3)),
        sequence_length=draw(st.integers(1, min(9, case.config.longest))),
        encoder_sequence_length=draw(st.none() | st.integers(1, 9)) if reads_encoder else None,
        num_choices=draw(st.integers(1, 3)) if case.architecture.endswith("MultipleChoice") else 1,
    )
    return case, call


_READ_AN_ENCODER = (*BASES, "ForMaskedLM", "LMHeadModel", "ForCausalLM")
