"""Asks DuckDB: the first argument is a JSON file with "prelude", SQL without
answers, and "questions", SQL by name. The second is a directory for what it leaves.
Prints rows, seconds and bytes that were read as JSON."""

import json
import sys
import time

import duckdb

with open(sys.argv[1]) as f:
    asked = json.load(f)
con = duckdb.connect()
con.execute("SET threads = 2")
con.execute("SET enable_progress_bar = false")  # it would be in the answers
con.execute("SET enable_external_file_cache = false")
con.execute("SET memory_limit = '2GB'")
for statement in asked["prelude"]:
    con.execute(statement)
out = {}
for name, sql in asked["questions"].items():
    begin = time.perf_counter()
    found = con.execute(sql)
    rows = found.fetchall()
    seconds = time.perf_counter() - begin
    columns = [c[0] for c in found.description]
    con.execute("PRAGMA enable_profiling = 'json'")
    con.execute("SET profiling_output = '%s/profile.json'" % sys.argv[2])
    con.execute("SET profiling_mode = 'detailed'")
    con.execute(sql).fetchall()
    con.execute("PRAGMA disable_profiling")
    with open(sys.argv[2] + "/profile.json") as f:
        profile = json.load(f)
    out[name] = {
        "columns": columns,
        "rows": [[v.strftime("%Y-%m-%d %H:%M:%S.%f") if hasattr(v, "strftime") else v for v in row] for row in rows],
        "seconds": seconds,
        "bytes": profile["io"]["total_bytes_read"],
    }
json.dump(out, sys.stdout)
