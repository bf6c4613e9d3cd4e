# A student behind `alloykit serve`. The model is not part of the image; mount its folder:
#
#     docker build --tag alloykit-serve .
#     docker run --read-only --tmpfs /tmp --publish 127.0.0.1:8000:8000 --volume "$PWD/runs/demo/run/student:/model:ro" alloykit-serve
#
# For torch without CUDA, which is much smaller, give the package index of torch's CPU builds: --build-arg TORCH_INDEX=URL
FROM python:3.12-slim
ARG TORCH_INDEX=""
RUN useradd --create-home --uid 10001 alloykit
WORKDIR /app
COPY constraints.txt pyproject.toml README.md LICENSE MANIFEST.in ./
RUN pip install --no-cache-dir --constraint constraints.txt ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} torch
COPY src src
RUN pip install --no-cache-dir --constraint constraints.txt ".[onnx,serve]"
USER alloykit
ENV HF_HUB_OFFLINE=1
EXPOSE 8000
HEALTHCHECK --start-period=60s CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/health')"]
ENTRYPOINT ["alloykit", "serve"]
CMD ["/model", "--host", "0.0.0.0", "--port", "8000"]
