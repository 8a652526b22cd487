"""NEXMark on TokenRing: events staged by Spark, queries run on the engine, answers checked by an oracle."""
