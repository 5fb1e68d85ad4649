"""A forward pass on tensors without numbers, with the variables that transformers' own has, and the loss."""

from math import prod

from bertcalc.family import Model
from bertcalc.forward.steps import Step, forward
from bertcalc.memory.held import HEADS, held_until, unfolded
from bertcalc.memory.simulated_activations import simulate_activation
from bertcalc.memory.tape import Memory, Tape, Tensor
from bertcalc.tree.nn import Activation, Dropout, Embedding

_INT64 = 8
_IDS = {"word": "", "token type": "types", "position": "positions"}  # the variables that tables are asked with


class Pass:
    """A model, what goes through it, and what its forward method holds in variables.

    ``padded`` is a batch as a tokenizer makes it of sequences of different lengths: with attention_mask, in which there
    are zeros, and token_type_ids.
    """

    def __init__(
        self,
        model: Model,
        batch_size: int,
        sequence_length: int,
        *,
        num_choices: int,
        training: bool,
        padded: bool,
    ) -> None:
        self.model = model
        self.training = training
        self.padded = padded
        self._masks = padded or model.config.is_decoder
        self.memory = Memory()
        self.tape = Tape(self.memory, grad=training)
        self.steps = unfolded(forward(model, batch_size, sequence_length, num_choices=num_choices))
        self.batch_size, self.sequence_length = batch_size, sequence_length
        self.held = held_until(self.steps)
        # As RoBERTa does, whose padding has a position of its own.
        self._counts_from_padding = any(
            isinstance(step.module, Embedding) and step.module.padding_idx is not None
            for step in self.steps
            if step.place.role == "position"
        )
        self.parameters: dict[str, Tensor] = {}
        self.buffers: list[Tensor] = []
        self.batch: dict[str, Tensor] = {}  # what the caller has
        self.values: dict[str, Tensor] = {}  # the variables, by the names of our steps
        self.cache: list[Tensor] = []
        self.halves: list[Tensor] = []  # of the scores of answers' starts and ends

    def begin(self) -> None:
        """What is there before the first step."""
        tape, ids = self.tape, self._ids
        self.buffers = [ids((1, self.model.config.max_position_embeddings)) for _types in (False, True)]
        for name, shape, *_rest in self.model.tensors(folded=False):
            xielu = name.endswith((".alpha_p", ".alpha_n"))  # bfloat16 in every model
            self.parameters[name] = tape.leaf(name, shape, 2 if xielu else 4)
            if xielu:
                self.buffers.append(tape.new((), 2, "buffers and batch"))  # one beside each of the two
        for step in self.steps:
            if step.name == "input_ids":
                for name in ("input_ids", *(("attention_mask", "token_type_ids") if self.padded else ())):
                    self.batch[name] = ids(step.gives.shape)
        if self.training:
            for name in self.model.cls.targets:
                self.batch[name] = self._label(name)

    def _ids(self, shape: tuple[int, ...]) -> Tensor:
        return self.tape.new(shape, _INT64, "buffers and batch")

    def _label(self, name: str) -> Tensor:
        cls = self.model.cls
        shape: tuple[int, ...] = (self.batch_size,)
        if cls.per_token and name == "labels":
            shape = (self.batch_size, self.sequence_length)
        regression = cls.task == "sequence-classification" and self.model.config.num_labels == 1
        return self.tape.new(shape, 4 if regression else _INT64, "buffers and batch")

    def trained(self) -> list[Tensor]:
        """What has a gradient."""
        return [tensor for tensor in self.parameters.values() if tensor.node and tensor.node.grad]

    def forward(self) -> list[Tensor]:
        """What the model returns: the loss first, if there is one."""
        self.memory.phase = "forward"
        in_encoder = False
        for at, step in enumerate(self.steps):
            self.memory.where = step.name
            if step.place.component == "encoder" and not in_encoder:
                in_encoder = True
                if self._masks:
                    self.values["attention_mask"] = self._mask()
            if step.operation != "unused":
                self._do(step)
            for name in self.held[at]:
                self.values.pop(name, None)
        self.memory.phase, self.memory.where = "loss", "loss"
        returned = [self.values[step.gives.name] for step in self.steps if step.output]
        if self.training:
            returned.insert(0, self._loss(returned))
        if self.model.cls.caches:
            returned += self.cache
        self.values.clear()
        self.cache = []
        return returned

    def _do(self, step: Step) -> None:
        """Run a step, and keep what it gives as a variable."""
        found = self._given(step)
        if found is not None:
            self.values[step.gives.name] = found
        if step.place.role == "value_heads" and self._caches():
            self._fill_cache(step)

    def _given(self, step: Step) -> Tensor | None:
        tape = self.tape
        match step.operation:
            case "input":
                return self.batch.get(step.name)
            case "lookup":
                if "positions" not in self.values:
                    self._number_tokens(self.values[step.takes[0].name])
                return tape.embedding(self._tensor(step, "weight"), self._looked_up(step))
            case "linear":
                (x,) = self._taken(step)
                return tape.linear(x, self._tensor(step, "weight"), self._tensor(step, "bias"))
            case "norm":
                (x,) = self._taken(step)
                return tape.layer_norm(x, self._tensor(step, "weight"), self._tensor(step, "bias"))
            case "dropout":
                assert isinstance(step.module, Dropout)
                (x,) = self._taken(step)
                return tape.dropout(x, step.module.p if self.training else 0)
            case "activation":
                assert isinstance(step.module, Activation)
                learned = [self.parameters[tensor.name] for tensor in step.tensors]
                (x,) = self._taken(step)
                return simulate_activation(tape, step.module, x, learned)
            case "softmax":
                return tape.softmax(*self._taken(step))
            case "scale":
                return tape.scale(*self._taken(step))
            case "matmul":
                return self._product(step)
            case "add":
                if step.place.role == "mask" and not self._masks:
                    return self.values[step.takes[0].name]
                return tape.add(*self._taken(step))
            case "view":
                return self._seen(step)
            case "copy":
                return self._copied(step)
        raise NotImplementedError(f"Nothing says what {step.name} ({step.operation}) allocates.")

    def _taken(self, step: Step) -> list[Tensor]:
        return [self.values[value.name] for value in step.takes]

    def _tensor(self, step: Step, last: str) -> Tensor:
        if step.module and (name := step.module.tied.get(last)):
            return self.parameters[name]
        path = step.name if step.name + f".{last}" in self.parameters else self.model.prefix + step.name
        return self.parameters[f"{path}.{last}"]

    def _looked_up(self, step: Step) -> Tensor:
        """The ids that a table is asked for: all but the words' are made by the model."""
        if step.place.role not in _IDS:
            raise NotImplementedError(f"Nothing says where the ids of {step.name} come from.")
        return self.values[_IDS[step.place.role] or step.takes[0].name]

    def _number_tokens(self, ids: Tensor) -> None:
        """The positions, and a token type for each of them."""
        tape = self.tape
        positions, batch = self.buffers[0], ids.shape
        if self._counts_from_padding:
            positions = _positions_after_padding(tape, ids)
        else:
            positions = Tensor(positions.storage, (1, batch[1]), positions.strides, _INT64, is_view=True)
        types = self.batch["token_type_ids"] if self.padded else tape.new(positions.shape, _INT64)
        self.values["positions"] = positions
        self.values["types"] = Tensor(types.storage, batch, types.strides, _INT64, is_view=True)

    def _product(self, step: Step) -> Tensor:
        x, y = self._taken(step)
        if step.place.role == "scores":
            return self.tape.matmul(x, self.tape.transpose(y, 2, 3))
        return self.tape.matmul(x, y)

    def _seen(self, step: Step) -> Tensor | None:
        """A view of what a step takes."""
        if step.takes[0].name not in self.values:  # token types, which nobody gave
            return None
        (x,) = self._taken(step)
        if step.place.role == "first_token":
            return self.tape.select_first(x)
        if step.place.role in HEADS:
            batch, heads, length, size = step.gives.shape
            return self.tape.transpose(self.tape.view(x, (batch, length, heads, size)), 1, 2)
        return self.tape.view(x, step.gives.shape)

    def _copied(self, step: Step) -> Tensor:
        """A copy of what a step takes, unless it is laid out in order as it is."""
        tape = self.tape
        (x,) = self._taken(step)
        if step.place.role == "merge_heads":
            return tape.reshape(tape.contiguous(tape.transpose(x, 1, 2)), step.gives.shape)
        if step.place.role in ("start_logits", "end_logits"):
            if not self.halves:
                self.halves = tape.split_in_two(x)
            return tape.contiguous(tape.squeeze(self.halves.pop(0)))
        raise NotImplementedError(f"Nothing says what {step.name} ({step.operation}) allocates.")

    def _caches(self) -> bool:
        """Whether a decoder fills its cache: a causal language model does not if it is given labels."""
        config, cls = self.model.config, self.model.cls
        return config.is_decoder and config.use_cache and not (cls.caches and self.training)

    def _fill_cache(self, step: Step) -> None:
        path = step.name.removesuffix("value_heads")
        copies = [self.tape.cat_with_nothing(self.values[f"{path}{name}"]) for name in ("key_heads", "value_heads")]
        self.values[f"{path}key_heads"], self.values[f"{path}value_heads"] = copies
        self.cache += copies

    def _mask(self) -> Tensor:
        """What each token may see, in the numbers that are added to the scores (transformers' masking_utils)."""
        tape = self.tape
        *first, length = self.batch["input_ids"].shape
        batch = prod(first)
        padding = tape.new((batch, length), 1) if self.padded else None
        if self.padded and not self.model.config.is_decoder:
            tape.new((), 1)  # whether there is no padding
        allowed = self._allowed(batch, length)
        zero, least = tape.new(()), tape.new(())
        mask = tape.new((batch, 1, length, length))
        del zero, least, allowed, padding
        return mask

    def _allowed(self, batch: int, length: int) -> Tensor:
        """What each token may see, one byte for each pair."""
        tape, row = self.tape, (length,)
        rows, heads = tape.new((batch,), _INT64), tape.new((1,), _INT64)
        queries = tape.like(tape.new(row, _INT64))
        keys = tape.like(tape.new(row, _INT64))
        one = tape.new((), 1) if self.padded else None
        allowed = tape.new((1, 1, length, length if self.model.config.is_decoder else 1), 1)
        if self.padded:
            allowed = tape.like(allowed)
            del one
            no_padding = tape.new((batch, 1, 1, length), 1)
            allowed = tape.new((batch, 1, length, length), 1)
            del no_padding
        del rows, heads, queries, keys
        return allowed

    def _loss(self, logits: list[Tensor]) -> Tensor:
        """The loss as the class computes it."""
        tape, cls, batch = self.tape, self.model.cls, self.batch
        match cls.task:
            case "masked-lm" | "next-sentence" | "token-classification":
                return self._classified(logits[0], batch["labels"])
            case "sequence-classification" if self.model.config.num_labels == 1:
                scores, labels = tape.squeeze(logits[0]), batch["labels"]
                return tape.mean_squared_error(tape.squeeze(scores, 0) if scores.shape == (1,) else scores, labels)
            case "sequence-classification" | "multiple-choice":
                return self._classified(logits[0], batch["labels"])
            case "causal-lm":
                labels = batch["labels"]
                padded = tape.new((labels.shape[0], labels.shape[1] + 1), _INT64)
                rows = Tensor(padded.storage, labels.shape, padded.strides, _INT64, is_view=True)
                return self._classified(logits[0], tape.contiguous(rows))
            case "pretraining":
                words = self._classified(logits[0], batch["labels"])
                sentences = self._classified(logits[1], batch["next_sentence_label"])
                return tape.add(words, sentences)
            case "question-answering":
                start, end = tape.like(batch["start_positions"]), tape.like(batch["end_positions"])  # clamped
                starts = tape.cross_entropy(logits[0], start)
                ends = tape.cross_entropy(logits[1], end)
                return tape.scale(tape.add(starts, ends))
        raise NotImplementedError(f"Nothing says what the loss of {cls.name} allocates.")

    def _classified(self, logits: Tensor, labels: Tensor) -> Tensor:
        rows = self.tape.view(logits, (prod(logits.shape[:-1]), logits.shape[-1]))
        return self.tape.cross_entropy(rows, labels)


def _positions_after_padding(tape: Tape, ids: Tensor) -> Tensor:
    """RobertaEmbeddings.create_position_ids_from_input_ids: int32 in between."""
    mask = _as_int32(tape, tape.new(ids.shape, 1))
    counted = tape.multiply(tape.shift(_as_int32(tape, tape.new(ids.shape, _INT64))), mask)
    return tape.shift(tape.new(counted.shape, _INT64))


def _as_int32(tape: Tape, x: Tensor) -> Tensor:
    return tape.new(x.shape, 4)
