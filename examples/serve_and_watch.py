# %% [markdown]
# # Serve a student, and watch what it reads
#
# From two classifiers to a small, fast student behind an HTTP address. Then new messages come in, and `watch` says whether they are still like those that the student learned from.
#
# It needs `pip install '.[demo,onnx,serve]'` in the project's folder, and about two minutes on two cores.

# %%
import json
import subprocess
import sys
import urllib.request

from shop import RUNS, TRAINING, teacher, test_file, texts_file

import alloykit

run = alloykit.amalgamate(
    teachers=[teacher("billing"), teacher("delivery")],
    texts=texts_file("billing", "delivery"),
    student={"model": "bundled:minilm", "layers": 3, "keep": "even"},
    training=TRAINING,
    evaluate={"data": {"path": str(test_file("billing", "delivery")), "label": "label"}},
    output=RUNS / "merged",
)
onnx = alloykit.export(run, int8=True)
for name, graph in json.loads((onnx / "export.json").read_text(encoding="utf-8"))["graphs"].items():
    print(
        f"{name}: {graph['bytes'] / 1e6:.1f} MB, the same label as PyTorch on {100 * graph['same_label']:.1f} % of the messages"
    )

# %% [markdown]
# ## Serve
#
# `alloykit serve RUN --onnx` is the command. Here another process runs it, on a free port.

# %%
server = subprocess.Popen(
    [sys.executable, "-m", "alloykit", "serve", str(run.folder), "--onnx", "--port", "0", "-q"],
    stdout=subprocess.PIPE,
    text=True,
)
address = server.stdout.readline().split()[-1]


def ask(text: str) -> list[dict[str, object]]:
    body = json.dumps({"inputs": text}).encode()
    request = urllib.request.Request(f"{address}/predict", body, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=30))


for text in ("they charged me two times", "my new lamp is broken", "please bring it to my office instead"):
    best = ask(text)[0]
    print(f"{best['label']:<18} {best['score']:.2f}   {text}")

# %%
with urllib.request.urlopen(f"{address}/metrics", timeout=30) as page:
    print("\n".join(line for line in page.read().decode().splitlines() if line.startswith("alloykit_requests_total")))
server.terminate()
print("the server ended with", server.wait(timeout=60))

# %% [markdown]
# ## Watch
#
# First, messages to the same two teams, by other writers. Then messages that suddenly are about the account, too. `watch` needs no labels: it compares the student's answers with those to
# the messages of the run.

# %%
for name, teams in (("same topics", ("billing", "delivery")), ("a new topic", ("billing", "delivery", "account"))):
    found = alloykit.watch(run, test_file(*teams), output=RUNS / f"watch-{len(teams)}-teams.html")
    foreign = found["foreign"]
    print(f"{name}: {found['texts']['new']} messages")
    print(f"  unusual messages: {100 * foreign['new']:.1f} % (in the run: {100 * foreign['pool']:.1f} %)")
    print(
        f"  mean confidence: {found['confidence']['mean']['new']:.2f} (in the run: {found['confidence']['mean']['pool']:.2f})"
    )
    print(f"  largest population stability index: {found['psi']:.2f}")
    print(f"  labels with another share: {', '.join(found['changed']) or 'none'}")

# %% [markdown]
# The student learned from the messages of the run. So it is more confident of them than of any new message, and the index is large in both cases. A run with at least 200 held-out texts is
# compared with these, and does not have this effect. Compare the two lines: the new topic makes more messages unusual and the student less confident. Label some of these messages, or add a teacher.
