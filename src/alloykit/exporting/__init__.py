"""A classifier as an ONNX graph: in float32, in 8-bit integers, in float16."""
