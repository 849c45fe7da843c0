"""What an experiment can detect, where its noise comes from, and what to buy against it."""
