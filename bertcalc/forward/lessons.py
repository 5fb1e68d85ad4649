"""What is said at each stop of the walk: a short label, what happens, and the questions that learners ask there.

English with placeholders in braces, for whoever shows it to translate. A placeholder is a field of the
configuration, ``attention_head_size``, ``layer``, ``layers`` (how many the stop stands for), ``parameters``
(what the stop learns), ``probability`` (of a dropout), or ``batch_size`` and ``sequence_length``.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from bertcalc.config import Config
from bertcalc.forward.walk import Stop
from bertcalc.text import N_
from bertcalc.tree.nn import Norm


class Lesson(NamedTuple):
    """What a box in the picture says, and what happens there."""

    label: str
    text: str


class Question(NamedTuple):
    """A question where it arises: ``keys`` are ends of what stops mean, ``when`` says for which models it is asked."""

    keys: tuple[str, ...]
    question: str
    answer: str
    when: Callable[[Config], bool] = lambda config: True


def lesson(stop: Stop) -> Lesson:
    """What is said at a stop; cross attention has words of its own only where it differs from attention."""
    if stop.steps[0].operation == "unused" and stop.key == "embeddings.position":
        return _UNUSED_POSITIONS
    if stop.layers and stop.shares:
        return _SHARED_LAYERS[stop.key]
    if not stop.alike:
        return _OTHER_LAYERS[stop.key]
    if stop.between:
        return _CONVOLVED_LAYERS
    module = stop.steps[0].module
    if not stop.layers and isinstance(module, Norm) and not module.centers:
        return _RMS_NORM
    if not stop.layers and isinstance(module, Norm) and "bias" not in module.parameters:
        return _NORM_WITHOUT_BETA
    return _LESSONS[_known(stop.key)]


def has_lesson(key: str) -> bool:
    """Whether anything is said at a stop that means ``key``."""
    return _known(key) in _LESSONS


def _known(key: str) -> str:
    return key if key in _LESSONS else key.replace("cross-attention", "attention")


def questions(stop: Stop, config: Config) -> Iterator[Question]:
    """The questions of a stop."""
    for question in _QUESTIONS:
        if stop.key.endswith(question.keys) and question.when(config):
            yield question


def _decoder_has_bias(config: Config) -> bool:
    """Whether the scores of the word pieces have a bias: not in a GPT-2, in a EuroBERT where its feed-forward has."""
    return not config.is_always_causal and (not config.has("rms_norm_eps") or bool(vars(config)["mlp_bias"]))


_NORM = N_(
    "The {hidden_size} numbers of each token are normalized to mean 0 and variance 1; then unit i is "
    "multiplied by gamma i, and beta i is added."
)
_DROPOUT = N_(
    "In training, each number is set to 0 with probability {probability} and the others are "
    "scaled up to compensate; otherwise nothing happens here. Nothing is learned here."
)
_RESIDUAL = N_(
    "What went into the block is added to what came out of it: nothing is lost on the way up. Sums learn nothing."
)
_UNUSED_POSITIONS = Lesson(
    N_("position"),
    N_(
        "The table is built and counted, but with relative positions transformers 4 never uses it: "
        "the distances are learned in the attention of each layer."
    ),
)
_SHARED_LAYERS = {
    "layers.before": Lesson(
        N_("layers before"),
        N_("{layers} runs of the one layer that is opened: the same tensors each time, so they count once."),
    ),
    "layers.after": Lesson(
        N_("layers after"),
        N_("{layers} more runs of the same layer: the same tensors again, and nothing more is learned."),
    ),
}
_OTHER_LAYERS = {
    "layers.before": Lesson(
        N_("layers before"),
        N_("{layers} layers with tensors of their own. The first layer of all lacks one LayerNorm."),
    ),
    "layers.after": Lesson(
        N_("layers after"),
        N_("{layers} more layers with tensors of their own, and each with one LayerNorm more than the first layer."),
    ),
}
_CONVOLVED_LAYERS = Lesson(
    N_("layers before"),
    N_(
        "{layers} layers like the one that is opened: the same tensors, with numbers of their own. After the first of "
        "all comes the convolution, once."
    ),
)
_NORM_WITHOUT_BETA = Lesson(
    "LayerNorm",
    N_(
        "The {hidden_size} numbers of each token are normalized to mean 0 and variance 1; then unit i is "
        "multiplied by gamma i. There is no beta here."
    ),
)
_RMS_NORM = Lesson(
    "RMSNorm",
    N_(
        "The {hidden_size} numbers of each token are divided by the square root of the mean of their squares; then "
        "unit i is multiplied by gamma i. No mean is taken away, and there is no beta."
    ),
)
_LESSONS: dict[str, Lesson] = {
    "embeddings.input_ids": Lesson(
        N_("token ids"),
        N_(
            "A batch of {batch_size} × {sequence_length} tokens, each the number of a word piece. "
            "Nothing is learned here."
        ),
    ),
    "embeddings.token_type_ids": Lesson(
        N_("segment ids"),
        N_("For each token the number of its segment: usually 0 for the first sentence and 1 for the second."),
    ),
    "embeddings.flatten": Lesson(
        N_("flatten"), N_("Every choice becomes a sequence of its own: BERT reads them all in one batch.")
    ),
    "embeddings.word": Lesson(
        N_("word"),
        N_(
            "Each token number picks one row of {hidden_size} numbers from a table with a row for each of "
            "{vocab_size} word pieces."
        ),
    ),
    "embeddings.token type": Lesson(N_("token type"), N_("Each segment number picks one of {type_vocab_size} rows.")),
    "embeddings.add_token_type": Lesson(
        N_("+ type"),
        N_("Word and segment are added, number by number: the shape stays the same, and sums learn nothing."),
    ),
    "embeddings.position": Lesson(
        N_("position"),
        N_(
            "Token number i of a sequence gets row i of a learned table: {max_position_embeddings} rows, so no "
            "sequence can be longer."
        ),
    ),
    "embeddings.add_position": Lesson(
        N_("+ position"),
        N_("The position is added as well; the same {sequence_length} rows serve every sequence of the batch."),
    ),
    "embeddings.task type": Lesson(
        N_("task type"), N_("Each token picks the row of its text's task, one of {task_type_vocab_size}.")
    ),
    "embeddings.add_task_type": Lesson(N_("+ task"), N_("The task is added as well: sums learn nothing.")),
    "embeddings.norm": Lesson("LayerNorm", _NORM),
    "embeddings.dropout": Lesson("dropout", _DROPOUT),
    "layers.before": Lesson(
        N_("layers before"),
        N_("{layers} layers like the one that is opened: the same tensors, with numbers of their own."),
    ),
    "layers.after": Lesson(
        N_("layers after"),
        N_("{layers} more layers like the one that was opened: the same tensors, with numbers of their own."),
    ),
    "relative positions.relative position": Lesson(
        N_("distance"),
        N_(
            "Each pair of tokens picks a row for its distance: a number for each of the {num_attention_heads} heads. "
            "All layers share these numbers."
        ),
    ),
    "relative positions.position_bias": Lesson(
        N_("for each head"),
        N_("The numbers are laid out as the scores are, for each sequence. This learns nothing."),
    ),
    "attention.add_bias": Lesson(N_("+ distance"), N_("The numbers for the distances are added to the scores.")),
    "projection.map": Lesson(
        N_("E → H"),
        N_(
            "A dense layer takes each token from the {embedding_size} numbers of the embeddings to the {hidden_size} "
            "of the layers."
        ),
    ),
    "rotary positions.angles": Lesson(
        N_("angles"),
        N_(
            "Cosine and sine of an angle for each position and each pair of numbers in a head: the position times a "
            "fixed speed. They are computed once, for all layers; where some layers see only a token's neighbourhood, "
            "once more for these, with other speeds. Nothing is learned: there is no position table."
        ),
    ),
    "attention.query, key, value": Lesson(
        "query, key, value",
        N_("One dense layer makes query, key and value of each token at once: three matrices in one."),
    ),
    "attention.cut": Lesson(
        N_("cut"), N_("They are cut apart again, {hidden_size} numbers for each. Nothing is computed or learned.")
    ),
    "attention.rotate": Lesson(
        N_("rotate"),
        N_(
            "Query and key are turned pair by pair, each token's by the angles of its position. The product of both "
            "then depends on how far apart two tokens are. Nothing is learned here."
        ),
    ),
    "attention.repeated": Lesson(
        N_("repeat"),
        N_(
            "There are fewer heads of keys and values than the {num_attention_heads} of queries: each is used several "
            "times. Nothing is computed or learned."
        ),
    ),
    "after the layers.norm": Lesson("LayerNorm", _NORM),
    "feed-forward.up and gate": Lesson(
        N_("dense → 2I"),
        N_(
            "Each token by itself goes from {hidden_size} to 2 × {intermediate_size} numbers: one half will be the "
            "gate of the other."
        ),
    ),
    "feed-forward.cut": Lesson(N_("cut"), N_("The numbers are cut into two halves: nothing is computed or learned.")),
    "feed-forward.gate": Lesson(
        N_("gate → I"),
        N_(
            "A dense layer of its own makes the gate: {intermediate_size} numbers for each token, which go through the "
            "activation."
        ),
    ),
    "feed-forward.gated": Lesson(
        N_("× gate"),
        N_("Each number is multiplied by its gate, which says how much of it goes through. Products learn nothing."),
    ),
    "attention.query": Lesson(
        "query",
        N_("A dense layer asks, for each token: what am I looking for? It asks for all heads at once, in one matrix."),
    ),
    "attention.key": Lesson("key", N_("A second dense layer answers for each token: what do I have to offer?")),
    "attention.value": Lesson(
        "value", N_("A third dense layer says what each token passes on to the tokens that attend to it.")
    ),
    "cross-attention.unused": Lesson(
        N_("not run"),
        N_(
            "The cross attention is built and counted, but this class takes no encoder_hidden_states, so it never runs."
        ),
    ),
    "cross-attention.mask": Lesson(
        N_("+ mask"), N_("Where the encoder's text has padding, a very large negative number is added.")
    ),
    "cross-attention.softmax": Lesson(
        "softmax",
        N_("Each row of scores becomes weights that sum to 1: how much a token attends to each token of the encoder."),
    ),
    "cross-attention.context": Lesson(
        N_("context"),
        N_(
            "Each token takes the sum of the values of the encoder's tokens, weighted by its attention"
            " to them. Nothing is learned here."
        ),
    ),
    "cross-attention.query": Lesson(
        "query",
        N_("The decoder's tokens ask again: this time they attend to the encoder's output, here as long as theirs."),
    ),
    "cross-attention.key": Lesson(
        "key", N_("A dense layer over the encoder's output: what does each of its tokens have to offer?")
    ),
    "cross-attention.value": Lesson(
        "value", N_("A dense layer over the encoder's output: what each of its tokens passes on.")
    ),
    "attention.heads": Lesson(
        N_("heads"),
        N_(
            "Query, key and value are cut into {num_attention_heads} heads of {attention_head_size} units. Only the "
            "shape changes: nothing is computed or learned."
        ),
    ),
    "attention.scores": Lesson(
        N_("scores"),
        N_(
            "In each head, every query is multiplied by every key: one number for each pair of "
            "tokens. There are no weights: nothing is learned here."
        ),
    ),
    "attention.distance": Lesson(
        N_("distance"),
        N_(
            "Each pair of tokens picks the row for its distance, from a table that each layer has to "
            "itself and its heads share."
        ),
    ),
    "attention.query_distances": Lesson(
        "query × d",
        N_("Each query is multiplied by the row for each distance: how much does it care how far away a token is?"),
    ),
    "attention.key_distances": Lesson(
        "key × d", N_("relative_key_query: every key is multiplied with the row of each distance, too.")
    ),
    "attention.add_distances": Lesson(N_("+ distance"), N_("The products with the distances are added to the scores.")),
    "attention.scale": Lesson(
        N_("÷ √size"),
        N_(
            "The scores are divided by the square root of {attention_head_size}, the head size: "
            "otherwise they would grow with it."
        ),
    ),
    "attention.mask": Lesson(
        N_("+ mask"),
        N_(
            "Where the mask forbids attention (padding; in a decoder, everything that comes later), a"
            " very large negative number is added."
        ),
    ),
    "attention.softmax": Lesson(
        "softmax",
        N_("Each row of scores becomes weights that sum to 1: how much a token attends to each token that it may see."),
    ),
    "attention.weights_dropout": Lesson(
        "dropout",
        N_(
            "In training, each weight is set to 0 with probability {attention_probs_dropout_prob}. "
            "Nothing is learned here."
        ),
    ),
    "attention.context": Lesson(
        N_("context"),
        N_(
            "Each token takes the sum of the values of the tokens that it attends to, weighted by its "
            "attention. Nothing is learned here."
        ),
    ),
    "attention.merge_heads": Lesson(
        N_("merge"),
        N_("The {num_attention_heads} heads are laid side by side again: {hidden_size} numbers for each token."),
    ),
    "attention.output": Lesson("dense", N_("A dense layer mixes what the heads have found.")),
    "attention.dropout": Lesson("dropout", _DROPOUT),
    "attention.add": Lesson(N_("+ residual"), _RESIDUAL),
    "attention.norm": Lesson("LayerNorm", _NORM),
    "feed-forward.up": Lesson(
        N_("dense → I"), N_("Each token by itself goes from {hidden_size} to {intermediate_size} numbers.")
    ),
    "feed-forward.activation": Lesson(
        N_("activation"),
        N_("{hidden_act}, applied to each number: if it were linear, the two dense layers would be one."),
    ),
    "feed-forward.down": Lesson(N_("dense → H"), N_("And back from {intermediate_size} to {hidden_size} numbers.")),
    "feed-forward.dropout": Lesson("dropout", _DROPOUT),
    "feed-forward.add": Lesson(N_("+ residual"), _RESIDUAL),
    "feed-forward.norm": Lesson("LayerNorm", _NORM),
    "pooler.first_token": Lesson(
        N_("first token"), N_("Only the first token, [CLS], is kept: one vector for the whole sequence.")
    ),
    "pooler.dense": Lesson("dense", N_("A dense layer from {hidden_size} to {hidden_size}.")),
    "pooler.activation": Lesson(
        "tanh", N_("Each number is squashed to between −1 and 1. The result is pooler_output.")
    ),
    "language model.transform": Lesson(
        "dense", N_("The masked-LM head begins with a dense layer of its own, for every token.")
    ),
    "language model.activation": Lesson(N_("activation"), N_("{hidden_act}, applied to each number.")),
    "language model.norm": Lesson("LayerNorm", _NORM),
    "language model.decoder": Lesson(
        N_("decoder"),
        N_("Each token's vector is compared with the vector of every word piece: {vocab_size} scores, one for each."),
    ),
    "head.next sentence": Lesson(
        N_("next sentence"), N_("Two scores: is the second sentence the next one, or any other?")
    ),
    "head.sentence order": Lesson(
        N_("sentence order"), N_("Two scores: are the two texts in their order, or were they swapped?")
    ),
    "head.dropout": Lesson("dropout", N_("A dropout before the classifier. Nothing is learned.")),
    "head.first_token": Lesson(
        N_("first token"), N_("Only the first token is kept: one vector for the whole sequence, as in a pooler.")
    ),
    "head.dense": Lesson("dense", N_("A dense layer from {hidden_size} to {hidden_size}, before the classifier.")),
    "head.activation": Lesson("tanh", N_("Each number is squashed to between −1 and 1.")),
    "head.classifier activation": Lesson(N_("activation"), N_("{classifier_activation}, applied to each number.")),
    "language model.classifier activation": Lesson(
        N_("activation"), N_("{classifier_activation}, applied to each number.")
    ),
    "head.norm": Lesson("LayerNorm", _NORM),
    "head.mean": Lesson(
        N_("mean"), N_("The mean of all tokens' vectors that are no padding: one vector for the whole sequence.")
    ),
    "head.gelu": Lesson("GELU", N_("GELU, applied to each number.")),
    "discriminator.dense": Lesson(
        "dense", N_("The discriminator's head begins with a dense layer of its own, for every token.")
    ),
    "discriminator.activation": Lesson(N_("activation"), N_("{hidden_act}, applied to each number.")),
    "discriminator.classifier": Lesson(N_("replaced?"), N_("One score for each token: did the generator replace it?")),
    "discriminator.squeeze": Lesson(N_("reshape"), N_("The last side, which is 1, is left out.")),
    "summary.first_token": Lesson(
        N_("one token"), N_("Only the first (or last) token is kept: one vector for the whole choice.")
    ),
    "summary.dense": Lesson("dense", N_("A dense layer from {hidden_size} to {hidden_size}, before the classifier.")),
    "summary.activation": Lesson(N_("activation"), N_("{summary_activation}, applied to each number.")),
    "summary.dropout": Lesson("dropout", N_("A dropout before the classifier. Nothing is learned.")),
    "embeddings.mask_padding": Lesson(
        N_("× mask"), N_("The vectors of padding become 0, and all others stay as they are. Nothing is learned here.")
    ),
    "relative positions.relative embedding": Lesson(
        N_("distances"),
        N_(
            "A vector of {hidden_size} numbers for each distance that is told apart, {position_buckets} in each "
            "direction. All layers share this table."
        ),
    ),
    "relative positions.norm": Lesson("LayerNorm", _NORM),
    "attention.key_scaled": Lesson(
        N_("÷ √(3 size)"),
        N_(
            "The keys are divided by a square root, of three times the head size {attention_head_size} where two more "
            "products are added to the scores."
        ),
    ),
    "attention.biases": Lesson(
        N_("+ bias"),
        N_("Query and value get a bias each, {hidden_size} numbers. The keys have none."),
    ),
    "attention.query_scaled": Lesson(
        N_("÷ √(3 size)"),
        N_(
            "The queries are divided by a square root, of three times the head size {attention_head_size} where two "
            "more products are added to the scores."
        ),
    ),
    "attention.pos_query_scaled": Lesson(
        N_("÷ √(3 size)"), N_("The queries of the distances are divided as those of the tokens were.")
    ),
    "attention.near": Lesson(
        N_("near ones"),
        N_(
            "Of the table only the distances between {sequence_length} tokens are kept. Nothing is computed or learned."
        ),
    ),
    "attention.laid out": Lesson(
        N_("lay out"),
        N_(
            "The heads of all sequences are copied one after the other, once for each product that they are in. "
            "Nothing is computed or learned."
        ),
    ),
    "attention.distances_dropout": Lesson("dropout", _DROPOUT),
    "attention.one_batch": Lesson(N_("reshape"), N_("The table is read like one sequence. Nothing is computed.")),
    "attention.position query": Lesson(
        N_("query of d"), N_("A dense layer over the vector of each distance: what does a token so far away ask for?")
    ),
    "attention.position key": Lesson(
        N_("key of d"), N_("A dense layer over the vector of each distance: what does being so far away have to offer?")
    ),
    "attention.position heads": Lesson(
        N_("heads of d"),
        N_("Query and key of the distances are cut into heads, and repeated for each sequence."),
    ),
    "attention.c2p": Lesson(
        "query × d", N_("Content to position: each query is multiplied by the key of each distance.")
    ),
    "attention.c2p_gathered": Lesson(
        N_("gather"), N_("Of these, each pair of tokens takes the number for its distance: one for each score.")
    ),
    "attention.c2p_scaled": Lesson(N_("÷ √(3 size)"), N_("They are divided as the keys were.")),
    "attention.p2c": Lesson(
        "key × d", N_("Position to content: each key is multiplied by the query of each distance.")
    ),
    "attention.p2c_gathered": Lesson(
        N_("gather"), N_("Of these, each pair of tokens takes the number for its distance: one for each score.")
    ),
    "attention.p2c_scaled": Lesson(N_("÷ √(3 size)"), N_("They are divided as the keys were.")),
    "convolution.channels": Lesson(
        N_("turn"),
        N_("Tokens and units change places, as PyTorch's convolution wants it. Nothing is computed or learned."),
    ),
    "convolution.convolution": Lesson(
        N_("convolution"),
        N_(
            "Beside the first layer: each token's {hidden_size} new numbers come from its own and its neighbours' in "
            "the embeddings, {conv_kernel_size} tokens in all. It has {conv_kernel_size} matrices of {hidden_size} × "
            "{hidden_size}, one for each of these places, and a bias."
        ),
    ),
    "convolution.tokens": Lesson(
        N_("turn back"), N_("Tokens and units change places again. Nothing is computed or learned.")
    ),
    "convolution.fill_padding": Lesson(N_("fill"), N_("The numbers of padding become 0. Nothing is learned here.")),
    "convolution.dropout": Lesson("dropout", _DROPOUT),
    "convolution.activation": Lesson(N_("activation"), N_("{conv_act}, applied to each number.")),
    "convolution.add": Lesson(
        N_("+ layer"), N_("What the first layer gave is added to what the convolution gave. Sums learn nothing.")
    ),
    "convolution.norm": Lesson("LayerNorm", _NORM),
    "convolution.mask_padding": Lesson(
        N_("× mask"), N_("The vectors of padding become 0, and all others stay as they are. Nothing is learned here.")
    ),
    "context pooler.first_token": Lesson(
        N_("first token"), N_("Only the first token, [CLS], is kept: one vector for the whole sequence.")
    ),
    "context pooler.dropout": Lesson("dropout", N_("A dropout before the dense layer. Nothing is learned.")),
    "context pooler.dense": Lesson("dense", N_("A dense layer from {hidden_size} to {hidden_size}.")),
    "context pooler.activation": Lesson(N_("activation"), N_("{pooler_hidden_act}, applied to each number.")),
    "embeddings.embeddings dropout": Lesson(
        "dropout",
        N_(
            "In training, each number is set to 0 with probability {embd_pdrop} and the others are scaled up to "
            "compensate; otherwise nothing happens here. Nothing is learned here."
        ),
    ),
    "cross-attention.key, value": Lesson(
        "key, value",
        N_("One dense layer over the encoder's output gives key and value side by side, two times {hidden_size}."),
    ),
    "attention.cached": Lesson(
        N_("cache"),
        N_(
            "Keys and values are put into the cache, from which later tokens will read them: they need not be computed "
            "again. Nothing is learned here."
        ),
    ),
    "two scores.answer span": Lesson(
        N_("answer span"), N_("For each token 2 scores: does the answer start here, does it end here?")
    ),
    "head.choices_apart": Lesson(
        N_("reshape"), N_("The tokens of each choice are put apart again: nothing is computed or learned.")
    ),
    "choice.chosen_token": Lesson(
        N_("one token"),
        N_("Of each choice only one token is kept, whose place the model is told; by default the last."),
    ),
    "choice.tokens": Lesson(
        N_("tokens"),
        N_(
            "With this summary_type transformers does not take one token of each choice, but of all choices one, or "
            "their mean, with all its tokens."
        ),
    ),
    "choice.dropout": Lesson("dropout", N_("A dropout before the scores of the choices. Nothing is learned.")),
    "choice.classifier": Lesson(N_("choice"), N_("A dense layer gives one score for each choice.")),
    "choice.activation": Lesson(N_("activation"), N_("{choice_activation}, applied to each number.")),
    "choice.squeeze": Lesson(N_("reshape"), N_("The last side, which is 1, is left out.")),
    "head.last_token": Lesson(
        N_("last token"),
        N_("Of each sequence only the scores of its last token are kept: it alone has seen all the others."),
    ),
    "head.relu": Lesson("ReLU", N_("Negative numbers become 0.")),
    "head.classifier": Lesson(N_("classifier"), N_("A dense layer gives the scores.")),
    "head.answer span": Lesson(
        N_("answer span"), N_("For each token {num_labels} scores: does the answer start here, does it end here?")
    ),
    "head.split": Lesson(N_("split"), N_("The two scores of each token are split into start_logits and end_logits.")),
    "head.reshape": Lesson(N_("reshape"), N_("The scores of the choices are put side by side again.")),
}

_QUESTIONS: tuple[Question, ...] = (
    Question(
        ("embeddings.word",),
        N_("Does padding_idx save parameters?"),
        N_(
            "No. Row {pad_token_id} of [PAD] is stored and counted like every other; padding_idx only says that "
            "looking it up does not train it. The table has all {vocab_size} rows: "
            "{vocab_size} × {hidden_size} = {parameters}."
        ),
        lambda config: config.pad_token_id is not None,
    ),
    Question(
        ("embeddings.position",),
        N_("Do longer sequences need more parameters?"),
        N_(
            "Not up to {max_position_embeddings} tokens: the whole table exists, however short the "
            "sequence. Beyond that, it would have to grow by {hidden_size} for each token."
        ),
        lambda config: config.position_embedding_type == "absolute",
    ),
    Question(
        (".norm",),
        N_("What do gamma and beta multiply, and why are there 2H of them?"),
        N_(
            "The last axis. gamma (called weight) multiplies and beta (called bias) shifts each of the {hidden_size}"
            " units; all positions and all sequences share them. So {hidden_size} + {hidden_size} = {parameters}, "
            "however long the sequence is."
        ),
        lambda config: not config.has("rms_norm_eps") and bool(vars(config).get("norm_bias", True)),
    ),
    Question(
        ("rotary positions.angles",),
        N_("Where are the positions?"),
        N_(
            "In no table. A table would have {max_position_embeddings} × {hidden_size} numbers; here query and key are "
            "turned by angles in each layer, which takes a little time and no parameters."
        ),
    ),
    Question(
        ("attention.mask",),
        N_("Does each token see all others?"),
        N_(
            "In every third layer it does. In the others the mask leaves it those at most half of {local_attention} "
            "away. This computation, without a special kernel, fills the whole square of scores all the same, and the "
            "parameters do not change."
        ),
        lambda config: config.has("local_attention"),
    ),
    Question(
        ("attention.query, key, value",),
        N_("Is one matrix for query, key and value cheaper?"),
        N_(
            "No: it has the 3 × {hidden_size} × {hidden_size} numbers of three matrices. One large product is only "
            "faster than three small ones."
        ),
    ),
    Question(
        ("feed-forward.up and gate",),
        N_("What does the gate cost?"),
        N_(
            "A third matrix: {hidden_size} × {intermediate_size} numbers more. That is why gated models have a "
            "smaller intermediate_size than the 4 × {hidden_size} of BERT."
        ),
    ),
    Question(
        ("attention.query", "attention.heads"),
        N_("Why does the number of heads not change the count?"),
        N_(
            "Heads divide the hidden units: {num_attention_heads} heads of {attention_head_size} make"
            " {hidden_size}, just as 1 head of {hidden_size} would. The matrices keep their size; "
            "only where they are cut changes."
        ),
        lambda config: config.position_embedding_type == "absolute",
    ),
    Question(
        ("attention.query", "attention.heads", "attention.distance"),
        N_("Does the number of heads change the count?"),
        N_(
            "Here it does. The matrices of query, key and value keep their size, but a row of the distance table is "
            "as wide as one head, {attention_head_size}, and all heads share it: more heads, narrower rows, fewer "
            "parameters."
        ),
        lambda config: config.position_embedding_type != "absolute",
    ),
    Question(
        ("attention.output",),
        N_("Why is there another dense after attention?"),
        N_(
            "Up to here each head knows only its own {attention_head_size} units. This dense layer "
            "lets them exchange, and makes the vector of {hidden_size} that is added to the residual."
            " It has {parameters} parameters in each layer, and hand counts often forget it."
        ),
        lambda config: config.num_attention_heads > 1,
    ),
    Question(
        ("pooler.first_token", "pooler.dense"),
        N_("What is the pooler for?"),
        N_(
            "It was trained with next sentence prediction to summarize the whole sequence; sequence "
            "classifiers read it. Classes that need a vector for each token leave it out, which is "
            "why counts of the same BERT differ."
        ),
    ),
    Question(
        ("language model.decoder",),
        N_("Why is the decoder free?"),
        N_(
            "It is tied: its {vocab_size} × {hidden_size} matrix is the word embedding table itself, "
            "and one tensor is counted once. Only the bias, one number for each word piece, is new: "
            "{parameters}."
        ),
        lambda config: config.tie_word_embeddings and _decoder_has_bias(config),
    ),
    Question(
        ("language model.decoder",),
        N_("Why is the decoder free?"),
        N_(
            "It is tied: its {vocab_size} × {hidden_size} matrix is the word embedding table itself, and one tensor is "
            "counted once. It has no bias either, so that this class has as many parameters as the body alone."
        ),
        lambda config: config.tie_word_embeddings and not _decoder_has_bias(config),
    ),
    Question(
        ("language model.decoder",),
        N_("What does an untied decoder cost?"),
        N_(
            "A table of its own, {vocab_size} × {hidden_size}, as large as the word embeddings; tied, it would be "
            "the same tensor and free. With its biases: {parameters}."
        ),
        lambda config: not config.tie_word_embeddings and _decoder_has_bias(config),
    ),
    Question(
        ("language model.decoder",),
        N_("What does an untied decoder cost?"),
        N_(
            "A table of its own, {vocab_size} × {hidden_size} = {parameters}, as large as the word embeddings; tied, "
            "it would be the same tensor and free."
        ),
        lambda config: not config.tie_word_embeddings and not _decoder_has_bias(config),
    ),
)
