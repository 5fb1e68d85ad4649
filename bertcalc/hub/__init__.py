"""Read a public model's config.json and weight file headers from the Hugging Face Hub, with huggingface_hub."""
