"""The commands: main.py finds which one is meant, arguments.py and output.py are what they share, commands/ has a file
for each, hydra/ composes configs."""
