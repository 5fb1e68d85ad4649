"""Fields of transformers' configurations by their paths, compared with the real classes."""

import torch
import transformers
from transformers.initialization import no_init_weights

from bertcalc.discover.search.config_integers import Recipe, integers


def test_every_entry_of_a_list_of_stages_is_a_field_of_its_own() -> None:
    """The last of seven convolutions determines the input size of Wav2Vec2's projection."""
    kind = transformers.Wav2Vec2Config
    conv_dim = kind().conv_dim
    config = Recipe(kind, {"num_hidden_layers": 1}).changed({"conv_dim[6]": 96})
    assert list(config.conv_dim) == [*conv_dim[:6], 96]
    with torch.device("meta"), no_init_weights():
        model = transformers.Wav2Vec2Model(config)
    assert model.feature_projection.projection.in_features == 96
    read = {name: size for name, size in integers(config).items() if name.startswith("conv_dim")}
    assert read == {f"conv_dim[{index}]": size for index, size in enumerate(config.conv_dim)}
