"""What PyTorch allocates on an NVIDIA GPU beside the peaks that bertcalc gives: ``python -m benchmarks.gpu_memory``.

Real models with random weights take three steps of the usual loop; the third is measured. ``max_memory_allocated`` is
what tensors take, each rounded up to 512 bytes; ``max_memory_reserved`` has the gaps of the allocator as well. What
does not fit is left out. It prints a table in Markdown; ``--json FILE`` keeps the figures.
"""

import argparse
import gc
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import torch
import transformers

from bertcalc.memory.peak_formulas import peak_bytes
from bertcalc.memory.plan import Inference, Plan
from bertcalc.presets import PRESETS
from bertcalc.proof.real_model import real_model
from bertcalc.subject import Subject

MODELS = ("bert-base-uncased", "bert-large-uncased")
CLASSES = ("BertModel", "BertForMaskedLM", "BertForSequenceClassification")
BATCHES = (1, 8, 32, 64)
LENGTH = 128
DEVICE = "cuda"
STEPS = 3


class Measured(NamedTuple):
    """A run on the GPU: what was run, what we say, what PyTorch says."""

    model: str
    architecture: str
    how: str
    batch_size: int
    ours: int
    allocated: int
    reserved: int

    @property
    def off(self) -> float:
        """How far ours is from what was allocated, in per cent."""
        return 100 * (self.ours / self.allocated - 1)


def ways() -> Iterator[tuple[str, Plan | Inference]]:
    """Every way to run a model: training with and without recomputation, and inference."""
    for precision, attention, recompute in product(("fp32", "bf16"), ("eager", "fused"), ("none", "full")):
        plan = Plan(precision, attention=attention, recompute=recompute, fused_dropout=True)  # type: ignore[arg-type]
        yield f"training, {precision}, {attention}, recompute {recompute}", plan
    for dtype, attention in product(("float32", "bfloat16"), ("eager", "fused")):
        yield f"inference, {dtype}, {attention}", Inference(dtype, attention)  # type: ignore[arg-type]


def on_device(subject: Subject, how: Plan | Inference) -> Any:
    """The real model on the GPU."""
    dtype = torch.float32
    if isinstance(how, Plan):
        dtype = torch.bfloat16 if how.precision == "bf16" else dtype
    else:
        dtype = getattr(torch, how.dtype)
    real = real_model(subject).to(DEVICE, dtype)
    real.set_attn_implementation("sdpa" if how.attention == "fused" else "eager")
    return real


def batch_of(subject: Subject, batch_size: int) -> dict[str, torch.Tensor]:
    """Token ids, and labels for a class that takes them."""
    ids = torch.randint(0, subject.config.vocab_size, (batch_size, LENGTH), device=DEVICE)
    given = {"input_ids": ids}
    if subject.architecture == "BertForMaskedLM":
        given["labels"] = ids.clone()
    elif subject.architecture == "BertForSequenceClassification":
        given["labels"] = torch.zeros(batch_size, dtype=torch.long, device=DEVICE)
    return given


def measure(subject: Subject, how: Plan | Inference, batch_size: int) -> tuple[int, int]:
    """Bytes allocated and reserved at most in the last of some steps."""
    real = on_device(subject, how)
    given = batch_of(subject, batch_size)
    if isinstance(how, Inference):
        real.eval()
        with torch.no_grad():
            for _step in range(STEPS):
                torch.cuda.reset_peak_memory_stats()
                real(**{name: one for name, one in given.items() if name != "labels"})
    else:
        real.train()
        if how.recompute == "full":
            real.gradient_checkpointing_enable({"use_reentrant": False})
        optimizer = torch.optim.AdamW(real.parameters(), foreach=False)
        for _step in range(STEPS):
            torch.cuda.reset_peak_memory_stats()
            returned = real(**given)
            loss = returned.loss if "loss" in returned else sum(one.sum() for one in returned.to_tuple())
            del returned
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            del loss
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()


def main() -> None:
    """Measure all, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("There is no NVIDIA GPU here: nothing is measured.")
    found: list[Measured] = []
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, transformers {transformers.__version__}\n")
    print("| model | class | how | batch of 128 | ours, MiB | allocated, MiB | off | reserved, MiB |")
    print("|---|---|---|---|---|---|---|---|")
    for model, architecture, (name, how), batch_size in product(MODELS, CLASSES, ways(), BATCHES):
        subject = Subject(PRESETS[model].config, architecture)
        try:
            allocated, reserved = measure(subject, how, batch_size)
        except torch.cuda.OutOfMemoryError:
            continue
        finally:
            gc.collect()
            torch.cuda.empty_cache()
        ours = peak_bytes(subject, how, batch_size, LENGTH)
        one = Measured(model, architecture, name, batch_size, ours, allocated, reserved)
        found.append(one)
        mebibytes = [f"{count / 2**20:,.1f}" for count in (ours, allocated, reserved)]
        figures = (model, architecture, name, batch_size, *mebibytes[:2], f"{one.off:+.2f} %", mebibytes[2])
        print(f"| {' | '.join(map(str, figures))} |", flush=True)
    if asked.json:
        asked.json.write_text(json.dumps([one._asdict() for one in found], indent=1))


if __name__ == "__main__":
    main()
