"""Remarks on the keys of a config.json: missing, misspelled and unknown keys, and keys without an effect."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bertcalc.config import Config, near_field
from bertcalc.config.fields import OWN_DIMENSIONS, SIZES, is_int
from bertcalc.families.uncounted_keys import OF_MEMORY, is_neutral
from bertcalc.text import N_, shorten
from bertcalc.text.arguments import quoted
from bertcalc.text.problem import Problem
from bertcalc.transformers4.config_remarks import of_labels

# Sizes that every published file has.
_SIZES = (
    *("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
    *("max_position_embeddings", "type_vocab_size"),
)
_CHUNK = "chunk_size_feed_forward"
_NAMED = 8  # the maximum number of unused keys to list
_COMPARED = 100  # the maximum number of unused keys to compare with the names of fields
DEFAULTS = N_("Missing, so set to Hugging Face's defaults: {fields}.")
MISSPELLED = N_("{key} is unknown: did you mean {field}?")
WITHOUT_EFFECT = N_("Ignored keys, which do not affect any count: {keys}.")


def remarks(
    config: Config, content: Mapping[str, Any], unread: Mapping[str, Any], values: Mapping[str, Any]
) -> Iterator[Problem]:
    """Yield remarks on the keys of a file.

    ``content`` has all keys, and ``unread`` the keys that are not fields. ``values`` has the values of the fields.
    """
    kind = type(config)
    yield from _missing(config, content)
    yield from _of_chunks(kind, content)
    yield from _unread(kind, unread, content)
    yield from _of_labels(content, values)


def misnamed(
    kind: type[Config], unread: Mapping[str, Any], content: Mapping[str, Any], values: Mapping[str, Any]
) -> Iterator[Problem]:
    """Yield a problem for each size under a name that transformers ignores.

    transformers would build a model with the default size instead. The arguments are as in ``remarks``.
    """
    for key, size in list(unread.items())[:_COMPARED]:
        near = _meant(kind, key, content) if is_int(size) and not is_neutral(key, size) else None
        if near in SIZES and near not in _without_tensors(kind) and size != values[kind.own_name(near)]:
            yield _asked(kind, key, size, near)


def _meant(kind: type[Config], key: str, content: Mapping[str, Any]) -> str | None:
    """The shared name of the field that a key probably means; None if no field is similar or the file has it."""
    near = near_field(kind, key)
    return None if near is None or (content.keys() - {key}) & {near, kind.own_name(near)} else near


def _without_tensors(kind: type[Config]) -> tuple[str, ...]:
    """The sizes that affect no tensor of a body: num_labels, and max_position_embeddings if positions are rotary."""
    return ("num_labels", "max_position_embeddings") if kind.turns_pairs else ("num_labels",)


def _asked(kind: type[Config], key: str, value: Any, near: str) -> Problem:
    return Problem.of(MISSPELLED, key, value, {near: value}, key=shorten(key), field=kind.own_name(near))


def _missing(config: Config, content: Mapping[str, Any]) -> Iterator[Problem]:
    kind = type(config)
    wanted = {kind.own_name(field): field for field in (*_SIZES, *OWN_DIMENSIONS) if kind.has(field)}
    wanted = {name: field for name, field in wanted.items() if name not in kind.undeclared}
    if missing := [name for name, field in wanted.items() if not content.keys() & {name, field}]:
        assumed = ", ".join(f"{field} = {getattr(config, field):,}" for field in missing)
        yield Problem.of(DEFAULTS, missing[0], fields=assumed)


def _chunked(kind: type[Config], content: Mapping[str, Any]) -> bool:
    chunk: Any = content.get(_CHUNK)
    return is_int(chunk) and chunk > 0 and kind.chunks


def _of_chunks(kind: type[Config], content: Mapping[str, Any]) -> Iterator[Problem]:
    if _chunked(kind, content):
        chunk = content[_CHUNK]
        message = N_(
            "{field} {value}: the real forward pass fails for sequences whose length is not a multiple of this value."
        )
        yield Problem.of(message, _CHUNK, chunk, field=_CHUNK, value=chunk)


def _of_labels(content: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Problem]:
    labels, count = content.get("id2label"), values["num_labels"]
    if labels is not None and count != len(labels):
        yield of_labels(count, len(labels))


def _unread(kind: type[Config], keys: Mapping[str, Any], content: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield remarks on unread keys: misspelled or unknown keys, and keys that affect only memory or nothing.

    The remedy for a key that is probably misspelled is the intended field.
    """
    quantized = {key: keys[key] for key in ("quantization_config", "quantization") if keys.get(key)}
    yield from (_of_quantization(key, settings) for key, settings in quantized.items())
    remarked: tuple[str, ...] = ("auto_map", *quantized)
    remarked = (*remarked, _CHUNK) if _chunked(kind, content) else remarked
    keys = {key: value for key, value in keys.items() if key not in remarked}
    neutral = [key for key, value in keys.items() if is_neutral(key, value) or (key == _CHUNK and not kind.chunks)]
    # Other values of a checked key would affect the count, so the key is neither without effect nor unknown.
    keys = {key: value for key, value in keys.items() if key in neutral or not _is_checked(kind, key)}
    of_memory = [key for key in keys if key in OF_MEMORY and key not in neutral]
    unknown = [key for key in keys if key not in (*neutral, *of_memory)]
    meant = {key: near for key in unknown[:_NAMED] if (near := _meant(kind, key, content))}
    yield from (_asked(kind, key, keys[key], near) for key, near in meant.items())
    if unknown := [key for key in unknown if key not in meant]:
        message = N_("Unknown keys, ignored: {keys}. If they change the model, its count differs.")
        yield Problem.of(message, unknown[0], keys=named(unknown))
    if of_memory:
        message = N_("Ignored keys: {keys}. They do not affect parameters or FLOPs, but may affect memory.")
        yield Problem.of(message, of_memory[0], keys=named(of_memory))
    if neutral:
        yield Problem.of(WITHOUT_EFFECT, neutral[0], keys=named(neutral))


def _of_quantization(key: str, settings: Any) -> Problem:
    """The remark on weights that are stored with fewer bits; ``quantization`` is MLX's key."""
    method = settings
    if isinstance(settings, dict):
        flags = (name for name, value in settings.items() if value is True)  # such as load_in_4bit
        method = settings.get("quant_method", settings.get("bits")) or next(flags, "?")
    message = N_(
        "{key} ({method}): the number of parameters stays the same, but the quantized weights take fewer bytes than "
        "shown here."
    )
    return Problem.of(message, key, settings, key=key, method=quoted(method))


def _is_checked(kind: type[Config], key: str) -> bool:
    return any(problem.field == key for problem in kind.refused({key: "another"}))


def named(keys: Iterable[str], most: int = _NAMED) -> str:
    """The first ``most`` keys as a text with commas, and an ellipsis if there are more."""
    short = [shorten(key) for key in keys]
    return ", ".join(short[:most]) + (" ..." if short[most:] else "")
