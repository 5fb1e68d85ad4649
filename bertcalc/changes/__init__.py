"""Changes of a model: adapters, as peft adds them."""
