"""Static hints: what in a source file may be lost or repeated at a pause. Read by `ast`, nothing is run.

A hint is a guess from names and order of lines; only a trace tells what happens. `# hitl: ok` on the line, or on the
`def` line, silences it.
"""

from __future__ import annotations

import ast
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HINTS: dict[str, tuple[str, str]] = {
    "HL101": ("acts before interrupt(): the resume runs the node from its first line and does it again", "HL008"),
    "HL102": ("writes before interrupt(): commit drops it at the pause", "HL001"),
    "HL103": ("changes state in place before interrupt(), which is no write", "HL011"),
    "HL104": ("may catch GraphInterrupt, and then there is no pause", "HL010"),
    "HL105": ("asks what is made anew on each run: the answer may be given to another question", "HL009"),
    "HL106": ("changes something outside the node before interrupt(): the resume changes it again", "HL008"),
}
"""Code to what it says, and the finding that a trace would have if it is so."""

_OK = re.compile(r"#\s*hitl:\s*ok\b")
_SKIP = {"node_modules", "site-packages", "__pycache__", "build", "dist"}
_VERB = re.compile(
    r"^_?(send|charge|pay|post|publish|email|mail|notify|transfer|refund|book|place_order|upload|delete|insert|deploy|"
    r"submit|cancel|ship|create_(order|ticket|issue|invoice|payment|user)|write_(file|row|to)|save_to|log_to)(_(?!hook)|$)"
)
_METHODS = {
    "post", "patch", "delete", "publish", "send_message", "sendmail", "send_email", "send_json", "commit",
    "executemany",
    "write_text", "write_bytes", "unlink", "put_object", "charge", "refund", "upload", "upload_file", "notify",
}  # fmt: skip
_MODULES = {"requests", "httpx", "smtplib", "subprocess", "shutil", "boto3", "stripe", "urllib"}
_FUNCTIONS = {"os.remove", "os.unlink", "os.system", "os.rename", "os.makedirs"}
_ANEW = {
    "uuid4", "uuid1", "random", "randint", "choice", "sample", "shuffle", "token_hex", "token_urlsafe", "now", "utcnow",
    "time", "today", "perf_counter",
}  # fmt: skip
_MODEL = {"invoke", "ainvoke", "predict", "generate", "complete", "create"}
_WIDE = {"Exception", "BaseException", "GraphInterrupt", "GraphBubbleUp", "NodeInterrupt"}
_PASS = {"GraphInterrupt", "GraphBubbleUp"}
_CHANGES = {"append", "extend", "insert", "add", "update", "pop", "remove", "clear", "setdefault"}


@dataclass(frozen=True)
class Hint:
    """One guess. line, column: from 1. node: the function. text: what the line does."""

    code: str
    file: str
    line: int
    column: int
    node: str
    text: str

    def __str__(self) -> str:
        says, finding = HINTS[self.code]
        return (
            f"{self.file}:{self.line}:{self.column}: {self.code} hint: {self.node}: {self.text} {says}. "
            f"To be sure, trace a run that pauses here and look for {finding}."
        )


class NotPython(Exception):
    """A file that cannot be read as Python; the text says why."""


def files(path: Path) -> Iterator[Path]:
    """Yield the Python files at or below a path, without hidden folders, environments and builds."""
    if path.is_file():
        yield path
        return
    for found in sorted(path.rglob("*.py")):
        inner = found.relative_to(path).parts
        if any(part in _SKIP or part[:1] == "." for part in inner) or any(
            (parent / "pyvenv.cfg").is_file() for parent in found.parents if path in parent.parents
        ):
            continue
        yield found


def lint_file(path: Path, shown: str = "") -> list[Hint]:
    """Return the hints of one file. Raises NotPython."""
    try:
        with tokenize.open(path) as source:
            text = source.read()
    except (OSError, SyntaxError, UnicodeDecodeError) as exc:
        raise NotPython(f"{shown or path} cannot be read: {exc}") from exc
    return lint(text, shown or str(path))


def lint(text: str, file: str = "<text>") -> list[Hint]:
    """Return the hints of a source text, in the order of its lines. Raises NotPython."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as exc:
        raise NotPython(f"{file} is no Python: {exc}") from exc
    silent = {i for i, line in enumerate(text.splitlines(), 1) if _OK.search(line)}
    names = _interrupt_names(tree)
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    # One level of helpers: a function of this file that asks makes its caller pause too.
    helpers = {f.name for f in functions if _asks(f, names, set())} if names else set()
    runs = _graph_calls(tree)
    asking = [f for f in functions if (names or runs) and f.lineno not in silent]
    hints = [h for f in asking for h in _Function(f, names, helpers, runs, file).hints()]
    return sorted({h for h in hints if h.line not in silent}, key=lambda h: (h.line, h.column, h.code))


def _interrupt_names(tree: ast.Module) -> set[str]:
    """Return the dotted names under which this file can call interrupt()."""
    out: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("langgraph"):
            for alias in node.names:
                if alias.name == "interrupt":
                    out.add(alias.asname or "interrupt")
                elif alias.name == "types":
                    out.add(f"{alias.asname or 'types'}.interrupt")
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "langgraph.types":
                    out.add(f"{alias.asname or alias.name}.interrupt")
    return out


def _graph_calls(tree: ast.Module) -> set[str]:
    """Return the dotted names that run a graph of this file, like "team.invoke": it may pause in its caller."""
    makers = {
        f.name for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and any(_compiles(n) for n in ast.walk(f))
    }
    out: set[str] = set()
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)):
            continue
        name = _dotted(node.targets[0])
        if name and (_compiles(node.value) or _dotted(node.value.func) in makers):
            out |= {f"{name}.{how}" for how in ("invoke", "ainvoke", "stream", "astream")}
    return out


def _compiles(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "compile"


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value)
        return f"{inner}.{node.attr}" if inner else node.attr
    return ""


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function without those of functions defined in it."""
    todo = list(ast.iter_child_nodes(function))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo.extend(ast.iter_child_nodes(node))


def _asks(node: ast.AST, names: set[str], helpers: set[str]) -> list[ast.Call]:
    calls = [n for n in _own(node) if isinstance(n, ast.Call)]
    return [c for c in calls if (d := _dotted(c.func)) in names or d in helpers]


class _Function:
    """The hints of one function."""

    def __init__(
        self,
        function: ast.FunctionDef | ast.AsyncFunctionDef,
        names: set[str],
        helpers: set[str],
        runs: set[str],
        file: str,
    ) -> None:
        self.function, self.file, self.names, self.runs = function, file, names, runs
        self.helpers = helpers - {function.name}
        self.nodes = sorted((n for n in _own(function) if hasattr(n, "lineno")), key=lambda n: (n.lineno, n.col_offset))
        self.asks = _asks(function, names, self.helpers)
        args = function.args
        self.parameters = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
        stored = {n.id for n in self.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        outer = {name for n in self.nodes if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
        self.local = (stored | set(self.parameters)) - outer

    def hints(self) -> Iterator[Hint]:
        yield from self.swallowing()
        if not self.asks:
            return
        last = max((c.lineno, c.col_offset) for c in self.asks)
        for node in self.nodes:
            if (node.lineno, node.col_offset) >= last or self.after_return(node):
                continue
            if isinstance(node, ast.Call) and node not in self.asks:
                yield from self.call(node)
            elif isinstance(node, ast.Assign | ast.AugAssign):
                yield from self.assignment(node)
        yield from self.anew()

    def after_return(self, node: ast.AST) -> bool:
        # A branch that returns never reaches the question.
        for n in self.nodes:
            if isinstance(n, ast.If):
                for branch in (b for b in (n.body, n.orelse) if b):
                    lines = range(branch[0].lineno, (branch[-1].end_lineno or 0) + 1)
                    asks = any(c.lineno in lines for c in self.asks)
                    if node.lineno in lines and not asks and isinstance(branch[-1], ast.Return | ast.Raise):
                        return True
        return False

    def hint(self, code: str, node: ast.AST, text: str) -> Hint:
        return Hint(code, self.file, node.lineno, node.col_offset + 1, self.function.name, text)

    def call(self, node: ast.Call) -> Iterator[Hint]:
        name = _dotted(node.func)
        last = name.rsplit(".", 1)[-1]
        shown = f"{name or ast.unparse(node.func)[:40]}(...)"
        if self.is_send(node) or last in ("push_message", "push_ui_message"):
            yield self.hint("HL102", node, shown)
        elif last in _CHANGES and isinstance(node.func, ast.Attribute):
            yield from self.change(node, node.func.value, shown)
        elif self.acts(name) or (last == "open" and _opens_to_write(node)):
            yield self.hint("HL101", node, shown)

    def acts(self, name: str) -> bool:
        first, _, rest = name.partition(".")
        last = name.rsplit(".", 1)[-1]
        if name in ("effect", "hitl_lab.effect"):
            return True
        if last in ("put", "aput", "delete", "adelete") and "store" in name.lower():
            return True
        if rest and first in _MODULES:
            return last not in ("get", "head")
        return bool((rest and last in _METHODS) or name in _FUNCTIONS or _VERB.match(last))

    def is_send(self, node: ast.Call) -> bool:
        text = ast.unparse(node.func)
        if "__pregel_send" in text or "CONFIG_KEY_SEND" in text:
            return True
        # send = config["configurable"]["__pregel_send"], or from a helper that reads it
        return isinstance(node.func, ast.Name) and node.func.id == "send" and "send" in self.local

    def root(self, node: ast.AST) -> str:
        while isinstance(node, ast.Subscript | ast.Attribute | ast.Call):
            node = node.func if isinstance(node, ast.Call) else node.value
        return node.id if isinstance(node, ast.Name) else ""

    def change(self, node: ast.AST, target: ast.AST, shown: str) -> Iterator[Hint]:
        root = self.root(target)
        is_state = self.parameters[:1] == [root] or (self.parameters[:1] == ["self"] and self.parameters[1:2] == [root])
        own = root == "self" and not isinstance(target, ast.Name)
        if is_state and not isinstance(target, ast.Name):
            yield self.hint("HL103", node, shown)
        elif own or (root and root not in self.local):
            yield self.hint("HL106", node, shown)

    def assignment(self, node: ast.Assign | ast.AugAssign) -> Iterator[Hint]:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Subscript | ast.Attribute):
                yield from self.change(node, target, f"{ast.unparse(target)} = ...")
            elif isinstance(target, ast.Name) and target.id not in self.local:
                yield self.hint("HL106", node, f"{target.id} = ...")

    def anew(self) -> Iterator[Hint]:
        made: dict[str, ast.AST] = {}
        for node in self.nodes:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                calls = [c for c in ast.walk(node.value) if isinstance(c, ast.Call)]
                if any(self.is_anew(c) for c in calls):
                    made[node.targets[0].id] = node
        for ask in self.asks:
            for used in ast.walk(ask):
                if isinstance(used, ast.Name) and used.id in made and made[used.id].lineno < ask.lineno:
                    yield self.hint("HL105", ask, f"{used.id}, from line {made[used.id].lineno},")
                elif isinstance(used, ast.Call) and used is not ask and self.is_anew(used):
                    yield self.hint("HL105", used, f"{_dotted(used.func)}()")

    def is_anew(self, call: ast.Call) -> bool:
        name = _dotted(call.func)
        last = name.rsplit(".", 1)[-1]
        return last in _ANEW or ("." in name and last in _MODEL and not name.endswith("messages.create"))

    def pauses_in(self, body: list[ast.stmt]) -> str:
        """Return what may pause in these statements: "interrupt()", "team.invoke(...)", or ""."""
        block = ast.Module(body=body, type_ignores=[])
        if _asks(block, self.names, self.helpers):
            return "interrupt()"
        runs = _asks(block, self.runs, set())
        return f"{_dotted(runs[0].func)}(...)" if runs else ""

    def swallowing(self) -> Iterator[Hint]:
        for node in self.nodes:
            if isinstance(node, ast.Try | getattr(ast, "TryStar", ast.Try)):
                asked = self.pauses_in(node.body)
                if not asked:
                    continue
                for handler in node.handlers:
                    kinds = _kinds(handler.type)
                    lets = _reraises(handler)
                    if kinds & _PASS and lets:
                        break
                    if (handler.type is None or kinds & _WIDE) and not lets:
                        shown = "except" + (f" {ast.unparse(handler.type)}" if handler.type else "")
                        yield self.hint("HL104", handler, f"{shown} around {asked}")
                        break
                for statement in node.finalbody:
                    for n in [statement, *_own(statement)]:
                        if isinstance(n, ast.Return):
                            yield self.hint("HL104", n, "return in finally")
            elif isinstance(node, ast.With | ast.AsyncWith):
                for item in node.items:
                    call = item.context_expr
                    if isinstance(call, ast.Call) and _dotted(call.func).rsplit(".", 1)[-1] == "suppress":
                        kinds = {k for a in call.args for k in _kinds(a)}
                        asked = self.pauses_in(node.body)
                        if kinds & _WIDE and asked:
                            yield self.hint("HL104", node, f"{ast.unparse(call)} around {asked}")


def _kinds(node: ast.AST | None) -> set[str]:
    if isinstance(node, ast.Tuple):
        return {k for item in node.elts for k in _kinds(item)}
    return {_dotted(node).rsplit(".", 1)[-1]} if node is not None else set()


def _reraises(handler: ast.ExceptHandler) -> bool:
    """Whether a handler passes the exception on as it is, at its own level or after a test of its kind."""
    for statement in handler.body:
        if isinstance(statement, ast.Raise):
            return statement.exc is None or _dotted(statement.exc) == handler.name
        if isinstance(statement, ast.If) and "Graph" in ast.unparse(statement.test):
            return any(isinstance(s, ast.Raise) for s in statement.body)
    return False


def _opens_to_write(node: ast.Call) -> bool:
    mode = node.args[1] if len(node.args) > 1 else next((k.value for k in node.keywords if k.arg == "mode"), None)
    if _dotted(node.func) != "open" and node.args:
        mode = mode or node.args[0]  # path.open("w")
    return isinstance(mode, ast.Constant) and isinstance(mode.value, str) and bool(set(mode.value) & set("wax+"))
