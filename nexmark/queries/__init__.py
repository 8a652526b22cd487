"""NEXMark queries, one a file: each names the columns it reads and builds its dataflow from library operators."""
