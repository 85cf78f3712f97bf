"""Writes the reference of the Python package from the signatures and docstrings of its sources."""

import ast
import copy
import functools
import inspect
import pathlib

from .prose import docstring, fenced

PACKAGE = pathlib.Path("treadle/python/treadle")
# Modules besides the package itself. They are parsed, not imported: some import other packages.
MODULES = ("explanation", "torch", "steps", "tensorflow", "mlserver")


@functools.cache
def tree(path):
    return ast.parse(path.read_text())


def defined(body):
    """Returns the classes and functions by name; the last of several overloads."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    return {node.name: node for node in body if isinstance(node, kinds)}


def imported(body):
    """Returns the names that are imported from modules of the package, and these modules."""
    return {
        name.asname or name.name: node.module
        for node in body
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module
        for name in node.names
    }


def definition(folder, module, name):
    """Returns the class or function that a module defines or imports from the package."""
    paths = (folder / f"{module}.py", folder / f"{module}.pyi")
    path = next(path for path in paths if path.exists())
    body = tree(path).body
    if name in defined(body):
        return with_inner_bases(defined(body)[name], body)
    source = imported(body).get(name)
    return definition(folder, source, name) if source else None


def with_inner_bases(node, body):
    """Returns a class with the members that it inherits from private classes of the module."""
    for base in getattr(node, "bases", []):
        inner = ast.unparse(base)
        if inner.startswith("_") and inner in defined(body):
            node = copy.copy(node)
            node.body = [*node.body, *defined(body)[inner].body]
    return node


def public_names(path):
    """Returns `__all__`, or the names that the module defines without an underscore."""
    body = tree(path).body
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names = [name for name in ast.literal_eval(node.value) if not name.startswith("_")]
            return sorted(names, key=lambda name: name.endswith("Error"))
    return [name for name in defined(body) if not name.startswith("_")]


def arguments(function, is_method):
    args = function.args
    every = [args.posonlyargs, args.args]
    if is_method and not is_static(function):
        first = next(part for part in every if part)
        args = ast.arguments(
            posonlyargs=args.posonlyargs[1:] if first is args.posonlyargs else args.posonlyargs,
            args=args.args[1:] if first is args.args else args.args,
            vararg=args.vararg,
            kwonlyargs=args.kwonlyargs,
            kw_defaults=args.kw_defaults,
            kwarg=args.kwarg,
            defaults=args.defaults,
        )
    return ", ".join(map(spaced, parts(ast.unparse(args))))


def spaced(argument):
    """Puts blanks around `=` after a type."""
    name, colon, rest = argument.partition(": ")
    return name + colon + " = ".join(rest.rsplit("=", 1)) if colon else argument


def decorators(function):
    return {ast.unparse(d).split(".")[0] for d in function.decorator_list}


def is_static(function):
    return "staticmethod" in decorators(function)


def is_setter(function):
    return any(ast.unparse(d).endswith(".setter") for d in function.decorator_list)


def is_overload(node, name):
    return getattr(node, "name", "") == name and "overload" in decorators(node)


def signature(name, function, is_method=False):
    result = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    if "property" in decorators(function):
        return f"{name}{result.replace(' -> ', ': ')}"
    text = f"{name}({arguments(function, is_method)}){result}"
    if len(text) <= 92:
        return text
    inner = ",\n    ".join(parts(arguments(function, is_method)))
    return f"{name}(\n    {inner},\n){result}"


def parts(text):
    """Splits arguments at commas outside of brackets."""
    out, depth = [""], 0
    for letter in text:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth:
            out.append("")
        else:
            out[-1] += letter
    return [part.strip() for part in out]


def said(node, thing):
    """Returns a docstring; that of the object for definitions in C++."""
    text = ast.get_docstring(node) or (inspect.getdoc(thing) if thing is not None else "") or ""
    first, _, rest = text.partition("\n\n")
    name = getattr(thing, "__name__", None)
    return rest if name and first.startswith(f"{name}(") else text


def methods(node):
    for name, function in defined(node.body).items():
        if isinstance(function, ast.FunctionDef) and not name.startswith("_"):
            if is_setter(function):  # the getter has the docstring of the property
                function = next(f for f in node.body if getattr(f, "name", "") == name)
            yield name, function


def fields(node):
    """Lists the fields of a named tuple."""
    return [
        f"{item.target.id}: {ast.unparse(item.annotation)}"
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
    ]


def class_signature(name, node):
    made = defined(node.body).get("__init__")
    bases = [ast.unparse(base) for base in node.bases]
    if fields(node):
        return f"class {name}(NamedTuple):\n    " + "\n    ".join(fields(node))
    if made:
        made.returns = None
        return "class " + signature(name, made, True)
    shown = [base for base in bases if not base.startswith("_")]
    return f"class {name}({', '.join(shown)})" if shown else f"class {name}"


def entry(name, node, thing):
    if isinstance(node, ast.FunctionDef):
        return [
            f"## {name}\n",
            fenced(signature(name, node), "python"),
            docstring(said(node, thing)),
        ]
    out = [f"## {name}\n", fenced(class_signature(name, node), "python")]
    out.append(docstring(said(node, thing)))
    for method, function in methods(node):
        out.append(f"### {name}.{method}\n")
        overloads = [f for f in node.body if is_overload(f, method)] or [function]
        out.append(fenced("\n".join(signature(method, f, True) for f in overloads), "python"))
        names = [arg.arg for arg in function.args.args + function.args.kwonlyargs]
        out.append(docstring(said(function, getattr(thing, method, None)), names))
    return out


def module_page(title, path, package=None):
    """Returns the page of a module: its docstring, then each public name."""
    folder, module = path.parent, path.stem
    out = [f"# {title}\n", docstring(ast.get_docstring(tree(path)) or "")]
    for name in public_names(path):
        node = definition(folder, module, name)
        if node:
            out += entry(name, node, getattr(package, name, None))
    return "\n".join(out)


def inner_classes(root, package):
    """Yields classes that methods of the builder return and that the package doesn't export."""
    path = root / PACKAGE / "_builder.py"
    for name, node in defined(tree(path).body).items():
        if isinstance(node, ast.ClassDef) and not name.startswith("_") and name != "Builder":
            yield "\n".join(entry(name, node, None))


def pages(root, package):
    """Yields the names and texts of pages; `package` is the imported treadle."""
    folder = root / PACKAGE
    top = module_page("The Python package treadle", folder / "__init__.py", package)
    yield "python", top + "\n" + "\n".join(inner_classes(root, package))
    for module in MODULES:
        path = folder / f"{module}.py"
        path = path if path.exists() else folder / module / "__init__.py"
        yield f"python-{module}", module_page(f"treadle.{module}", path)
