#!/usr/bin/env python3
"""Grammars of JSON schemas against PyPI's jsonschema: drawn schemas; what a walk through the grammar gives must be valid, and what is
drawn as the schema says must be let through.  TAP.
    schemas.py WALK [--seed N] [--schemas N] [--write FILE]: FILE gets vectors for tests/lm/test-schema"""
import argparse
import json
import random
import re
import subprocess
import sys

import jsonschema

NAMES = ["a", "b", "name", "na", "id", "x y", "\u00e9t\u00e9", "q\"r", "nam", ""]
PATTERNS = [r"^[a-z]{2,4}$", r"^\d+(\.\d{1,2})?$", r"ab+c", r"^(yes|no)$", r"^[^\"a]{1,3}$", r"^\w+\s\w*$", r"\\x", r"^a.c$", r"^\S{2}",
            r"^(?:[A-F0-9]{2}:){2}[A-F0-9]{2}$", r"[\t\"]$", r"^\D\u0041?$"]
VALUES = [1, -2.5, "x", "\"q\"", "\u00e9\n", None, True, False, [1, "a"], {"k": [None]}, 10 ** 12, ""]


class Drawer:
    def __init__(self, rng):
        self.rng, self.defs = rng, {}

    def scalar(self):
        r = self.rng
        kind = r.randrange(15)
        if kind == 0:
            return {"type": "string"}
        if kind == 1:
            low = r.randrange(4)
            s = {"type": "string", "minLength": low}
            if r.random() < .7:
                s["maxLength"] = low + r.randrange(5)
            return s
        if kind == 2:
            return {"type": "string", "pattern": r.choice(PATTERNS)}
        if kind == 3:
            return {"type": "string", "format": r.choice(["date", "time", "date-time", "uuid", "email", "ipv4", "ipv6"])}
        if kind == 4:
            return {"enum": r.sample(VALUES, r.randrange(1, 5))}
        if kind == 5:
            return {"const": r.choice(VALUES)}
        if kind == 6:
            return {"type": r.choice(["boolean", "null", "number", "integer"])}
        if kind == 7:
            return {"type": sorted(r.sample(["boolean", "null", "string", "integer"], 2))}
        if kind == 8:
            return r.choice([True, {}, {"type": "object"}, {"type": "array"}])
        if kind in (9, 10):
            s = {"type": "number"}
            low = r.choice([0, r.randrange(-500, 500) / 100, r.randrange(-9, 9), r.randrange(10 ** 9) / 1000])
            if r.random() < .7:
                s[r.choice(["minimum", "exclusiveMinimum"])] = low
            if r.random() < .7:
                s[r.choice(["maximum", "exclusiveMaximum"])] = round(low + r.choice([1, .01, 17.5, 10 ** 8]), 3)
            return s
        if kind == 11:
            s = {"type": r.choice(["integer", "number"]), "multipleOf": r.choice([1, 2, 3, 5, 7, 10, 25, 100, 999])}
            low = r.choice([None, 0, 1, -30])
            if low is not None:
                s["minimum"] = low
            if low == -30:
                s["maximum"] = 900
            return s
        s = {"type": "integer"}
        low = r.choice([-10 ** r.randrange(1, 12), 0, r.randrange(-2000, 2000), -1, 10 ** r.randrange(6)])
        if r.random() < .7:
            s[r.choice(["minimum", "exclusiveMinimum"])] = r.choice([low, low + .5])
        if r.random() < .7:
            s[r.choice(["maximum", "exclusiveMaximum"])] = low + 2 + r.randrange(10 ** r.randrange(1, 9))
        return s

    def object(self, depth):
        r = self.rng
        names = r.sample(NAMES, r.randrange(5))
        s = {"type": "object", "properties": {n: self.schema(depth + 1) for n in names}}
        if names and r.random() < .7:
            s["required"] = r.sample(names, r.randrange(len(names) + 1))
        more = r.randrange(4)
        if more:
            s["additionalProperties"] = [None, False, True, self.schema(depth + 1)][more]
        return s

    def schema(self, depth=0):
        r = self.rng
        kind = r.randrange(10) if depth < 3 else 0
        if kind < 3:
            s = self.scalar()
        elif kind < 5:
            s = self.object(depth)
        elif kind == 5:
            s = {"type": "array", "items": self.schema(depth + 1)}
            low = r.randrange(3)
            if r.random() < .5:
                s["minItems"] = low
            if r.random() < .5:
                s["maxItems"] = low + r.randrange(3)
        elif kind == 6:
            s = {"type": "array", "prefixItems": [self.schema(depth + 1) for _ in range(r.randrange(1, 4))]}
            if r.random() < .5:
                s["minItems"] = r.randrange(3)
            if r.random() < .7:
                s["items"] = r.choice([False, self.schema(depth + 1)])
                if s["items"] is False:
                    s["minItems"] = min(s.get("minItems", 0), len(s["prefixItems"]))
        elif kind == 7:
            s = {"anyOf": [self.schema(depth + 1) for _ in range(r.randrange(1, 4))]}
        elif kind == 8:
            s = {"oneOf": [{"type": "string", "maxLength": 3}, {"type": "null"}, {"type": "integer", "minimum": 5},
                           {"type": "object", "properties": {"t": {"const": 1}, "v": self.schema(depth + 1)}, "required": ["t", "v"]},
                           {"type": "object", "properties": {"t": {"enum": [2, 3]}}, "required": ["t"]}][: r.randrange(1, 6)]}
        elif r.random() < .5:
            name = "d%d" % len(self.defs)
            self.defs[name] = True  # so that others get other names
            self.defs[name] = self.schema(depth + 1)
            s = {"$ref": "#/$defs/" + name}
        else:
            a, b = self.object(depth), self.object(depth)
            for one in a, b:
                one.pop("additionalProperties", None)
            for name in a["properties"]:
                b["properties"].pop(name, None)
            b["required"] = [n for n in b.get("required", []) if n in b["properties"]]
            s = {"allOf": [a, b]}
        if isinstance(s, dict) and r.random() < .1:
            s = dict(s, title="t", description="d")
        return s

    def document(self):
        s = self.schema()
        # a list and a tree, which refer to themselves
        if self.rng.random() < .2:
            self.defs["list"] = {"type": "object", "properties": {"next": {"$ref": "#/$defs/list"}, "v": s}, "additionalProperties": False}
            s = {"$ref": "#/$defs/list"}
        elif self.rng.random() < .1:
            self.defs["tree"] = {"anyOf": [{"type": "null"}, {"type": "array", "items": {"$ref": "#/$defs/tree"}}]}
            s = {"type": "object", "properties": {"tree": {"$ref": "#/$defs/tree"}, "v": s}}
        return dict(s, **{"$defs": self.defs}) if isinstance(s, dict) and self.defs else s


class Writer:
    """Documents as the schema says, as texts; None: not this time."""

    def __init__(self, rng, root):
        self.rng, self.root = rng, root
        self.comma, self.colon = rng.choice([(",", ":"), (", ", ": "), (",\n  ", ": ")])

    def merged(self, s):
        out = {k: v for k, v in s.items() if k not in ("allOf",)}
        for part in s.get("allOf", []):
            part = self.merged(part)
            for k, v in part.items():
                if k == "properties":
                    out["properties"] = dict(out.get("properties", {}), **v)
                elif k == "required":
                    out["required"] = out.get("required", []) + v
                else:
                    out[k] = v
        return out

    def text(self, s, depth=0):
        r = self.rng
        if depth > 12:
            return None
        if s is True or not [k for k in s if k not in ("title", "description", "$defs")]:
            return r.choice(["1", "-0.5e3", "\"x\\n\"", "null", "[]", "{}", "[1" + self.comma + "true]"])
        if s is False:
            return None
        if "$ref" in s:
            return self.text(self.root["$defs"][s["$ref"].split("/")[-1]], depth + 1)
        if "allOf" in s:
            s = self.merged(s)
        for key in "anyOf", "oneOf":
            if key in s:
                return self.text(r.choice(s[key]), depth + 1)
        if "const" in s or "enum" in s:
            v = s["const"] if "const" in s else r.choice(s["enum"])
            return json.dumps(v, ensure_ascii=False, separators=(",", ":"))
        t = s["type"]
        t = r.choice(t) if isinstance(t, list) else t
        return getattr(self, t)(s, depth)

    def null(self, s, depth):
        return "null"

    def boolean(self, s, depth):
        return self.rng.choice(["true", "false"])

    def number(self, s, depth):
        if "multipleOf" in s:
            return self.integer(s, depth)
        low = s.get("minimum", s.get("exclusiveMinimum"))
        high = s.get("maximum", s.get("exclusiveMaximum"))
        if low is not None or high is not None:
            low = high - 50 if low is None else low
            high = low + 50 if high is None else high
            text = "%.*f" % (self.rng.randrange(7), self.rng.uniform(low, high))
            if abs(float(text)) >= 10 ** 7:
                return "%d" % float(text)
            text = text.replace("-0", "0", 1) if float(text) == 0 else text
            return self.rng.choice([text.rstrip("0").rstrip(".") if "." in text else text, "%d" % low, "%d" % high])
        return self.rng.choice(["0", "-1.25", "3e10", "12345678.5E-2", "7"])

    def integer(self, s, depth):
        if "multipleOf" in s:
            return str(s["multipleOf"] * self.rng.randrange(-3, 2000 // s["multipleOf"]))
        high = s.get("maximum", s.get("exclusiveMaximum", 10 ** 13))
        low = s.get("minimum", s.get("exclusiveMinimum", high - 10 ** 6))
        return str(self.rng.choice([int(low), int(low) + 1, int(high), int(high) - 1, self.rng.randint(int(low), int(high))]))

    def string(self, s, depth):
        r = self.rng
        if "pattern" in s:
            return json.dumps(r.choice(["ab", "xyz", "12.5", "7", "xabbbcx", "yes", "no", "b/", "a b", "foo bar", "\\x", "abc", "ab!", "AA:0B:1C", "tab\t", "\"",
                                        "-A", "!"]), ensure_ascii=r.random() < .5)
        if "format" in s:
            return json.dumps(r.choice(["2024-02-29", "1999-12-31", "2001-11-30", "12:59:59Z", "00:00:00.125+02:30", "2020-02-28T23:59:59Z",
                                        "123e4567-E89b-12d3-a456-426614174000", "a.b@example.org", "10.0.255.1", "1:2:3:4:5:6:7:abcd"]))
        n = r.randint(s.get("minLength", 0), s.get("maxLength", s.get("minLength", 0) + 6))
        return json.dumps("".join(r.choice("ab \u00e9\"\\/\n\u20ac\U0001f600") for _ in range(n)), ensure_ascii=False)

    def array(self, s, depth):
        r = self.rng
        low = s.get("minItems", 0)
        n = r.randint(low, min(s.get("maxItems", low + 3), low + 3))
        prefix, parts = s.get("prefixItems", []), []
        if s.get("items", True) is False:
            n = min(n, len(prefix))
        for i in range(n):
            parts.append(self.text(prefix[i] if i < len(prefix) else s.get("items", True), depth + 1))
        return None if None in parts else "[" + self.comma.join(parts) + "]"

    def object(self, s, depth):
        r, parts = self.rng, []
        for name, one in s.get("properties", {}).items():
            if name in s.get("required", []) or (r.random() < .5 and depth < 6):
                value = self.text(one, depth + 1)
                if value is None:
                    return None
                parts.append(json.dumps(name, ensure_ascii=False) + self.colon + value)
        more = s.get("additionalProperties", False if "properties" in s else True)
        for name in r.sample(["zz", "nameX", "bb", "_"], r.randrange(3)) if more is not False else []:
            value = self.text(more, depth + 1)
            if value is not None:
                parts.append("\"%s\"%s%s" % (name, self.colon, value))
        return "{" + self.comma.join(parts) + "}"


class Walk:
    def __init__(self, program):
        self.p = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line):
        self.p.stdin.write(line.encode() + b"\n")
        self.p.stdin.flush()
        return self.p.stdout.readline().decode().rstrip("\n")

    def walk(self, seed):
        n = int(self.ask("W %d" % seed))
        return self.p.stdout.read(n + 1)[:-1].decode()


def closed(s, part=False):
    """The schema if properties that are not named are forbidden, as the grammar has it."""
    if isinstance(s, list):
        return [closed(x) for x in s]
    if not isinstance(s, dict) or "const" in s or "enum" in s:
        return s
    out = {}
    for k, v in s.items():
        if k in ("properties", "$defs"):
            out[k] = {n: closed(x) for n, x in v.items()}
        elif k == "allOf":
            out[k] = [closed(x, True) for x in v]
        else:
            out[k] = closed(v) if isinstance(v, (dict, list)) else v
    if ("properties" in s or "allOf" in s) and "additionalProperties" not in s and not part:
        out["unevaluatedProperties"] = False
    return out


def spoil(rng, text):
    """Another text that is near."""
    for _ in range(1 + rng.randrange(2)):
        i = rng.randrange(len(text) + 1)
        text = text[:i] + rng.choice(["", "", "1", "\"", "}", "a", ",", "-"]) + text[i + rng.randrange(2):]
    return text


def is_valid(validator, text):
    try:
        return validator.is_valid(json.loads(text))
    except (ValueError, RecursionError):
        return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("walk")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schemas", type=int, default=200)
    parser.add_argument("--write")
    args = parser.parse_args()
    program, bad, walks, written, refused, spoiled = Walk(args.walk), 0, 0, 0, 0, 0
    out = open(args.write, "w") if args.write else None
    for i in range(args.schemas):
        rng = random.Random(args.seed * 100000 + i)
        schema = Drawer(rng).document()
        answer = program.ask("S " + json.dumps(schema))
        if answer != "ok":
            refused += 1
            if "no text is so long" not in answer and "fewer elements" not in answer:
                bad += 1
                print("# schema %d: %s\n#   %s" % (i, answer, json.dumps(schema)))
            continue
        validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        strict = jsonschema.Draft202012Validator(closed(schema), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER)
        lines = ["S " + json.dumps(schema)]
        for k in range(20):
            text = program.walk(i * 100 + k)
            walks += 1
            if not is_valid(validator, text):
                bad += 1
                print("# schema %d: a walk gives what is not valid: %r\n#   %s" % (i, text, json.dumps(schema)))
                break
        for k in range(20):
            writer = Writer(rng, schema)
            text = writer.text(schema)
            if text is None or not is_valid(strict, text):
                continue
            written += 1
            if "\n" in text:
                text = text.replace("\n", " ").replace("   ", " ")
            if program.ask("T " + text) != "y":
                bad += 1
                print("# schema %d: refused, though valid: %r\n#   %s" % (i, text, json.dumps(schema)))
                break
            lines.append("+ " + text)
            other = spoil(rng, text).replace("\n", " ")
            if not is_valid(validator, other):
                spoiled += 1
                lines.append("- " + other)
                if program.ask("T " + other) == "y":
                    bad += 1
                    print("# schema %d: let through, though not valid: %r\n#   %s" % (i, other, json.dumps(schema)))
                    break
        if out and len(lines) > 4:
            yes, no = (sorted({x for x in lines[1:] if x[0] == sign}) for sign in "+-")
            out.write("\n".join(lines[:1] + yes[:5] + no[:4]) + "\n")
    print("%s 1 - %d schemas (%d refused): %d walks, %d valid documents, %d others: %d are wrong"
          % ("not ok" if bad else "ok", args.schemas, refused, walks, written, spoiled, bad))
    print("1..1")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
