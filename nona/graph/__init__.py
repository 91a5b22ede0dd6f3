"""Model graphs: what is computed. One reader per file format, and algorithms on DAGs.

* ``model``, ``dag``: operators and tensors; the directed acyclic graph below them.
* ``readers``, ``registry``, ``sniff``, ``limits``: from a file's bytes to a model graph.
* ``node_link/``, ``onnx/``, ``markup/`` (DOT, GraphML): the formats. ``guarded/``: a child process parses.
* ``structure/``: order, strong components, transitive reduction, modules and blocks.
"""
