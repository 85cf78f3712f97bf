"""Programs that run several others side by side, as StableHLO's interpreter does for its tests:
each on a device of a grid of replicas and partitions, which here is a session of its own."""

import re
import threading

import treadle

CALL = re.compile(
    r"%(\w+)(:\d+)? = \"interpreter\.run_parallel\"\((?P<operands>[^)]*)\) \{(?P<attributes>.*?)\}"
    r"\s*:\s*\((?P<inputs>[^)]*)\)\s*->\s*(?:\((?P<outputs>[^)]*)\)|(?P<output>\S+))\n",
    re.DOTALL,
)
MAIN = re.compile(
    r"func\.func @main\(\)(?P<results>[^{]*)\{.*?\n\s*(?:func\.)?return[^\n]*\n\s*\}\n", re.DOTALL
)


def is_parallel(text):
    return "interpreter.run_parallel" in text


def listed(text):
    return [part.strip() for part in text.split(",") if part.strip()]


def without_tokens(values, types):
    """Returns the feeds without tokens, which programs don't take."""
    return [v for v, t in zip(values, types, strict=True) if t != "!stablehlo.token"]


class ParallelProgram:
    """The text of a test, taken apart."""

    def __init__(self, text, folder):
        self.folder = folder
        self.text = text
        self.main = MAIN.search(text)
        call = CALL.search(text)
        rows = re.search(r"programs\s*=\s*\[(.*)\]", call["attributes"], re.DOTALL)[1]
        self.grid = [re.findall(r"@(\w+)", row) for row in re.findall(r"\[([^\]]*)\]", rows)]
        fed = re.search(r"infeed\s*=\s*\[([^\]]*)\]", call["attributes"])
        self.infeed = re.findall(r"@(\w+)", fed[1]) if fed else []
        self.call, self.result = call, call[1]
        self.operands = listed(call["operands"])
        self.outputs = listed(call["outputs"] or call["output"])

    def run(self):
        """Raises what a program or a check raises."""
        values = self.evaluated(self.before(), []) if self.operands else []
        values = without_tokens(values, listed(self.call["inputs"]))
        fed = [value for name in self.infeed for value in self.evaluated(self.program(name), [])]
        functions = [function for row in self.grid for function in row]
        ranks = treadle.Communicator.simulated(len(functions), timeout=20)
        outcomes = [None] * len(functions)

        def run_one(rank, given):
            try:
                text = self.program(functions[rank])
                outcomes[rank] = self.evaluated(text, given, ranks[rank])
            except treadle.Error as error:
                outcomes[rank] = error

        threads = []
        for rank, function in enumerate(functions):
            count = self.num_arguments(function)
            threads.append(threading.Thread(target=run_one, args=(rank, [*values[:count], *fed])))
            values = values[count:]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for outcome in outcomes:
            if isinstance(outcome, treadle.Error):
                raise outcome
        values = [value for outcome in outcomes for value in outcome]
        self.evaluated(self.after(), without_tokens(values, self.outputs))

    def before(self):
        """@main up to the call, which gives the operands."""
        head = self.text[self.main.start() : self.call.start()]
        types = self.call["inputs"]
        head = head.replace("@main()" + self.main["results"], f"@main() -> ({types}) ")
        return f"{head}  return {', '.join(self.operands)} : {types}\n}}\n"

    def after(self):
        """@main with the call's results as arguments."""
        rest = self.text[self.call.end() : self.main.end()]
        constants = self.text[self.main.start() : self.call.start()].split("{", 1)[1]
        names = [f"%run_{i}" for i in range(len(self.outputs))]
        rest = re.sub(rf"%{self.result}#(\d+)", r"%run_\1", rest)
        arguments = ", ".join(f"{n}: {t}" for n, t in zip(names, self.outputs, strict=True))
        return f"func.func @main({arguments}){self.main['results']}{{{constants}{rest}"

    def program(self, function):
        """The module with the function as @main, for the grid."""
        attributes = (
            f"attributes {{mhlo.num_replicas = {len(self.grid)} : i32, "
            f"mhlo.num_partitions = {len(self.grid[0])} : i32}} {{"
        )
        rest = self.text[: self.main.start()] + self.text[self.main.end() :]
        rest = re.sub(rf"@{function}\b(?=\()", "@main", rest)
        if not re.search(r"module @\w+ \{", rest):
            return f"module {attributes}\n{rest}\n}}\n"
        return re.sub(r"(module @\w+) \{", rf"\1 {attributes}", rest)

    def num_arguments(self, function):
        head = re.search(rf"func\.func @{function}\((.*?)\)", self.text, re.DOTALL)
        return head[1].count("%") - head[1].count("!stablehlo.token")

    def evaluated(self, text, arguments, communicator=None):
        path = self.folder / f"{threading.get_ident()}.mlir"
        path.write_text(text)
        graph = treadle.Graph.from_file(path)
        entry = re.search(r"tf\.entry_function = \{(.*?)\}", graph.text())[1]
        names = {key: value.split(",") for key, value in re.findall(r'(\w+) = "([^"]*)"', entry)}
        feeds = dict(zip(names["inputs"], arguments, strict=False)) if arguments else {}
        feeds = {f"{name}:0": value for name, value in feeds.items()}
        targets = [name for name in names["control_outputs"] if name]
        results = [name for name in names["outputs"] if name and not name.startswith("outfeed")]
        session = treadle.Session(graph, denormals="keep", communicator=communicator)
        return session.run(results, feeds, targets)
