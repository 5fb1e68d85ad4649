"""The meanings of the inputs and outputs of forward methods, by name."""

from bertcalc.text import N_

MEANINGS: dict[str, str] = {
    "input_ids": N_("Token ids."),
    "attention_mask": N_("1 for a token to attend to, 0 for padding; all ones by default."),
    "token_type_ids": N_("Which of the joined texts a token belongs to; all zeros by default."),
    "task_type_ids": N_("The task id of each token; all zeros by default."),
    "position_ids": N_("The position of each token; 0, 1, 2, ... by default."),
    "head_mask": N_("1 for a head that is used, 0 for one that is switched off."),
    "inputs_embeds": N_("Embedding vectors in place of input_ids: pass one or the other, not both."),
    "encoder_hidden_states": N_("An encoder's output for another text, which the cross-attention attends to."),
    "encoder_attention_mask": N_("1 for an encoder token to attend to, 0 for padding."),
    "labels": N_("The correct answers; with labels, the model returns a loss."),
    "next_sentence_label": N_("0 if the second text follows the first, 1 if it is a random text."),
    "sentence_order_label": N_("0 if the two texts are in their original order, 1 if they were swapped."),
    "start_positions": N_("The index of the answer's first token."),
    "end_positions": N_("The index of the answer's last token."),
    "mc_token_ids": N_("The index of the token that stands for each choice; the last one by default."),
    "mc_labels": N_("The index of the correct choice."),
    "mc_loss": N_("How far the scores of the choices are from the correct choices: one value for the whole batch."),
    "mc_logits": N_("A score for each choice, before the softmax."),
    "past_key_values": N_("Keys and values of each layer, so that the next call does not compute these tokens again."),
    "use_cache": N_("Whether past_key_values are returned; the default is use_cache of the configuration."),
    "logits_to_keep": N_("Compute logits only for this many tokens at the end; 0 means all tokens."),
    "output_attentions": N_("Whether attentions are returned."),
    "output_hidden_states": N_("Whether hidden_states are returned."),
    "return_dict": N_("Whether the outputs are named or a plain tuple."),
    "cache_position": N_("The positions of these tokens in past_key_values."),
    "loss": N_("How far the predictions are from the labels: one value for the whole batch."),
    "last_hidden_state": N_("A vector for each token, from the last layer."),
    "pooler_output": N_("The first token's vector after the pooler: one for the whole sequence."),
    "prediction_logits": N_("A score for each token of the vocabulary, at each position."),
    "seq_relationship_logits": N_("Two scores: does the second text follow the first, or is it a random text?"),
    "sop_logits": N_("Scores for the order of the two texts: original or swapped."),
    "logits": N_("A score for each possible answer, before the softmax."),
    "start_logits": N_("A score for each token as the start of the answer."),
    "end_logits": N_("A score for each token as the end of the answer."),
    "hidden_states": N_(
        "The vectors from the embeddings and from each layer; the last layer's vectors are the model's output."
    ),
    "attentions": N_("How much each token attends to each token, for every head of every layer."),
    "cross_attentions": N_("How much each token attends to each encoder token, for every head of every layer."),
}
_FOR_CROSS_ATTENTION = N_("No effect: only a decoder with add_cross_attention reads an encoder's output.")
# Notes on inputs that a class accepts but a model does not use.
UNUSED: dict[str, str] = {
    "token_type_ids": N_("No effect: the model has no token type embeddings."),
    "task_type_ids": N_("No effect without use_task_id."),
    "position_ids": N_("No effect without position_biased_input: the model has no position embeddings."),
    "encoder_hidden_states": _FOR_CROSS_ATTENTION,
    "encoder_attention_mask": _FOR_CROSS_ATTENTION,
    "mc_token_ids": N_("No effect: with this summary_type, the model does not select a token by its index."),
    "use_cache": N_("No effect: past_key_values are not returned."),
}
