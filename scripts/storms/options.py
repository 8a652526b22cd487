"""Options drawn from a grammar that knows nasty values: an error in one line or an answer, and never a traceback."""

from __future__ import annotations

from random import Random

from scripts.storms.setting import Setting

NASTY = (
    *("", " ", "0", "-1", "1", "2", "3", "nan", "inf", "-inf", "1e400", "1e-400", "99999999999999999999999", "-0"),
    *("0x10", "1_0", "+1", " 1", "1.5", "٣", "é", "\ud800", "x" * 300, "x" * 5000, "/", ".", ".."),
    *("/dev/null", "/dev/full"),
    *("/proc/self/mem", "--", "-", "-h", "a\nb", "a\tb", "$HOME", "*", "%s", "{}", "none", "null", "true", "q4", "all"),
)
GOOD = {
    "--workers": ("1", "2"),
    "--mechanism": ("tokens", "notifications", "watermarks-X", "watermarks-P", "sequential"),
    "--rate": ("1e5", "1000000"),
    "--duration": ("0.1", "0.01"),
    "--events": ("1", "100", "5000", "9999999"),
    "--batch": ("1", "1000"),
    "--queue-kib": ("4", "64"),
    "--micro-batch": ("1", "0.5"),
    "--checks": ("normal", "exhaustive"),
    "--engine": ("tokenring",),
    "--seconds": ("0.1",),
    "--frequency": ("10",),
    "--time": ("1",),
    "--json": ("-",),
    "--seed": ("1",),
    "--set": ("categories=5",),
}
LONG = {"--seconds": {"1", "2", "3", "1.5", "+1", " 1"}, "--rate": {"1", "2", "3", "1.5", "+1", " 1", "1_0", "-0"}}
"""Values that are right and would take long."""
USES = {
    "run": ("--workers", "--mechanism", "--rate", "--duration", "--events", "--batch", "--queue-kib", "--micro-batch",
            "--checks", "--engine", "--json", "--out"),
    "profile": ("--workers", "--mechanism", "--rate", "--duration", "--seconds", "--frequency"),
    "stage": ("--seed", "--set", "--rate", "--from", "--time-unit"),
    "why": ("--time", "--port", "--json"),
}  # fmt: skip


def case(setting: Setting, random: Random) -> tuple[str, str]:
    """One call: what was called, and what was wrong."""
    command = random.choices(list(USES), (10, 1, 2, 2))[0]
    arguments = [command, *_words(setting, random, command)]
    for option in random.sample(USES[command], random.randint(0, min(5, len(USES[command])))):
        nasty = option not in GOOD or random.random() < 0.4
        value = random.choice(NASTY if nasty else GOOD[option])
        if value in LONG.get(option, ()):
            value = "nan"
        if option == "--out":
            name = random.choice(["r.parquet", "r.arrow", "r.jsonl", "r.txt", value])
            value = str(setting.folder / name) if random.random() < 0.8 else str(setting.new("none") / name)
        if option == "--json" and value.startswith(("/", "x")):
            value = random.choice(["/dev/null", "/dev/full", "x" * 300])
        arguments += [option, value]
    if random.random() < 0.1:
        arguments.insert(random.randrange(len(arguments) + 1), random.choice([one for one in NASTY if len(one) < 300]))
    if command == "stage":
        arguments = [one for one in arguments if one not in ("-", "--")]
    ending = setting.command(*arguments)
    return repr([one if len(one) < 60 else f"{one[:20]}…({len(one)})" for one in arguments]), ending.complaint()


def _words(setting: Setting, random: Random, command: str) -> list[str]:
    """What a command cannot do without, mostly right."""
    query = random.choice(["q1", "q4", "q7", "q12", "q22"]) if random.random() < 0.9 else random.choice(NASTY)
    folder = str(setting.staged) if random.random() < 0.9 else random.choice(NASTY)
    if command == "run":
        return [query, "--input", folder]
    if command == "profile":
        return [query, "--input", folder, "--out", str(setting.new("profile")), "--seconds", "0.1"]
    if command == "stage":  # never so that Spark is started
        return ["--out", str(setting.new("staged")), "--events", random.choice(["0", "-1", "nan", "", "x", "1e400"])]
    return [random.choice(["0", "1", "-1", "999999999", "nan", "", "9" * 30])]
