"""Every family that is known, and ``build``: a new family is one file here, and a line below."""

from bertcalc.families import bert
from bertcalc.families.family import Class, Family, Model

FAMILIES: dict[str, Family] = {}
_OF_CONFIG: dict[type, Family] = {}
ARCHITECTURES: dict[str, tuple[Family, Class]] = {}


def register(family: Family) -> None:
    """Make a family known, with its classes."""
    FAMILIES[family.name] = _OF_CONFIG[family.config] = family
    ARCHITECTURES.update({cls.name: (family, cls) for cls in family.classes})


for one in (bert.FAMILY,):
    register(one)


def family_of(config: object) -> Family:
    """The family that a configuration is of."""
    return _OF_CONFIG[type(config)]


def build(config: object, architecture: str = "", *, add_pooling_layer: bool = True) -> Model:
    """The module tree of a Hugging Face class, for instance ``build(BertConfig(), "BertForMaskedLM")``.

    Without a class, that of the body (BertModel). ``add_pooling_layer`` is an option of that one alone; every other
    class decides by itself, and passing False with one of those raises TypeError, as transformers does. A name that is
    no class of the configuration's family raises ValueError.
    """
    family = family_of(config)
    name = architecture or family.base.name
    known, cls = ARCHITECTURES.get(name, (None, family.base))
    if known is not family:
        names = ", ".join(cls.name for cls in family.classes)
        raise ValueError(f"architecture {architecture!r} is unknown: it must be one of {names}")
    if cls.task == "base":
        return Model(family, cls, config, add_pooling_layer).declare()
    if not add_pooling_layer:
        raise TypeError(f"{name} has no option add_pooling_layer: only {family.base.name} has")
    return Model(family, cls, config, cls.pooler).declare()
