"""Write the report and the card of a run with several questions: one part for each question, from the files of its folder."""

from __future__ import annotations

from pathlib import Path

from alloykit.files import write_atomic
from alloykit.recipe.questions import QuestionsRecipe
from alloykit.run_folder.read import any_recipe_of
from alloykit.run_folder.run_folder import RunFolder
from alloykit.stages.write_report import write_report


def write_questions_report(run: RunFolder) -> Path:
    """report.html in the run folder, and README.md beside the student. The reports of the questions are written first. Runs no model. AlloyError."""
    from alloykit.reporting import page
    from alloykit.reporting.questions_page import questions_card, render_questions

    recipe = any_recipe_of(run.folder)
    assert isinstance(recipe, QuestionsRecipe)
    views = {}
    for name, part in run.questions.items():
        write_report(part)
        views[name] = page.load(part.folder)
    write_atomic(run.report_page, render_questions(run.folder.resolve().name, views))
    if run.has_student:
        length = recipe.training.max_length
        pooled = recipe.student.head == "pooled"
        write_atomic(run.student / "README.md", questions_card(run.folder.resolve().name, views, length, pooled=pooled))
    return run.report_page
