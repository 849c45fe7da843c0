"""What users hand in: files and rows, templates and prompts, functions, programs, plug-ins, pretrained models."""
