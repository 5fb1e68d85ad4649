"""What Python holds while transformers' forward methods run: which variable has which value, and until when.

Read off transformers 5.23: here is what all families have in common, and what one has apart its program says itself
(Trace.variable). Models with relative positions are those of transformers 4.57: there attention is a single method,
and every layer returns its weights.
"""

from collections.abc import Sequence

from bertcalc.forward.steps import Step, Value
from bertcalc.forward.walk import numbered
from bertcalc.tree.nn import split_layer

HEADS = ("query_heads", "key_heads", "value_heads")
DISTANCES = ("positions_of_queries", "positions_of_keys", "distances")  # variables of transformers 4's attention
IDS = ("positions", "types", "tasks")  # what the tables beside that of words are asked with
BUCKETS = ("rows", "columns", "distances", "buckets")  # what distances are computed with
MASKS = ("attention_mask", "encoder_attention_mask", "ones", "encoder_ones")
_VARIABLES_OF_4 = ("mask", "query_distances", "key_distances")


def unfolded(steps: Sequence[Step]) -> list[Step]:
    """The steps with each layer for itself, and in the order in which transformers runs them.

    It makes the heads of the query before it computes the key, which our steps do not.
    """
    heads = {step.takes[0].name: step for step in steps if step.place.role in HEADS}
    steps = [
        one
        for step in steps
        if step.place.role not in HEADS
        for one in (step, *((heads[step.gives.name],) if step.gives.name in heads else ()))
    ]
    repeated = [step for step in steps if "*" in step.name]
    if not repeated:
        return list(steps)
    first = steps.index(repeated[0])
    entry = repeated[0].takes[0].name
    last = repeated[-1].gives.name
    found = list(steps[:first])
    inside = entry
    for layer in range(repeated[0].runs):
        for step in repeated:
            one = numbered(step, layer, {entry: inside})
            output = step.output if layer == step.runs - 1 else ""
            variable = step.variable and (step.variable[0].replace("*", str(layer)), step.variable[1])
            name = step.name.replace("*", str(layer))
            found.append(one._replace(name=name, runs=1, output=output, variable=variable))
        inside = last.replace("*", str(layer))
    found += [numbered(step, "", {last: inside}) for step in steps[first + len(repeated) :]]
    return found


def held_until(steps: Sequence[Step], transformers_version: int) -> list[list[str]]:
    """For each step the names of the values that no variable holds after it.

    What is passed to a module is held while the module runs, by the frame that called it. What a forward method has in
    a variable is held until the variable is set anew or the method returns.
    """
    made: dict[str, int] = {}
    until: dict[str, int] = {}
    last_in: dict[str, int] = {}
    for at, step in enumerate(steps):
        made[step.gives.name] = at
        for module in _modules(step.name):
            last_in[module] = at
    variables = (*HEADS, *_VARIABLES_OF_4) if transformers_version == 4 else HEADS
    contexts = [step.name for step in steps if step.place.role == "context"]
    layers = list(dict.fromkeys(layer for step in steps if (layer := split_layer(step.name)[0])))
    end = len(steps)  # after all of them: until the forward method returns
    body = max(at for at, step in enumerate(steps) if step.place.component != "head")
    set_anew = _set_anew(steps)

    def hold(value: Value, at: int) -> None:
        until[value.name] = max(until.get(value.name, 0), at)

    for at, step in enumerate(steps):
        hold(step.gives, at)
        inner = _modules(step.name)
        for value in step.takes:
            outer = set(_modules(steps[made[value.name]].name)) if value.name in made else set()
            hold(value, max([at, *(last_in[module] for module in inner if module not in outer)]))
        role, component = step.place.role, step.place.component
        if step.variable:
            frame = step.variable[0]
            returns = last_in[frame] if frame else end if component == "head" else body
            hold(step.gives, set_anew.get(at, returns))
        elif component == "head" and not inner:  # its class has each in a variable of its own
            hold(step.gives, end)
        if (step.operation == "lookup" and not step.variable) or role in variables:
            hold(step.gives, last_in[inner[-1]])
        elif role == "context" and transformers_version == 4:
            # BertLayer returns them, and BertEncoder has what it returned until the next layer returns.
            after = layers[layers.index(split_layer(step.name)[0]) :][1:2]
            hold(step.takes[0], last_in[after[0] if after else inner[0]])
        elif role == "merge_heads" and transformers_version == 4:
            hold(step.gives, last_in[inner[-2]])
        elif role == "context" and len(step.takes) == 2 and not steps[made[step.takes[0].name]].variable:
            # Not from a fused kernel. The attention returns its weights: the layer calls them _, and has them until it
            # returns, or its cross attention does.
            layer = split_layer(step.name)[0]
            later = [name for name in contexts[contexts.index(step.name) + 1 :] if split_layer(name)[0] == layer]
            hold(step.takes[0], last_in[_modules(later[0])[-2] if later else layer])
        if role == "distance":
            until |= {f"{inner[-1]}.{name}": last_in[inner[-1]] for name in DISTANCES}
        elif role == "position_bias":
            until |= dict.fromkeys(BUCKETS, at)
        if step.output:
            hold(step.gives, end)
        if component == "embeddings" and steps[at + 1].place.component != "embeddings":
            hold(step.gives, body)
        if at == body or (component == "encoder" and steps[at + 1].place.component != "encoder"):
            hold(step.gives, end)  # outputs of the body
    until |= dict.fromkeys(MASKS, body)
    until |= dict.fromkeys(IDS, last_in["embeddings"])
    found: list[list[str]] = [[] for _step in range(end + 1)]
    for name, at in until.items():
        found[at].append(name)
    return found


def _set_anew(steps: Sequence[Step]) -> dict[int, int]:
    """For each step whose result is in a variable that another value gets later: the step that gives that."""
    last: dict[tuple[str, str], int] = {}
    found: dict[int, int] = {}
    for at, step in enumerate(steps):
        if step.variable:
            if step.variable in last:
                found[last[step.variable]] = at
            last[step.variable] = at
    return found


def _modules(name: str) -> list[str]:
    """The modules that something with a dotted name is in, outermost first; a list of layers is never called."""
    parts = name.split(".")
    return [".".join(parts[:length]) for length in range(1, len(parts)) if not parts[length].isdecimal()]
