"""One evaluation: read, generate, postprocess, score, estimate, write, log. runner.py is the flow."""
