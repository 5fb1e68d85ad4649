"""Changes of a model: peft's adapters, BitFit, and changes of sizes such as fewer layers or another vocabulary."""
