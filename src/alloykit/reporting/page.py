"""report.html: the page of one run. It is one file that loads nothing."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment
from markupsafe import Markup, escape

from alloykit.escape import last_part, visible
from alloykit.models.location import BUNDLED, BUNDLED_ON_HUB, is_hub_id
from alloykit.progress import duration, rate
from alloykit.reporting.figures import percent
from alloykit.reporting.html_environment import html_environment
from alloykit.reporting.recipes import public_values
from alloykit.reporting.sections import PageSection, page_sections
from alloykit.reporting.verdict import points_of
from alloykit.run_folder.read import read_environment, read_metrics, read_training, recipe_of


def load(folder: Path) -> dict[str, Any]:
    """What the page of a run folder shows.

    `metrics`, `training`, `environment`: the JSON files, empty where missing. `recipe`, `recipe_text`: the recipe as values and as YAML,
    without the folders of local paths. `base_model`: the student's initial model if it has an id on the hub, else None.
    AlloyError for a damaged file.
    """
    recipe = recipe_of(folder)
    values, student = public_values(recipe), recipe.student
    return {
        "folder": folder,
        "name": last_part(folder.resolve()),
        "metrics": read_metrics(folder) or {},
        "training": read_training(folder) or {},
        "environment": read_environment(folder) or {},
        "base_model": _hub_model(student.model) if student is not None else None,
        "recipe": values,
        "recipe_text": yaml.safe_dump(values, sort_keys=False, allow_unicode=True),
    }


def _hub_model(model: str) -> str | None:
    """The hub's id of a model, if it has one."""
    if model == BUNDLED:
        return BUNDLED_ON_HUB
    return model if is_hub_id(model) else None


def render(run: Mapping[str, Any]) -> str:
    """The page of one run as HTML. run: as `load` gives it."""
    made = template_environment()
    sections = page_sections(run, made)
    return made.get_template("page.html.j2").render(title=f"Report: {run['name']}", sections=sections)


def render_outline(title: str, outline: Mapping[str, str], values: Mapping[str, Any]) -> str:
    """A page as HTML. outline: the template of each section, such as `compare/recipes`, → its heading. values: what the templates read."""
    made = template_environment()
    sections = [
        PageSection(place.split("/")[1], heading, Markup(made.get_template(f"{place}.html.j2").render(values).strip()))
        for place, heading in outline.items()
    ]
    return made.get_template("page.html.j2").render(title=title, sections=sections)


def sentence(text: str) -> Markup:
    """A sentence with `code` between backticks, as HTML."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(visible(text)))))


def p_value(p: float) -> str:
    """p with three digits."""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


@functools.cache
def template_environment() -> Environment:
    """The templates of the pages about runs, with their filters and their style sheet."""
    made = html_environment("alloykit.reporting")
    style = files("alloykit.reporting").joinpath("templates/style.css").read_text(encoding="utf-8")
    made.globals |= {"style": Markup(style), "version": version("alloykit")}
    made.filters |= {"percent": percent, "points": points_of, "duration": duration, "rate": rate, "p_value": p_value}
    made.filters |= {"svg": Markup, "sentence": sentence}
    return made
