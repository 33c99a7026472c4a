#!/usr/bin/env python3
"""Prints the entries of a recording: number, time, kind, side, method, length and SHA-256 of
the message. Checks no checksums. Needs: pip install zstandard. docs/format.md explains it."""
import hashlib, struct, sys

import zstandard

HEADER, BLOCK = 0x184D2A58, 0x184D2A59
KINDS = ("unknown connect open header message half-close trailer cancel goaway disconnect "
         "gap note time").split()
SIDES = ("unknown", "client", "server", "proxy", "unknown")


def varint(b, at):
    n = shift = 0
    while True:
        n |= (b[at] & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if b[at - 1] < 0x80:
            return n, at


def fields(b):
    """Yields number and value of each field of a protocol buffer message."""
    at = 0
    while at < len(b):
        tag, at = varint(b, at)
        if tag & 7 == 0:
            value, at = varint(b, at)
        else:
            size, at = varint(b, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
            value, at = b[at:at + size], at + size
            if tag & 7 != 2:
                value = int.from_bytes(value, "little", signed=True)
        yield tag >> 3, value


def entries(f):
    """Yields the fields of each entry, its data in place of the fields 18 to 20."""
    epoch, contents = None, []
    while len(head := f.read(8)) == 8:
        magic, size = struct.unpack("<II", head)
        payload = f.read(size)
        if magic == HEADER and payload[:8] != b"xdsp\1\0\0\0":
            sys.exit("not a recording of format version 1")
        if len(payload) < size:
            return
        if magic != BLOCK:
            continue
        header = dict(fields(payload[:-4]))
        frame = f.read(header[1])
        if len(frame) < header[1]:
            return  # the block was not written to its end
        if header.get(15) != epoch:
            epoch, contents = header.get(15), []
        with zstandard.ZstdDecompressor().stream_reader(frame) as stream:
            block = stream.read(header[3])
        at = 0
        while at < len(block):
            size, at = varint(block, at)
            entry, data = {}, []
            for number, value in fields(block[at:at + size]):
                if number == 20:  # a run of earlier contents
                    first, rest = varint(value, 0)
                    data += contents[first:first + varint(value, rest)[0]]
                elif number in (18, 19):  # bytes; 19 numbers them
                    data.append(value)
                    contents += [value] * (number - 18)
                else:
                    entry[number] = value
            at += size
            yield entry, b"".join(data)


methods = {}
with open(sys.argv[1], "rb") as file:
    for e, message in entries(file):
        method = methods.setdefault(e.get(5), e.get(10, b"-").decode(errors="replace"))
        print(e.get(1, 0), e.get(2, 0), KINDS[e.get(8, 0)], SIDES[min(e.get(7, 0), 4)], method,
              *((len(message), hashlib.sha256(message).hexdigest()) if 13 in e else ()))
