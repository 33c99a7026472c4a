"""Calls grpc.health.v1.Health/Check of the service named on the command line,
found by xDS (GRPC_XDS_BOOTSTRAP), again and again, and prints the answer
whenever it changes. Ends when its standard input does."""

import os
import sys
import threading
import time

import grpc


def main():
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    channel = grpc.insecure_channel("xds:///" + sys.argv[1])
    check = channel.unary_unary("/grpc.health.v1.Health/Check")
    last = ""
    while True:
        try:
            answer = "answer: " + check(b"", timeout=5).hex()
        except grpc.RpcError as e:
            answer = "error: " + str(e.details()).replace("\n", " ")
        if answer != last:
            print(answer, flush=True)
        last = answer
        time.sleep(0.02)


main()
