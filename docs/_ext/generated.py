"""Write the reference from the code: `<!-- generated: NAME -->` in a page is replaced by what NAME returns below, as Markdown."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

HIDDEN = (
    "InMemory",
    "InMemoryTeacherSpec",
    "NoneType",
)  # the first two stand only in the recipe that a run folder keeps
OPTION_TABLE = ("| argument or option | default | meaning |", "|---|---|---|")
MARK = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)


def recipe() -> str:
    """Every recipe, then every block, with all keys."""
    from alloykit.recipe.schema import KINDS

    kinds = tuple(KINDS.values())
    uses: dict[type[BaseModel], dict[str, None]] = {}  # block → the keys that it stands under
    found: dict[str, type[BaseModel]] = {}
    for kind in kinds:
        for block in _blocks(kind):
            found.setdefault(block.__name__, block)
            for key, field in block.model_fields.items():
                for inner in _models(field.annotation):
                    uses.setdefault(inner, {})[key] = None
    parts = ["## Recipes", *(_model(kind) for kind in kinds), "## Blocks"]
    for _, block in sorted(found.items()):
        if block not in kinds:
            parts.append(_model(block, f"Under {', '.join(f'`{key}:`' for key in uses[block])}."))
    return "\n\n".join(parts)


def methods() -> str:
    """Every method with its options."""
    from alloykit.cli.listings import method_details
    from alloykit.methods.registry import BUILT_IN, create

    lines = ["| name | what it is | reference | needs |", "|---|---|---|---|"]
    lines += [
        _row(f"[`{m.name}`](#{_anchor(m.name)})", m.title, m.reference, create(m.name).needs.describe())
        for m in BUILT_IN
    ]
    parts = ["\n".join(lines)]
    for method in BUILT_IN:
        shown = method_details(method.name)
        options = ["| option | default | type | meaning |", "|---|---|---|---|"]
        options += [
            _row(f"`{o['name']}`", f"`{o['default']}`", f"`{o['type']}`", o["meaning"]) for o in shown["options"]
        ]
        heading = f"## `{method.name}`\n\n{method.title} ({method.reference}). Needs: {shown['needs'] or 'nothing'}."
        parts += [heading, "\n".join(options) if shown["options"] else "It has no options."]
    return "\n\n".join(parts)


def commands() -> str:
    """Every command with its arguments and options; first the options that all have."""
    import typer

    from alloykit.cli.main import app

    group: Any = typer.main.get_command(app)
    general = [_option(p) for p in group.params]
    parts = ["## All commands", "```text\nalloykit [OPTIONS] COMMAND\n```", "\n".join([*OPTION_TABLE, *general])]
    for name, command in group.commands.items():
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        options = [row for p in command.params if p.param_type_name == "option" and (row := _option(p)) not in general]
        usage = " ".join(["alloykit", name, *(_argument(p) for p in arguments), *(["[OPTIONS]"] if options else [])])
        parts.append(f"## `{name}`\n\n{command.help}\n\n```text\n{usage}\n```")
        rows = [_row(f"`{_argument(p)}`", "", p.help or "") for p in arguments] + options
        if rows:
            parts.append("\n".join([*OPTION_TABLE, *rows]))
    return "\n\n".join(parts)


def python() -> str:
    """Every public name, for autodoc."""
    import inspect

    import alloykit

    parts = []
    for name in sorted((n for n in alloykit.__all__ if not n.startswith("_")), key=str.lower):
        kind = "class" if inspect.isclass(getattr(alloykit, name)) else "function"
        members = "\n   :members:" if kind == "class" else ""
        parts.append(f"## `{name}`\n\n```{{eval-rst}}\n.. auto{kind}:: alloykit.{name}{members}\n```")
    return "\n\n".join(parts)


GENERATED: dict[str, Callable[[], str]] = {
    "recipe": recipe,
    "methods": methods,
    "commands": commands,
    "python": python,
}


def _model(model: type[BaseModel], where: str = "") -> str:
    """A heading, what the model is, and a table of its keys: all, or those in which it differs from the recipe that it extends."""
    from alloykit.recipe.schema import KINDS

    base = model.__base__
    fields = model.model_fields
    about = " ".join((model.__doc__ or "").split())
    if base in KINDS.values():  # a recipe that has a section of its own
        assert base is not None
        assert issubclass(base, BaseModel)
        fields = {name: f for name, f in fields.items() if _value(f) != _value(base.model_fields[name])}
        about += f" All keys of [{base.__name__}](#{_anchor(base.__name__)}); what differs is:"
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for name, field in fields.items():
        lines.append(_row(f"`{name}`", _type(field.annotation), _value(field), field.description or ""))
    return "\n\n".join([f"### {model.__name__}", " ".join(filter(None, (where, about))), "\n".join(lines)])


def _blocks(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """A model, and every model that its fields can hold."""
    yield model
    for field in model.model_fields.values():
        for inner in _models(field.annotation):
            yield from _blocks(inner)


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation.__name__ not in HIDDEN:
        yield annotation
    for part in typing.get_args(annotation):
        yield from _models(part)


def _type(annotation: Any) -> str:
    """A type as a reader of YAML would say it."""
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _type(inside[0])
    if origin is typing.Literal:
        return " or ".join(f"`{value}`" for value in inside)
    if origin in (typing.Union, types.UnionType):
        members = [part.__origin__ if typing.get_origin(part) is typing.Annotated else part for part in inside]
        return " or ".join(
            dict.fromkeys(_type(part) for part in members if getattr(part, "__name__", "") not in HIDDEN)
        )
    if origin in (list, tuple):
        return f"list of {_type(inside[0])}"
    if origin is dict:
        return "mapping"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return f"[{annotation.__name__}](#{_anchor(annotation.__name__)})"
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}.get(annotation, str(annotation))


def _value(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.default if field.default is not PydanticUndefined else field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        value = value.model_dump(exclude_unset=True)
    if value is None:
        return "–"
    return f"`{yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix(chr(10)).removesuffix(chr(10) + '...')}`"


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required else f"[{name}]"


def _option(option: Any) -> str:
    """A row of the table: all names, with the placeholder of the value after the last one."""
    names = [f"`{name}`" for name in (*option.opts, *option.secondary_opts)]
    if option.metavar and not option.is_flag:
        names[-1] = f"{names[-1][:-1]} {option.metavar}`"
    return _row(", ".join(names), _default(option), option.help or "")


def _default(option: Any) -> str:
    return "" if option.default in (None, False, (), []) or callable(option.default) else f"`{option.default}`"


def _row(*cells: str) -> str:
    return "| " + " | ".join(" ".join(cell.split()).replace("|", r"\|") for cell in cells) + " |"


def _anchor(heading: str) -> str:
    """What MyST and code hosts make of a heading."""
    return heading.lower().replace(" ", "-")


def fill(app: Any, docname: str, source: list[str]) -> None:
    source[0] = MARK.sub(lambda mark: GENERATED[mark[1]](), source[0])


def outdated(app: Any, env: Any, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """The pages with a mark: Sphinx writes them at every build, since the code may have changed and not the page."""
    return [name for name in env.found_docs if MARK.search(Path(env.doc2path(name)).read_text(encoding="utf-8"))]


def setup(app: Any) -> dict[str, bool]:
    app.connect("env-get-outdated", outdated)
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
