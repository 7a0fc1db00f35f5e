"""A module of Hugging Face `evaluate`, in the folder of its own that it asks for."""
