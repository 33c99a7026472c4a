"""Asks Spark, a driver and two workers of their own processes: the first argument
is a JSON file with "prelude", SQL without answers, and "questions", SQL by name.
The second argument is a directory for what it leaves. Prints rows and seconds as
JSON."""

import json
import os
import sys
import time

os.environ.update(SPARK_LOCAL_IP="127.0.0.1", TZ="UTC", SPARK_WORKER_DIR=sys.argv[2])
from pyspark.sql import SparkSession

with open(sys.argv[1]) as f:
    asked = json.load(f)
builder = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.warehouse.dir", sys.argv[2])
    .config("spark.local.dir", sys.argv[2])
    .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
    .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1")
)
if asked["small"]:  # compiling the plans would take longer than anything else
    builder = (
        builder.config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    )
spark = builder.getOrCreate()
deadline = time.monotonic() + 300
while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:  # the driver is one
    if time.monotonic() > deadline:
        sys.exit("the two workers did not come")
    time.sleep(0.1)
for statement in asked["prelude"]:
    spark.sql(statement)
out = {"_workers": spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1}
for name, sql in asked["questions"].items():
    begin = time.perf_counter()
    frame = spark.sql(sql)
    rows = frame.collect()
    out[name] = {
        "columns": frame.columns,
        "rows": [[v.strftime("%Y-%m-%d %H:%M:%S.%f") if hasattr(v, "strftime") else v for v in row] for row in rows],
        "seconds": time.perf_counter() - begin,
    }
spark.stop()
json.dump(out, sys.stdout)
