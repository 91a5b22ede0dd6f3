"""ONNX files: types, shapes, names, control flow, and the reader that puts them together."""
