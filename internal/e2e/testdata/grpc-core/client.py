"""Calls grpc.health.v1.Health/Check of the services named on the command line,
found by xDS (GRPC_XDS_BOOTSTRAP), again and again, and prints the answers of
all whenever one has changed. Ends when its standard input does."""

import os
import sys
import threading
import time

import grpc


def ask(check):
    try:
        return "answer: " + check(b"", timeout=5).hex()
    except grpc.RpcError as e:
        return "error: " + str(e.details()).replace("\n", " ")


def main():
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    channels = [grpc.insecure_channel("xds:///" + name) for name in sys.argv[1:]]
    checks = [c.unary_unary("/grpc.health.v1.Health/Check") for c in channels]
    last = ""
    while True:
        answer = ", ".join(ask(check) for check in checks)
        if answer != last:
            print(answer, flush=True)
        last = answer
        time.sleep(0.02)


main()
