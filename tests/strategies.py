"""Hypothesis strategies for every valid configuration, in sizes that print and build quickly."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from bertcalc import (
    ARCHITECTURES,
    BertConfig,
    Config,
    DebertaConfig,
    DebertaV2Config,
    ElectraConfig,
    ModernBertConfig,
    MPNetConfig,
    NomicBertConfig,
    RobertaConfig,
)
from bertcalc.config import ConfigError
from bertcalc.config.activations import ACTIVATIONS
from bertcalc.config.fields import (
    CHOICE_TOKENS,
    CLASSIFIER_POOLINGS,
    RELATIVE_NORMS,
    SCORE_POOLINGS,
    SUMMARY_TYPES,
    PositionEmbeddingType,
)
from bertcalc.controls.chosen_model import FIELDS, ChosenModel
from bertcalc.controls.stops import Locks
from bertcalc.families import CLASSES, class_of
from bertcalc.families.presets import PRESETS
from bertcalc.forward.outputs import Call
from bertcalc.memory.optimizers import PRECISIONS
from bertcalc.transformers4.version import FOUR
from tests.oracle import Case

architectures = st.sampled_from(list(CLASSES))
WITHOUT_AUTOCAST = [name for name, rule in PRECISIONS.items() if not rule.autocast]  # their activations are listed


def has_distances(config: Config) -> bool:
    """Whether scores depend on the distances of tokens, which is not simulated under AMP."""
    return config.position_embedding_type != "absolute" or bool(getattr(config, "relative_attention", False))


_PROBABILITIES = st.floats(0, 1) | st.sampled_from([0, 1])
_POSITIVE_FLOATS = st.floats(0, 1, exclude_min=True)
ACTIVATIONS_OF_4 = [name for name in ACTIVATIONS if name not in FOUR.unknown]
_ABSOLUTE: tuple[PositionEmbeddingType, ...] = ("absolute",)
# The values of each field, keyed by shared name. ``configs`` draws fields that depend on another field.
_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "num_hidden_layers": st.integers(1, 4),
    "intermediate_size": st.integers(1, 3000),
    "hidden_dropout_prob": _PROBABILITIES,
    "attention_probs_dropout_prob": _PROBABILITIES,
    "type_vocab_size": st.integers(1, 10),
    "initializer_range": _POSITIVE_FLOATS,
    "layer_norm_eps": _POSITIVE_FLOATS,
    "use_cache": st.booleans(),
    "classifier_dropout": st.none() | _PROBABILITIES,
    "tie_word_embeddings": st.booleans(),
    "num_labels": st.integers(1, 20),
    "embedding_size": st.integers(1, 300),
    "relative_attention_num_buckets": st.integers(32, 64),
    "task_type_vocab_size": st.integers(1, 10),
    "use_task_id": st.booleans(),
    "summary_type": st.sampled_from(SUMMARY_TYPES),
    "summary_use_proj": st.booleans(),
    "summary_activation": st.sampled_from(list(ACTIVATIONS)),
    "summary_last_dropout": _PROBABILITIES,
    "num_hidden_groups": st.just(1),
    "inner_group_num": st.just(1),
    "classifier_dropout_prob": _PROBABILITIES,
    "sinusoidal_pos_embds": st.booleans(),
    "qa_dropout": _PROBABILITIES,
    "seq_classif_dropout": _PROBABILITIES,
    "initializer_cutoff_factor": _POSITIVE_FLOATS,
    "norm_bias": st.booleans(),
    "attention_bias": st.booleans(),
    "mlp_bias": st.booleans(),
    "decoder_bias": st.booleans(),
    "classifier_bias": st.booleans(),
    "cls_token_id": st.none() | st.integers(0, 100),
    "sep_token_id": st.none() | st.integers(0, 100),
    "local_attention": st.integers(1, 20),
    "global_attn_every_n_layers": st.integers(1, 5),
    "embedding_dropout": _PROBABILITIES,
    "mlp_dropout": _PROBABILITIES,
    "classifier_pooling": st.sampled_from(CLASSIFIER_POOLINGS),
    "score_pooling": st.sampled_from(SCORE_POOLINGS),
    "num_key_value_heads": st.none(),
    "pretraining_tp": st.just(1),
    "mask_token_id": st.integers(0, 100),
    "classifier_activation": st.sampled_from(list(ACTIVATIONS)),
    "deterministic_flash_attn": st.booleans(),
    "sparse_prediction": st.booleans(),
    "sparse_pred_ignore_index": st.integers(-100, 100),
    "relative_attention": st.booleans(),
    "max_relative_positions": st.integers(-1, 300),
    "position_buckets": st.just(-1) | st.integers(2, 300),
    "norm_rel_ebd": st.sampled_from(RELATIVE_NORMS),
    "share_att_key": st.booleans(),
    "conv_kernel_size": st.sampled_from([0, 0, 1, 3, 5]),
    "conv_act": st.sampled_from([name for name, facts in ACTIVATIONS.items() if not facts.parameters]),
    "pos_att_type": st.sampled_from(["p2c|c2p", "c2p|p2c"]),
    "position_biased_input": st.booleans(),
    "pooler_dropout": _PROBABILITIES,
    "pooler_hidden_act": st.sampled_from([name for name, facts in ACTIVATIONS.items() if not facts.parameters]),
    "legacy": st.booleans(),
    "embd_pdrop": _PROBABILITIES,
    "choice_token": st.sampled_from(CHOICE_TOKENS),
    "choice_activation": st.none() | st.sampled_from(list(ACTIVATIONS)),
    "summary_proj_to_labels": st.just(True),
    "summary_first_dropout": _PROBABILITIES,
    "scale_attn_weights": st.booleans(),
    "scale_attn_by_inverse_layer_idx": st.booleans(),
    "reorder_and_upcast_attn": st.just(False),
}
# The classes with simulated peak memory.
SIMULATED = [name for name, family in CLASSES.items() if family.peaks]
TWO_HEADS = ["GPT2DoubleHeadsModel"]
IN_PAIRS = ("AlbertForPreTraining",)  # its loss takes two scores of each sequence
SPLIT_IN_TWO = ("DistilBertForQuestionAnswering",)  # cannot be built with another number of labels


@st.composite
def configs(
    draw: st.DrawFn,
    positions: Sequence[PositionEmbeddingType] = _ABSOLUTE,
    kind: type[Config] = BertConfig,
) -> Config:
    counts_from_padding = issubclass(kind, (RobertaConfig, MPNetConfig))
    least = 2 if kind is MPNetConfig else 1  # MPNet's padding is always token 1, whatever the configuration says
    position = draw(st.sampled_from(positions if kind is BertConfig else _ABSOLUTE))  # only BERT has relative positions
    heads = draw(st.integers(1, 12))
    vocab_size = draw(st.integers(least, 3000))
    tokens = st.none() | st.integers(0, vocab_size - 1)
    is_decoder = draw(st.booleans()) if kind.has("is_decoder") else kind.is_decoder
    pad = draw(st.integers(0, min(vocab_size - 1, 20)) if counts_from_padding else tokens)
    fewest = max(pad or 0, least - 1) + 2 if counts_from_padding else 1
    related = {
        "vocab_size": vocab_size,
        "hidden_size": heads * kind.heads_of * draw(st.integers(1, 64 // kind.heads_of)),
        "num_attention_heads": heads,
        "hidden_act": draw(st.sampled_from(list(ACTIVATIONS) if position == "absolute" else ACTIVATIONS_OF_4)),
        "max_position_embeddings": draw(st.integers(fewest, 1000)),
        "pad_token_id": pad,
        "position_embedding_type": position,
        "is_decoder": is_decoder,
        "add_cross_attention": is_decoder and draw(st.booleans()),
        "bos_token_id": draw(tokens),
        "eos_token_id": draw(tokens),
    }
    values: dict[str, Any] = {name: value for name, value in related.items() if kind.has(name)}
    for field in fields(kind):
        if (name := kind.shared_name(field.name)) not in values:
            values[name] = draw(_VALUES[name])
    if kind.has("num_key_value_heads"):
        values["num_key_value_heads"] = draw(st.sampled_from([n for n in range(1, heads + 1) if heads % n == 0]))
    if kind is NomicBertConfig:
        values["pad_token_id"] = pad or 0
    if kind is ModernBertConfig:
        values["classifier_dropout"] = draw(_PROBABILITIES)  # this field has no fallback in ModernBERT
    if kind.has("pos_att_type") and not values["relative_attention"]:
        values |= {"pos_att_type": draw(st.sampled_from([None, values["pos_att_type"]]))}
        values |= {"norm_rel_ebd": "none"} if kind.has("norm_rel_ebd") else {}
    if kind is DebertaConfig and values["relative_attention"]:
        values["max_relative_positions"] = draw(st.sampled_from([-1, 0, values["max_position_embeddings"]]))
    if kind is DebertaV2Config and values["hidden_size"] == 1:
        values["conv_kernel_size"] = 0
    if kind is ElectraConfig and draw(st.booleans()):  # ELECTRA has no projection then
        values["embedding_size"] = values["hidden_size"]
    return kind(**values)


@st.composite
def cases(
    draw: st.DrawFn,
    positions: Sequence[PositionEmbeddingType] = _ABSOLUTE,
    classes: Sequence[str] = tuple(CLASSES),
) -> Case:
    architecture = draw(st.sampled_from(classes))
    family = CLASSES[architecture]
    pooler = draw(st.booleans()) if class_of(architecture).pooler_is_optional else True
    config = draw(configs(positions, family.config))
    if architecture in SPLIT_IN_TWO:
        config = replace(config, num_labels=2)
    if class_of(architecture).finds_last_token and config.pad_token_id is None:
        config = replace(config, pad_token_id=0)
    if classes is SIMULATED and isinstance(config, ModernBertConfig):  # with it, memory depends on the values of labels
        config = replace(config, sparse_prediction=False)
    return Case(config, architecture, pooler)


def of_pairs(case: Case) -> Case:
    """Double the hidden size if rotary positions need an even attention head size and it is odd."""
    if case.config.turns_pairs and case.config.attention_head_size % 2:
        return case._replace(config=replace(case.config, hidden_size=2 * case.config.hidden_size))
    return case


@st.composite
def chosen_models(draw: st.DrawFn) -> ChosenModel:
    """Draw a model that a link can hold: only fields that have a control differ from the preset."""
    case = draw(cases())
    preset = draw(st.sampled_from(list(CLASSES[case.architecture].presets)))
    try:
        config = replace(
            PRESETS[preset].config, **{field: getattr(case.config, field) for field in FIELDS if case.config.has(field)}
        )
    except ConfigError:
        reject()
    locks = draw(st.builds(Locks, st.booleans(), st.booleans()))
    return ChosenModel(preset, config, case.architecture, case.add_pooling_layer, locks)


def bert_cases(positions: Sequence[PositionEmbeddingType] = _ABSOLUTE) -> st.SearchStrategy[Case]:
    """Models of BERT alone, for tests of its names."""
    return cases(positions, tuple(ARCHITECTURES))


@st.composite
def passes(draw: st.DrawFn, classes: Sequence[str] = tuple(CLASSES)) -> tuple[Case, Call]:
    """Draw a model and a call of it, with an encoder's output if a decoder can read it."""
    case = draw(cases(classes=classes))
    if case.architecture.endswith(("QuestionAnswering", *IN_PAIRS)):
        # The forward method of these classes splits the scores in two.
        case = case._replace(config=replace(case.config, num_labels=2))
    case = of_pairs(case)
    one_choice = False
    if classes in (SIMULATED, TWO_HEADS) and case.architecture in TWO_HEADS:  # other configurations cannot be trained
        proj: dict[str, Any] = {"summary_use_proj": True}
        case = case._replace(config=replace(case.config, **proj))
        one_choice = vars(case.config)["summary_type"] in ("first", "last")
    reads_encoder = case.config.add_cross_attention and "encoder_hidden_states" in class_of(case.architecture).inputs
    call = Call(
        batch_size=draw(st.integers(1, 3)),
        sequence_length=draw(st.integers(1, min(9, case.config.longest))),
        encoder_sequence_length=draw(st.none() | st.integers(1, 9)) if reads_encoder else None,
        num_choices=draw(st.integers(1, 3)) if class_of(case.architecture).takes_choices and not one_choice else 1,
    )
    return case, call
