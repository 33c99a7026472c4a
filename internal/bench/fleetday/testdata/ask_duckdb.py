"""Asks DuckDB: the first argument is a JSON file with "prelude", SQL without
answers, and "questions", SQL by name. Prints rows and seconds as JSON."""

import json
import sys
import time

import duckdb

with open(sys.argv[1]) as f:
    asked = json.load(f)
con = duckdb.connect()
con.execute("SET threads = 2")
con.execute("SET memory_limit = '2GB'")
for statement in asked["prelude"]:
    con.execute(statement)
out = {}
for name, sql in asked["questions"].items():
    begin = time.perf_counter()
    found = con.execute(sql)
    rows = found.fetchall()
    out[name] = {
        "columns": [c[0] for c in found.description],
        "rows": [[v.strftime("%Y-%m-%d %H:%M:%S.%f") if hasattr(v, "strftime") else v for v in row] for row in rows],
        "seconds": time.perf_counter() - begin,
    }
json.dump(out, sys.stdout)
