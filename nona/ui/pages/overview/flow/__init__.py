"""The pipeline in one picture: an own component without libraries, each stage a button to its page."""
