# %% [markdown]
# # Merge two intent classifiers
#
# Two teams of a shop have a classifier of customer messages each. The billing team's knows five labels, the delivery team's knows four. No
# model knows all nine. This example makes one that does, from the two models and messages without labels.
#
# It needs `pip install '.[demo]'` in the project's folder, and about a minute on two cores.

# %%
from shop import RUNS, TRAINING, show_scores, teacher, test_file, texts_file

import alloykit

billing, delivery = teacher("billing"), teacher("delivery")

# %% [markdown]
# `teacher` fine-tuned the two classifiers. You have your own: use their folders, or their ids on the hub. The messages to learn from are in a CSV
# file with a column `text`. The labelled test messages are optional.

# %%
run = alloykit.amalgamate(
    teachers=[billing, delivery],
    texts=texts_file("billing", "delivery"),
    student={"model": "bundled:minilm", "layers": 3, "keep": "even"},
    training=TRAINING,
    evaluate={"data": {"path": str(test_file("billing", "delivery")), "label": "label"}},
    output=RUNS / "merged",
)

# %% [markdown]
# How good is it? A teacher cannot name the labels of the other team. The ensemble takes the highest score of both. The routing asks the teacher
# that the method would learn this message from. The student saw no label.

# %%
show_scores(run)

# %%
messages = [
    "you took 40 quid from my card, then took it again an hour later",
    "the vase came in about a hundred pieces",
    "please let my sister have the parcel",
]
for text, answer in zip(messages, run.predict(messages), strict=True):
    print(f"{answer['label']:<18} {answer['probability']:.2f}   {text}")

# %% [markdown]
# The student is an ordinary Hugging Face model in `runs/examples/merged/student`. Open `runs/examples/merged/report.html` to see which teacher taught which
# messages, and what to do next.
