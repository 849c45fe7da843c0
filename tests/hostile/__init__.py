"""What a stranger sends: folders, servers, answers and files that are damaged or meant to do harm. A case a line, each
with the message expected."""
