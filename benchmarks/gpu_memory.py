"""The memory that an NVIDIA GPU needs beyond bertcalc's peaks: ``python -m benchmarks.gpu_memory``.

Real models with random weights take three steps of the usual loop; the third is measured. A cell of the first table has
bertcalc's peak, PyTorch's ``max_memory_allocated`` without cuBLAS's workspaces, and the excess in percent. The last
column has the largest amount of memory that was reserved but not allocated, in gaps between blocks.

The second table has the least memory with which a run succeeds. Batches that fill 7 and 14 GiB by bertcalc's peak run
with less and less memory until PyTorch runs out of it. PYTORCH_ALLOC_CONF=expandable_segments:True selects the other
mode of PyTorch's allocator. ``--peaks`` or ``--needs`` measures only one table; ``--presets`` selects other models.
"""

import argparse
import gc
from collections.abc import Iterator
from itertools import product
from statistics import median
from typing import Any, NamedTuple

import torch
import transformers

from bertcalc.explore.model_values import model_of_preset
from bertcalc.families import family_of
from bertcalc.memory.fit import most
from bertcalc.memory.optimizers import PRECISIONS
from bertcalc.memory.peak.peak_formulas import growths, peak_bytes
from bertcalc.memory.plan import Inference, Plan
from bertcalc.model.family import Task
from bertcalc.model.model import Model
from bertcalc.proof.real_model import real_model

PRESETS = ("bert-base-uncased", "bert-large-uncased")
TASKS: tuple[Task, ...] = ("base", "masked-lm", "sequence-classification")
BATCHES = (1, 8, 32, 64)
FILLED = (7 * 2**30, 14 * 2**30)
LENGTH = 128
DEVICE = "cuda"
STEPS = 3
HALVINGS = 4  # bisections of the interval between allocated and reserved memory


class Measured(NamedTuple):
    """The memory of a run in bytes.

    ``allocated`` and ``reserved`` are peaks. ``workspaces`` is still allocated after the model is deleted.
    """

    allocated: int
    workspaces: int
    reserved: int


def ways(model: Model) -> Iterator[tuple[str, Plan | Inference]]:
    """Yield every way to run a model: training plans, then settings for inference.

    Plans with gradient checkpointing are included if the family supports it.
    """
    recomputes = [kind for kind in ("none", "full") if kind in ("none", *family_of(model.config).recomputes)]
    for precision, attention, recompute in product(("fp32", "bf16"), ("eager", "fused"), recomputes):
        plan = Plan(precision, attention=attention, recompute=recompute, fused_dropout=True)  # type: ignore[arg-type]
        yield f"training, {precision}, {attention}, recompute {recompute}", plan
    for dtype, attention in product(("float32", "bfloat16"), ("eager", "fused")):
        yield f"inference, {dtype}, {attention}", Inference(dtype, attention)  # type: ignore[arg-type]


def on_device(model: Model, how: Plan | Inference) -> Any:
    """Return the real model on the GPU."""
    dtype = PRECISIONS[how.precision].dtype if isinstance(how, Plan) else how.dtype
    with torch.device(DEVICE):
        real = real_model(model).to(getattr(torch, dtype))
    real.set_attn_implementation("sdpa" if how.attention == "fused" else "eager")
    return real


def batch_of(model: Model, batch_size: int) -> dict[str, torch.Tensor]:
    """Return token ids, and labels for a class that takes them."""
    ids = torch.randint(0, model.config.vocab_size, (batch_size, LENGTH), device=DEVICE)
    batch = {"input_ids": ids}
    if model.cls.per_token:
        batch["labels"] = ids.clone()
    elif model.cls.targets:
        batch["labels"] = torch.zeros(batch_size, dtype=torch.long, device=DEVICE)
    return batch


def run(model: Model, how: Plan | Inference, batch_size: int) -> None:
    """Run a few steps. Afterwards, PyTorch's peak statistics describe the last step."""
    real = on_device(model, how)
    batch = batch_of(model, batch_size)
    if isinstance(how, Inference):
        real.eval()
        with torch.no_grad():
            for _step in range(STEPS):
                torch.cuda.reset_peak_memory_stats()
                real(**{name: tensor for name, tensor in batch.items() if name != "labels"})
    else:
        real.train()
        if how.recompute == "full":
            real.activation_checkpointing_enable({"use_reentrant": False})
        optimizer = torch.optim.AdamW(real.parameters(), foreach=False)
        for _step in range(STEPS):
            torch.cuda.reset_peak_memory_stats()
            returned = real(**batch)
            loss = returned.loss if "loss" in returned else sum(output.sum() for output in returned.to_tuple())
            del returned
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            del loss
    torch.cuda.synchronize()


def measure(model: Model, how: Plan | Inference, batch_size: int, limit: int | None = None) -> Measured | None:
    """Measure the memory of a run. Return None if it runs out of memory within ``limit`` bytes."""
    total = torch.cuda.mem_get_info()[1]
    torch.cuda.set_per_process_memory_fraction(1.0 if limit is None else limit / total)
    try:
        run(model, how, batch_size)
    except torch.cuda.OutOfMemoryError:
        return None
    finally:
        gc.collect()
        torch.cuda.empty_cache()
    reserved, allocated = torch.cuda.max_memory_reserved(), torch.cuda.max_memory_allocated()
    return Measured(allocated, torch.cuda.memory_allocated(), reserved)


def peaks(models: list[tuple[str, Model]]) -> None:
    """Print the table of bertcalc's and PyTorch's peaks."""
    print(f"| model | class | how | {' | '.join(f'{count} x {LENGTH}' for count in BATCHES)} | gaps, at most |")
    print(f"|---|---|---|{'---|' * len(BATCHES)}---|")
    off: list[float] = []
    workspaces = 0
    every = [(preset, model, *plan) for preset, model in models for plan in ways(model)]
    for preset, model, name, how in every:
        cells, gaps = [], 0
        for batch_size in BATCHES:
            measured = measure(model, how, batch_size)
            if measured is None:
                cells.append("out of memory")
                continue
            ours, tensors = peak_bytes(model, how, batch_size, LENGTH), measured.allocated - measured.workspaces
            off.append(100 * (tensors / ours - 1))
            gaps, workspaces = max(gaps, measured.reserved - measured.allocated), max(workspaces, measured.workspaces)
            cells.append(f"{_mib(ours)} / {_mib(tensors)} (+{off[-1]:.1f} %)")
        print(f"| {preset} | {model.architecture} | {name} | {' | '.join(cells)} | {_mib(gaps)} |", flush=True)
    print(
        f"\nMiB: ours / allocated. {len(off)} runs: {min(off):.2f} to {max(off):.2f} % more, median {median(off):.2f} %"
    )
    print(f"(workspaces of cuBLAS, {_mib(workspaces)}, apart).\n")


def needs(models: list[tuple[str, Model]]) -> None:
    """Print the table of the least memory with which each run succeeds."""
    print("| model | class | how | batch | ours | a run needs | more |\n|---|---|---|---|---|---|---|")
    excess: list[float] = []
    every = [(preset, model, *plan) for preset, model in models for plan in ways(model)]
    for filled, (preset, model, name, how) in product(FILLED, every):
        if isinstance(how, Inference):
            continue
        batch_size = most(growths(model, how, "batch_size", 1, LENGTH), filled).number
        measured = measure(model, how, batch_size) if batch_size else None
        if measured is None or batch_size is None:
            continue
        too_little, enough = measured.allocated, measured.reserved
        for _halving in range(HALVINGS):
            middle = (too_little + enough) // 2
            if measure(model, how, batch_size, middle):
                enough = middle
            else:
                too_little = middle
        ours = peak_bytes(model, how, batch_size, LENGTH)
        excess.append(100 * (enough / ours - 1))
        figures = (preset, model.architecture, name, f"{batch_size:,} x {LENGTH}", _mib(ours), _mib(enough))
        print(f"| {' | '.join(figures)} | +{excess[-1]:.1f} % |", flush=True)
    print(f"\nMiB. {len(excess)} runs: {min(excess):.1f} to {max(excess):.1f} % more, median {median(excess):.1f} %.\n")


def _mib(count: int) -> str:
    return f"{count / 2**20:,.0f}"


def main() -> None:
    """Print the tables that the command line selects."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peaks", action="store_true")
    parser.add_argument("--needs", action="store_true")
    parser.add_argument("--presets", nargs="*", default=PRESETS)
    asked = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("Nothing is measured: this machine has no NVIDIA GPU.")
    torch.cuda.init()
    matrix = torch.zeros(1, 1, device=DEVICE)
    matrix @ matrix  # initializes cuBLAS
    free, total = torch.cuda.mem_get_info()
    context = total - free - torch.cuda.memory_reserved()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, transformers {transformers.__version__};")
    print(f"CUDA offers {_mib(total)} MiB, of which its context takes {_mib(context)}.\n")
    models = [
        (preset, model.changed(architecture=family_of(model.config).for_task(task)))
        for preset, task in product(asked.presets, TASKS)
        for model in [model_of_preset(preset)]
    ]
    if asked.peaks or not asked.needs:
        peaks(models)
    if asked.needs or not asked.peaks:
        needs(models)


if __name__ == "__main__":
    main()
