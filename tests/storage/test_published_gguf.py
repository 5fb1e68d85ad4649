"""GGUF's mixes compared with published files: the bytes besides the tensors are the same for all types of a repository.

The sizes are those on the Hub, from the catalogue of github.com/aflin/rampart-langtools (rampart-models.js, 2026).
All-MiniLM-L6-v2-Q4_K_S.gguf is left out: it is 73,728 bytes larger than the rules of its other types predict.
"""

import csv
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

import bertcalc
from bertcalc.model.model import Model
from bertcalc.storage.gguf_format import Gguf, block_type_of

LINES = Path(__file__).with_name("published_gguf.csv").read_text(encoding="utf-8").splitlines()
PUBLISHED: list[dict[str, Any]] = list(csv.DictReader(LINES))
REPOSITORIES = {name: list(rows) for name, rows in groupby(PUBLISHED, lambda row: row["repository"])}
SMALL: dict[str, Any] = {"hidden_size": 384, "intermediate_size": 1536}


def bert(architecture: str = "BertModel", **sizes: Any) -> Model:
    return bertcalc.build(bertcalc.BertConfig(**sizes), architecture)


MODELS: dict[str, Model] = {
    "second-state/All-MiniLM-L6-v2-Embedding-GGUF": bert(**SMALL, num_hidden_layers=6),
    "CompendiumLabs/bge-small-en-v1.5-gguf": bert(**SMALL),
    "CompendiumLabs/bge-base-en-v1.5-gguf": bert(),
    "CompendiumLabs/bge-large-en-v1.5-gguf": bertcalc.build("bert-large-uncased"),
    "gpustack/bge-m3-GGUF": bertcalc.load("xlm-roberta-large").replace(max_position_embeddings=8194),
    "mradermacher/ms-marco-MiniLM-L4-v2-GGUF": bert(
        "BertForSequenceClassification", **SMALL, num_hidden_layers=4, num_labels=1
    ),
    "mradermacher/ms-marco-MiniLM-L2-v2-GGUF": bert(
        "BertForSequenceClassification", **SMALL, num_hidden_layers=2, num_labels=1
    ),
    "jolleyboy/gte-reranker-modernbert-base-GGUF": bertcalc.load(
        "answerdotai/ModernBERT-base", "ModernBertForSequenceClassification"
    ).replace(num_labels=1),
}
EARLY = "CompendiumLabs/"  # made in February 2024, when the word embedding table had the type of the other matrices


def unknown_bytes(repository: str) -> set[int]:
    """Return the bytes of a repository's files besides the tensors, above all the vocabulary.

    All types should give one number.
    """
    model = MODELS[repository]
    return {
        int(row["bytes"]) - bertcalc.quantized(model, Gguf(row["type"])).file_bytes + early(repository, row["type"])
        for row in REPOSITORIES[repository]
    }


def early(repository: str, kind: str) -> int:
    """Return how many bytes smaller the word embedding table of an early file is."""
    rows, columns = 30522, MODELS[repository].config.hidden_size
    if not repository.startswith(EARLY) or kind == "Q8_0":
        return 0
    now, then = ("Q6_K", "Q4_K") if columns % 256 == 0 else ("Q8_0", "Q5_0")
    sizes = (rows * columns // block_type_of(name).block * block_type_of(name).bytes for name in (now, then))
    larger, smaller = (-(-size // 32) * 32 for size in sizes)
    return larger - smaller


@pytest.mark.parametrize("repository", MODELS)
def test_all_types_of_a_repository_differ_as_ours_do(repository: str) -> None:
    assert len(REPOSITORIES[repository]) >= 2
    [more] = unknown_bytes(repository)
    assert more > 0


def test_the_vocabulary_of_bert_takes_what_the_caveat_says() -> None:
    [more] = unknown_bytes("CompendiumLabs/bge-base-en-v1.5-gguf")
    assert round(more / 1e6, 1) == 0.7
    assert "0.7 MB for BERT's 30,522" in Gguf.caveat
