"""A server that speaks the Hub's protocol, and fixtures that make this process use it instead of the Hub."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import huggingface_hub
import pytest

from bertcalc.hub.hub_workers import PLACES
from tests.checkpoints.checkpoints import as_google_published, change_config, save
from tests.hub.hub_server import Server, serving


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of checkpoints, each at its repository name on the server."""
    root = tmp_path_factory.mktemp("models")
    published = as_google_published(save(root / "some" / "published"))
    change_config(published, architectures=["BertForMaskedLM"], pooler_fc_size=768)
    save(root / "some" / "sharded", "BertForSequenceClassification", max_shard_size="300KB")
    change_config(save(root / "some" / "unnamed", "BertForSequenceClassification"), architectures=None)
    pickled = save(root / "some" / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    # T5's config does not accept null.
    change_config(save(root / "some" / "other"), model_type="t5", classifier_dropout=0.1)
    change_config(save(root / "some" / "wrong"), hidden_size="many", num_hidden_layers=0)
    cut = save(root / "some" / "cut") / "model.safetensors"
    cut.write_bytes(cut.read_bytes()[:-1])
    (save(root / "some" / "bare") / "config.json").unlink()
    return root


@pytest.fixture
def hub(models: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Start the server, and make huggingface_hub use it as the Hub in this process and its child processes."""
    with serving(models) as server, ExitStack() as ends:
        constants = huggingface_hub.constants
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        template = "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", server.url + template)
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        for place in PLACES:
            place.stop()
            ends.callback(place.stop)
        yield server
