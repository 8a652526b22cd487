"""NEXMark on TokenRing: events staged by Spark, queries run on the engine, answers checked by an oracle."""

if __name__ != "tokenring.nexmark":  # a second copy of all its modules, where the checkout stands on the path
    raise ImportError(f"{__name__} is a part of tokenring: import tokenring.nexmark", name=__name__)

