# %% [markdown]
# # Add a third classifier later
#
# A student of two teachers is in use. Now a third team has a classifier, with three more labels. `update` makes a new student of all three. Only the new teacher reads the
# messages, and the student continues where it was.
#
# It needs `pip install '.[demo]'` in the project's folder, and about two minutes on two cores.

# %%
import json

from shop import RUNS, TRAINING, show_scores, teacher, test_file, texts_file

import alloykit

everything = texts_file("billing", "delivery", "account")
run = alloykit.amalgamate(
    teachers=[teacher("billing"), teacher("delivery")],
    texts=everything,
    student={"model": "bundled:minilm", "layers": 3, "keep": "even"},
    training=TRAINING,
    evaluate={"data": {"path": str(test_file("billing", "delivery")), "label": "label"}},
    output=RUNS / "two-teams",
)
print(len(run.metrics["labels"]), "labels:", ", ".join(run.metrics["labels"]))

# %% [markdown]
# ## The update
#
# The test messages are now those of all three teams. So `override` names another file.

# %%
account = teacher("account")
updated = alloykit.update(
    run,
    add_teachers=[account],
    override=[f"evaluate.data.path={test_file('billing', 'delivery', 'account')}", "training.epochs=2"],
    output=RUNS / "three-teams",
    overwrite=True,
)
print(len(updated.metrics["labels"]), "labels:", ", ".join(updated.metrics["labels"]))

# %%
show_scores(updated)

# %% [markdown]
# ## What changed?
#
# `changes.html` compares both students for every label. `changes.json` has the same figures. A label counts as changed if the difference is significant.

# %%
changes = json.loads((updated.folder / "changes.json").read_text(encoding="utf-8"))
print(f"{'label':<22} {'before':>8} {'now':>8}   change")
for label, row in changes["labels"].items():
    print(f"{label:<22} {100 * row['old']:>6.0f} % {100 * row['new']:>6.0f} %   {row['change']}")
