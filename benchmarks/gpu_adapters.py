"""The memory of training adapters on an NVIDIA GPU: ``python -m benchmarks.gpu_adapters``, with bitsandbytes 0.50.2.

The model is BertForSequenceClassification with random weights and LoRA (rank 8, query and value), 128 tokens, AdamW.
The second step of the usual loop is measured. bertcalc's peak is shown beside the bytes requested from PyTorch and the
bytes that PyTorch allocated, in blocks of at least 512 bytes. cuBLAS gets no workspace.

bertcalc's peak includes the 4 bytes of AdamW's step counter for each trained tensor. PyTorch stores them in CPU memory
here.
"""

import gc
import os
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from typing import Any

import peft
import torch
import transformers

from bertcalc import BitsAndBytesConfig, Lora, load
from bertcalc.memory.optimizers import Precision
from bertcalc.memory.peak.peak_formulas import peak_bytes
from bertcalc.memory.plan import Plan
from bertcalc.model.batch import Batch
from bertcalc.storage.stored_tensors import Dtype

PRESETS = ("bert-base-uncased", "bert-large-uncased")
BATCHES = (8, 32, 128)
LENGTH = 128
LORA = Lora(r=8, target_modules=["query", "value"], task_type="SEQ_CLS")


def nf4(dtype: Dtype) -> BitsAndBytesConfig:
    """Return a configuration for 4-bit weights that compute in ``dtype``.

    The head is trained, so it stays in float32.
    """
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=dtype,
        llm_int8_skip_modules=("classifier",),
    )


# The quantization of the base model, and the precision of the step.
WAYS: dict[str, tuple[BitsAndBytesConfig | None, Precision]] = {
    "float32": (None, "fp32"),
    "float32, AMP": (None, "amp-bf16"),
    "NF4": (nf4("float32"), "fp32"),
    "NF4, products in bfloat16": (nf4("bfloat16"), "fp32"),
    "NF4, AMP": (nf4("bfloat16"), "amp-bf16"),
}


def ours(preset: str, base: BitsAndBytesConfig | None, plan: Plan, batch: Batch) -> int:
    """Return bertcalc's peak in bytes."""
    model: Any = load(preset, "BertForSequenceClassification")
    changed = model.quantized(base).adapted(LORA).packed("float32") if base else model.adapted(LORA)
    return int(peak_bytes(changed, plan, *batch.shape))


def real_model(folder: str, base: BitsAndBytesConfig | None) -> Any:
    """Return the real model with peft's adapter, on the GPU."""
    options: dict[str, Any] = {"dtype": torch.float32, "attn_implementation": "eager", "device_map": {"": 0}}
    if base:
        arguments = {**vars(base), "llm_int8_skip_modules": ["classifier"]}
        options["quantization_config"] = transformers.BitsAndBytesConfig(**arguments)
    real = transformers.BertForSequenceClassification.from_pretrained(folder, **options)
    config = peft.LoraConfig(r=8, target_modules=["query", "value"], task_type="SEQ_CLS")
    return peft.get_peft_model(real, config).train()


def measure(real: Any, batch: Batch, *, amp: bool) -> tuple[int, int]:
    """Return the peaks of requested and of allocated bytes in a training step."""
    optimizer = torch.optim.AdamW([tensor for tensor in real.parameters() if tensor.requires_grad], foreach=False)
    ids = torch.randint(5, 30_000, (batch.batch_size, batch.sequence_length), device="cuda")
    inputs = {"input_ids": ids, "labels": torch.zeros(batch.batch_size, dtype=torch.long, device="cuda")}
    for step in range(2):
        if step:
            torch.cuda.synchronize()
            gc.collect()
            torch.cuda.reset_peak_memory_stats()
        with torch.autocast("cuda", torch.bfloat16, enabled=amp):
            loss = real(**inputs).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    torch.cuda.synchronize()
    statistics = torch.cuda.memory_stats()
    return statistics["requested_bytes.all.peak"], statistics["allocated_bytes.all.peak"]


def rows(preset: str) -> Iterator[str]:
    """Yield the rows of a model's table."""
    with TemporaryDirectory() as folder:
        config = load(preset).config
        sizes = {
            name: getattr(config, name)
            for name in ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size")
        }
        real_config = transformers.BertConfig(**sizes)
        transformers.BertForSequenceClassification(real_config).save_pretrained(folder)
        for title, (base, precision) in WAYS.items():
            real = real_model(folder, base)
            for batch in (Batch(size, LENGTH) for size in BATCHES):
                peak = ours(preset, base, Plan(precision, fused_dropout=True), batch)
                asked, allocated = measure(real, batch, amp=precision != "fp32")
                gc.collect()
                torch.cuda.empty_cache()
                numbers = f"{peak:,} | {asked:,} | {peak - asked:,} | {allocated:,}"
                yield f"| {preset} | {title} | {batch.batch_size} | {numbers} |"
            del real
            gc.collect()
            torch.cuda.empty_cache()


def main() -> None:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, transformers {transformers.__version__}\n")
    print("| model | base | batch | our peak, bytes | asked for | difference | allocated |")
    print("|---|---|---|---|---|---|---|")
    for preset in PRESETS:
        for row in rows(preset):
            print(row, flush=True)


if __name__ == "__main__":
    # cuBLAS reads them at the first matrix product.
    os.environ |= {"CUBLAS_WORKSPACE_CONFIG": ":0:0", "CUBLASLT_WORKSPACE_SIZE": "0"}
    main()
