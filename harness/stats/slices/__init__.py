"""Parts of the data: which slice an example is in, and scores by slice."""
