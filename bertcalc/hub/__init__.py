"""The Hugging Face Hub: a public model's config.json and the headers of its weights; needs huggingface_hub."""
