"""What editing needs beside the scenario: undo and redo, the tabs that show it, places in its text."""
