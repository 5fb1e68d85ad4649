"""Read a public model's config.json and the headers of its weights from the Hugging Face Hub, with huggingface_hub."""
