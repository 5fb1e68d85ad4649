"""Counts, parts and miscounts in words."""

from bertcalc.config import sizes_of
from bertcalc.diagnosis.cause_formulas import cause_formulas
from bertcalc.diagnosis.explain import Explanation
from bertcalc.diagnosis.known_counts import CONVENTIONS, KnownCount, Mix
from bertcalc.diagnosis.layer_parts import PARTS, Counted
from bertcalc.diagnosis.miscounts import MiscountSizes
from bertcalc.diagnosis.other_tools import REASONS
from bertcalc.text import code
from bertcalc.text.digits import latex_number
from pages.ui.shell.i18n import _, listed


def describe(reference: KnownCount) -> str:
    """A known count in words: its class, and the convention by which it is counted."""
    words = [f"`{reference.model.architecture}`"]
    if reference.model.cls.task == "base" and reference.model.cls.pooler:
        words.append(_("with pooler") if reference.model.add_pooling_layer else _("without pooler"))
    if reference.has_decoder:
        words.append(_("decoder tied") if reference.model.config.tie_word_embeddings else _("decoder untied"))
    if reference.convention:
        labels = reference.convention == "labels"
        count = reference.model.config.num_labels if labels else reference.buffers
        words.append(_(CONVENTIONS[reference.convention]).format(count=count, rank=reference.rank))
    if reference.buffers and reference.convention in ("", "pooler"):
        words.append(
            _("with {count:,} position_ids, a buffer in files of older releases").format(count=reference.buffers)
        )
    return " · ".join(words)


def part_name(count: Counted) -> str:
    """The counted part in words; a tensor or module by its name, or the part of the name that was typed."""
    name = _(count.part) if count.part in PARTS else code(count.part)
    return _("{part} of one head").format(part=name) if count.heads == "one" else name


def part_in_layers(count: Counted) -> str:
    """The counted part in words, with its layers unless all are counted."""
    part, single = part_name(count), count.layers == "one"
    if count.layers == "all":
        return part
    if count.part == "layers":
        return _("one layer") if single else _("all layers but one")
    return (_("{part} of one layer") if single else _("{part} of all layers but one")).format(part=part)


def own_count(count: Counted, layers: int) -> str:
    """The counted part of a model in words, with its layers, which may be all."""
    part = part_in_layers(count)
    if count.layers == "all" and count.part == "layers":
        return _("all {layers} layers").format(layers=f"{layers:,}")
    if count.layers == "all" and layers > 1 and all(tensor.place.component == "encoder" for tensor in count.tensors):
        return _("{part} of all {layers} layers").format(part=part, layers=f"{layers:,}")
    return part


def causes(reference: KnownCount, explanation: Explanation, count: Counted | None = None) -> list[tuple[str, str, int]]:
    """Each miscount in words, its formula in letters and numbers, and the amount it adds to the model, or to a part."""
    config = reference.model.config
    if reference.mix:
        mix, *others = explanation
        return [
            (*_taken_sizes(reference, reference.mix), mix.amount),
            *causes(reference._replace(mix=None), tuple(others), count),
        ]
    miscounts = tuple(cause.miscount for cause in explanation)
    formulas = cause_formulas(reference.model, miscounts, count)
    sizes = MiscountSizes.of(config)
    rows = []
    for cause, formula in zip(explanation, formulas, strict=True):
        in_numbers = formula.latex(config, padded_vocab_size=sizes.padded_by(cause.miscount))
        written = f"${formula.latex()} = {in_numbers}$"
        rows.append((miscount_in_words(cause.miscount), written, cause.amount))
    return rows


def _taken_sizes(reference: KnownCount, mix: Mix) -> tuple[str, str]:
    """The sizes that are taken from elsewhere: in words, and with letters."""
    config, symbols = reference.model.config, sizes_of(type(reference.model.config))
    fields = listed([code(type(config).own_name(field)) for field in mix.fields])
    sizes = [f"${symbols[field]} = {latex_number(getattr(config, field))}$" for field in mix.fields]
    if mix.preset:
        message = _("{fields} of {preset}")
    elif mix.fields == ("embedding_size",) and config.hidden_size == vars(config)["embedding_size"]:
        message = _("{fields} taken to be the hidden size")
    else:
        message = _("{fields} taken to be another number, perhaps mistyped")
    return message.format(fields=fields, preset=mix.preset), listed(sizes)


def miscount_in_words(name: str) -> str:
    """A miscount or another reason in REASONS, in words."""
    miscount = REASONS[name]
    return _(miscount.description).format(**{name: _(value) for name, value in miscount.values.items()})
