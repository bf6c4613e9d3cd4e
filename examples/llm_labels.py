# %% [markdown]
# # Bring a language model's labels
#
# Two teams have a classifier. Nobody has one for a third topic, problems with the account. A large language model labelled 240 messages for this topic. Its answers are
# in a file, and the file is a teacher.
#
# It needs `pip install '.[demo]'` in the project's folder, and about a minute on two cores.

# %%
import csv
from collections import Counter

from shop import DATA, RUNS, TRAINING, show_scores, teacher, test_file

import alloykit

answers = DATA / "llm_answers.csv"
with answers.open(encoding="utf-8", newline="") as file:
    rows = list(csv.DictReader(file))
for row in rows[:6]:
    print(f"{row['label'] or '(none)':<18} {row['text'][:90]}")
print(Counter(row["label"] or "(none)" for row in rows))

# %% [markdown]
# The language model gave a label to messages about the account, and none to all others. A row without a label is no answer: the other teachers teach this message.
# `certainty` is the probability that its label gets.

# %%
run = alloykit.amalgamate(
    teachers=[
        teacher("billing"),
        teacher("delivery"),
        {"answers": str(answers), "label": "label", "certainty": 0.9, "name": "language_model"},
    ],
    texts=answers,
    student={"model": "bundled:minilm", "layers": 3, "keep": "even"},
    training=TRAINING | {"epochs": 20},
    evaluate={"data": {"path": str(test_file("billing", "delivery", "account")), "label": "label"}},
    output=RUNS / "llm",
)
show_scores(run)

# %% [markdown]
# The file has no answers to the test messages, so the rows of the language model, the ensemble and the routing have no account messages right. The student can answer all
# messages. It learned from 240 only: more messages make it better.

# %%
messages = ["it keeps closing itself whenever I open the basket", "who logged in from Oslo?", "twice 9.99, why"]
for text, answer in zip(messages, run.predict(messages), strict=True):
    print(f"{answer['label']:<18} {answer['probability']:.2f}   {text}")
