"""The student as ONNX: float32, calibrated int8, plain dynamic int8 and float16."""
