"""Changes to a model: peft's adapters, BitFit, and other sizes, such as fewer layers or another vocabulary."""
