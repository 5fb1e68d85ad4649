"""What only transformers 4 has: the forward methods of its classes take more than those of transformers 5."""


def inputs(names: tuple[str, ...]) -> tuple[str, ...]:
    """The parameters of a class's forward method in transformers 4, from those in transformers 5."""
    at = names.index("inputs_embeds")
    same = tuple(name for name in names if name != "logits_to_keep")
    flags = ("output_attentions", "output_hidden_states", "return_dict")
    return (*same[:at], "head_mask", *same[at:], *flags, *(("cache_position",) if "past_key_values" in names else ()))
