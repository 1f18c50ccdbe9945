#!/usr/bin/env python3
"""Templates rendered by tests/peers/render and by PyPI's jinja2, set up as transformers does: the same text, and errors in the
same places.  TAP.
    templates.py RENDER FOLDER [SEED [NUMBER]]   FOLDER: *.jinja and conversations.jsonl;  NUMBER random templates
    templates.py --write FOLDER                  writes its expected.txt"""
import datetime
import json
import os
import random
import subprocess
import sys
import warnings

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_same"), [], [], body).set_lineno(line)

    def _same(self, caller):
        return caller()


def environment():
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return env


def by_jinja(env, source, variables):
    try:
        return "ok", env.from_string(source).render(**json.loads(variables))
    except Exception as e:  # whatever a template does wrong
        return "error", f"{type(e).__name__}: {e}"


def by_engine(program, cases):
    data = b"".join(a.encode() + b"\0" + b.encode() + b"\0" for a, b in cases)
    out = subprocess.run([program], input=data, stdout=subprocess.PIPE, check=True).stdout
    results, at = [], 0
    for _ in cases:
        end = out.index(b"\n", at)
        status, n = out[at:end].decode().rsplit(" ", 1)
        results.append((status, out[end + 1 : end + 1 + int(n)].decode("utf-8", "replace")))
        at = end + 1 + int(n)
    return results


# -- random templates ------------------------------------------------------------------------------------------

VARIABLES = {
    "a": 7, "b": -3, "f": 2.5, "g": 1e22, "z": 0, "s": "Hello, wörld ", "t": "a-b_c d", "e": "", "n": None, "y": True, "no": False,
    "l": [3, 1, 2], "w": ["b", "A", "c", "a"], "m": {"k": 1, "x": [1, {"y": "z"}], "name": "it's"}, "empty": [], "none": {},
    "o": [{"role": "user", "content": "Hi", "n": 2}, {"role": "assistant", "content": "Yo\n", "n": 1}, {"role": "user", "n": 3}],
}
NAMES = list(VARIABLES) + ["missing"]
FILTERS = ["upper", "lower", "trim", "length", "string", "tojson", "list", "first", "last", "default('d')", "default('d', true)", "int",
           "float", "abs", "join", "join(', ')", "reverse | list", "sort", "unique | list", "title", "capitalize", "replace('l', 'L')",
           "items | list", "dictsort", "map('upper') | list", "map(attribute='role') | list", "selectattr('role') | list",
           "selectattr('role', 'equalto', 'user') | list", "rejectattr('content', 'defined') | list", "select('string') | list",
           "reject('none') | list", "tojson(indent=2)", "tojson(ensure_ascii=true)", "tojson(separators=(',', ':'))", "round", "round(1)",
           "indent", "indent(2, true)", "min", "max", "sum", "count", "batch(2) | list", "sort(reverse=true)", "sort(attribute='n')",
           "join('-', attribute='role')", "d", "map('length') | list", "center(9)", "tojson(sort_keys=true)", "trim('Hd ')"]
TESTS = ["defined", "undefined", "none", "string", "number", "mapping", "iterable", "sequence", "boolean", "integer", "float", "true",
         "false", "odd", "even", "divisibleby 2", "in [1, 'a', none]", "eq 7", "equalto 'x'", "lt 3", "upper", "lower", "ne 1", "in l",
         "not none", "not defined"]
METHODS = ["strip()", "lstrip('H')", "rstrip()", "split()", "split('l')", "split('-', 1)", "upper()", "lower()", "title()", "capitalize()",
           "startswith('H')", "endswith((' ', 'd'))", "replace('l', '')", "find('o')", "rfind('l')", "count('l')", "get('k')",
           "get('q', 5)", "items() | list", "keys() | list", "values() | list", "splitlines()", "isdigit()", "join(['x', 'y'])",
           "isalpha()", "isupper()", "islower()", "partition('-')", "rsplit('l', 1)", "removeprefix('He')", "removesuffix(' ')",
           "index(1)", "rjust(9, '.')", "swapcase()", "isspace()", "append(1)", "foo()"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]


def expression(r, depth):
    kind = r.randrange(14) if depth > 0 else r.randrange(2)
    sub = lambda: expression(r, depth - 1)  # noqa: E731
    if kind == 0:
        return r.choice(NAMES)
    if kind == 1:
        return r.choice(["1", "0", "-2", "3.0", "0.1", "1e3", "'x'", "\"it's\"", "'a\\nb'", "true", "none", "[]", "{}", "'é'", "()", "12345"])
    if kind in (2, 3):
        return f"({sub()} {r.choice(BINARY)} {sub()})"
    if kind in (4, 5):
        return f"({sub()} | {r.choice(FILTERS)})"
    if kind == 6:
        return f"({sub()} is {r.choice(TESTS)})"
    if kind == 7:
        # of names: what is constant nonsense jinja2 may find before it is run
        return f"({r.choice(NAMES)}.{r.choice(METHODS)})" if r.random() < 0.5 else f"({r.choice(['s', 't', 'm', 'l'])}.{r.choice(METHODS)})"
    if kind == 8:
        return f"({sub()} if {sub()} else {sub()})" if r.random() < 0.8 else f"({sub()} if {sub()})"
    if kind == 9:
        parts = [r.choice(["", str(r.randrange(-4, 5))]) for _ in range(3)]
        return f"{r.choice(['s', 't', 'l', 'w', 'o', 'e', 'm', 'a', 'missing'])}[{':'.join(parts)}]"
    if kind == 10:
        return f"{sub()}[{r.choice([sub(), '0', '-1', chr(39) + 'k' + chr(39)])}]"
    if kind == 11:
        return f"{sub()}.{r.choice(['k', 'role', 'x', 'name', 'foo', '0'])}"
    if kind == 12:
        return f"[{sub()}, {sub()}]" if r.random() < 0.5 else f"{{'p': {sub()}, {r.choice(['1', chr(34) + 'q' + chr(34), 'a'])}: {sub()}}}"
    return f"(not {sub()})" if r.random() < 0.5 else f"({sub()}, {sub()})"


def space(r):
    return r.choice(["", " ", "\n", "  \n", "\n\n", "x", " y\n", "\t"])


def tag(r, inside):
    return "{%" + r.choice(["", "", "-", "+"]) + " " + inside + " " + r.choice(["", "", "-"]) + "%}"


def statement(r, depth):
    kind = r.randrange(10) if depth > 0 else 0
    body = lambda: space(r) + "".join(statement(r, depth - 1) + space(r) for _ in range(r.randrange(3)))  # noqa: E731
    x = lambda: expression(r, r.randrange(3))  # noqa: E731
    if kind in (0, 1):
        return "{{" + r.choice(["", "-"]) + " " + x() + " " + r.choice(["", "-"]) + "}}"
    if kind == 2:
        return tag(r, "if " + x()) + body() + (tag(r, "elif " + x()) + body() if r.random() < 0.4 else "") + (
            tag(r, "else") + body() if r.random() < 0.5 else "") + tag(r, "endif")
    if kind in (3, 4):
        over = r.choice(["l", "o", "w", "m", "range(3)", "m.items()", "empty", x()])
        target = "k, v" if over == "m.items()" else "i"
        inner = r.choice(["{{ loop.index }}", "{{ loop.last }}{{ loop.previtem }}", "{{ i }}", "{% if loop.first %}{% continue %}{% endif %}",
                          "{% if loop.index == 2 %}{% break %}{% endif %}", "{{ loop.cycle('p', 'q') }}", "{{ loop.length - loop.revindex0 }}",
                          "{{ loop.changed(i) }}", "{% set q = loop.index %}{{ q }}{{ loop.nextitem is defined }}"])
        return tag(r, f"for {target} in {over}" + (" if loop is undefined" if r.random() < 0.1 else "")) + inner + body() + (
            tag(r, "else") + body() if r.random() < 0.3 else "") + tag(r, "endfor")
    if kind == 5:
        return tag(r, f"set q = {x()}") + "{{ q }}"
    if kind == 6:
        return tag(r, "set q" + r.choice(["", " | upper", " | trim | length"])) + body() + tag(r, "endset") + "[{{ q }}]"
    if kind == 7:
        return tag(r, f"set ns = namespace(v={x()}, c=0)") + tag(r, "for i in l") + tag(r, "set ns.c = ns.c + i") + body() + tag(r, "endfor") + \
            "{{ ns.v }}{{ ns.c }}"
    if kind == 8:
        call = r.choice(["fn(1)", "fn(1, 2)", "fn(q=1, p=2)", "fn()", "fn(1, 2, 3)", "fn(r=1)", "fn(*l)", "fn(**{'q': 1})"])
        return tag(r, f"macro fn(p, q={x()})") + "<{{ p }}|{{ q }}>" + r.choice(["", "{{ caller() }}", "{{ varargs }}", "{{ kwargs }}"]) + \
            tag(r, "endmacro") + (f"{{{{ {call} }}}}" if r.random() < 0.6 else tag(r, f"call {call}") + body() + tag(r, "endcall"))
    return r.choice(["{# c #}", " {#- c -#} ", "{% raw %}{{ x }}{% endraw %}", tag(r, "with u = 1") + body() + tag(r, "endwith"),
                     tag(r, "filter upper") + body() + tag(r, "endfilter"), tag(r, "generation") + body() + tag(r, "endgeneration")])


def random_cases(seed, number):
    variables = json.dumps(VARIABLES, ensure_ascii=False)
    for k in range(number):
        r = random.Random(f"{seed}/{k}")
        if k % 2:
            yield "{{ " + expression(r, r.randrange(1, 4)) + " }}", variables
        else:
            yield "".join(space(r) + statement(r, 2) for _ in range(r.randrange(1, 4))) + space(r), variables


def file_cases(folder):
    """(name of the template, number of the line, the template, its variables)"""
    with open(os.path.join(folder, "conversations.jsonl"), encoding="utf-8") as f:
        conversations = f.read().splitlines()
    for name in sorted(os.listdir(folder)):
        if name.endswith(".jinja"):
            with open(os.path.join(folder, name), encoding="utf-8", newline="") as f:
                source = f.read()
            for n, variables in enumerate(conversations, 1):
                yield name[: -len(".jinja")], n, source, variables


def write_expected(env, folder):
    """What tests/chat/test-templates compares with, where there is no jinja2."""
    with open(os.path.join(folder, "expected.txt"), "w", encoding="utf-8") as f:
        for name, n, source, variables in file_cases(folder):
            kind, text = by_jinja(env, source, variables)
            value = 0xCBF29CE484222325
            for byte in text.encode():
                value = (value ^ byte) * 0x100000001B3 % (1 << 64)
            f.write(f"{name} {n} " + (f"{len(text.encode())} {value:016x}\n" if kind == "ok" else "error\n"))


def compare(env, program, cases, show):
    """(number of cases that differ, of refusals, of errors in both)"""
    bad = refused = failed = 0
    for (source, variables), (status, text) in zip(cases, by_engine(program, cases)):
        kind, expected = by_jinja(env, source, variables)
        if status == "not supported":
            refused += 1
            if os.environ.get("SHOW_REFUSED"):
                print(f"# refused: {text}")
            continue
        if kind == "error" and status != "ok":
            failed += 1
            continue
        if (kind, expected) != (status, text):
            bad += 1
            if bad <= show:
                print(f"# {source!r}\n#   jinja2: {kind} {expected!r}\n#   engine: {status} {text!r}")
    return bad, refused, failed


def main():
    warnings.simplefilter("ignore", SyntaxWarning)
    if sys.argv[1] == "--write":
        return write_expected(environment(), sys.argv[2])
    program, folder = sys.argv[1:3]
    seed = sys.argv[3] if len(sys.argv) > 3 else "1"
    number = int(sys.argv[4]) if len(sys.argv) > 4 else 3000
    env = environment()
    groups = [("templates of models", [case[2:] for case in file_cases(folder)]), (f"random templates, seed {seed}", list(random_cases(seed, number)))]
    for n, (what, cases) in enumerate(groups, 1):
        bad, refused, failed = compare(env, program, cases, 20)
        good = bad == 0 and refused <= (0 if n == 1 else len(cases) // 20)
        print(f"{'ok' if good else 'not ok'} {n} - {what}: {len(cases)} texts as jinja2 {jinja2.__version__} makes them "
              f"({failed} errors in both, {refused} refused, {bad} differ)")
    print(f"1..{len(groups)}")


main()
