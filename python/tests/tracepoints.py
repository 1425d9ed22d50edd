"""The kernel's own tracepoint of a sender's states: an instrument beside the emulator's.

What it does: loads a program of some forty instructions on `tcp_cong_state_set`, which notes each
change of `icsk_ca_state` of every TCP socket in a ring. The layout of the kernel's structures comes
from its type information (BTF). It needs root, and a kernel that lets it load programs.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

BTF = Path("/sys/kernel/btf/vmlinux")
SYSCALLS = {"x86_64": 321, "aarch64": 280}
MAP_CREATE, PROG_LOAD, RAW_TRACEPOINT_OPEN = 0, 5, 17
RINGBUF, RAW_TRACEPOINT = 27, 17
KTIME, PROBE_READ, RESERVE, SUBMIT = 5, 113, 131, 132
RING_BYTES, PAGE = 1 << 20, mmap.PAGESIZE
FIELDS = {"skc_num": 2, "skc_dport": 2, "tlp_high_seq": 4, "snd_una": 4}
"""Fields of a socket that are recorded, with their sizes in bytes."""
HEAD = 24
"""Bytes of a record before its fields: the new state, the time, the socket's address."""
RECORD = HEAD + 8 * len(FIELDS)
AFTER = {1: 4, 3: 12, 14: 4, 17: 4}
"""Bytes after the head of a type, by its kind …"""
AFTER_EACH = {4: 12, 5: 12, 6: 8, 13: 8, 15: 12, 19: 12}
"""… and for each of its members."""
STRUCT, UNION, QUALIFIERS = 4, 5, (8, 9, 10, 11)


@dataclass(frozen=True)
class Change:
    """One socket's state has changed."""

    time_s: float
    state: int
    """`TCP_CA_…`: 2 reduces its window, 3 recovers, 4 repairs after a timeout."""
    socket: tuple[int, int, int]
    """Address in the kernel, own port and the peer's: emulations at the same time may have
    the same ports."""
    probing: bool
    """A tail loss probe is out."""


class Tracepoint:
    """Open as long as it lives."""

    def __init__(self) -> None:
        self._ring = _bpf(MAP_CREATE, struct.pack("<4I", RINGBUF, 0, 0, RING_BYTES))
        self._open = [self._ring, _attached(_program(self._ring, _offsets()))]
        self._read = mmap.mmap(self._ring, PAGE, offset=0)
        self._written = mmap.mmap(
            self._ring, PAGE + 2 * RING_BYTES, prot=mmap.PROT_READ, offset=PAGE
        )

    def changes(self) -> list[Change]:
        """Changes since the last call."""
        found = []
        at = struct.unpack_from("<Q", self._read)[0]
        while at < struct.unpack_from("<Q", self._written)[0]:
            place = PAGE + at % RING_BYTES
            head = struct.unpack_from("<I", self._written, place)[0]
            state, time, address, *rest = struct.unpack_from(
                f"<{RECORD // 8}Q", self._written, place + 8
            )
            noted = dict(zip(FIELDS, rest, strict=True))
            far = struct.unpack(">H", struct.pack("<H", noted["skc_dport"]))[0]
            socket = (address, noted["skc_num"], far)
            found.append(Change(time / 1e9, state & 255, socket, noted["tlp_high_seq"] != 0))
            at += 8 + (head & 0x3FFFFFFF) + 7 & ~7
        struct.pack_into("<Q", self._read, 0, at)
        return found

    def close(self) -> None:
        self._read.close()
        self._written.close()
        for descriptor in self._open:
            os.close(descriptor)


@contextmanager
def tracepoint() -> Iterator[Tracepoint]:
    """The tracepoint; skips the test, with the reason, where it cannot be had."""
    if platform.machine() not in SYSCALLS or not BTF.exists():
        pytest.skip("no type information of the kernel's, or another processor")
    try:
        opened = Tracepoint()
    except OSError as error:
        pytest.skip(f"the kernel loads no program here: {error}")
    try:
        yield opened
    finally:
        opened.close()


def _bpf(command: int, attributes: bytes) -> int:
    room = ctypes.create_string_buffer(attributes, 128)
    libc = ctypes.CDLL(None, use_errno=True)
    result = int(libc.syscall(SYSCALLS[platform.machine()], command, room, len(room)))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _attached(code: bytes) -> int:
    program, license_ = ctypes.create_string_buffer(code, len(code)), ctypes.c_char_p(b"GPL")
    text = ctypes.cast(license_, ctypes.c_void_p).value
    head = (RAW_TRACEPOINT, len(code) // 8, ctypes.addressof(program), text)
    loaded = _bpf(PROG_LOAD, struct.pack("<2I2Q", *head))
    name = ctypes.create_string_buffer(b"tcp_cong_state_set")
    try:
        return _bpf(RAW_TRACEPOINT_OPEN, struct.pack("<QI", ctypes.addressof(name), loaded))
    finally:
        os.close(loaded)


def _program(ring: int, offsets: dict[str, int]) -> bytes:
    """Registers: 6 the socket, 7 its new state, 8 the record."""

    def do(code: int, to: int = 0, of: int = 0, offset: int = 0, value: int = 0) -> bytes:
        return struct.pack("<BBhi", code, of << 4 | to, offset, value)

    load, move, put, store, zero, add, call, leave = 0x79, 0xBF, 0xB7, 0x7B, 0x7A, 0x07, 0x85, 0x95
    code = do(load, 6, 1, 0) + do(load, 7, 1, 8)
    code += do(0x18, 1, 1, 0, ring) + do(0) + do(put, 2, value=RECORD) + do(put, 3)
    code += do(call, value=RESERVE) + do(0x55, 0, 0, 2) + do(put, 0) + do(leave)
    code += do(move, 8, 0) + do(store, 8, 7, 0) + do(call, value=KTIME) + do(store, 8, 0, 8)
    code += do(store, 8, 6, 16)
    for number, (name, size) in enumerate(FIELDS.items()):
        place = HEAD + 8 * number
        code += do(zero, 8, 0, place) + do(move, 1, 8) + do(add, 1, value=place)
        code += do(put, 2, value=size) + do(move, 3, 6) + do(add, 3, value=offsets[name])
        code += do(call, value=PROBE_READ)
    return code + do(move, 1, 8) + do(put, 2) + do(call, value=SUBMIT) + do(put, 0) + do(leave)


def _offsets() -> dict[str, int]:
    """Offsets of the fields, in bytes from the beginning of a socket."""
    data = BTF.read_bytes()
    head, types, size, strings = struct.unpack_from("<4xIIII", data)
    types, strings = head + types, head + strings

    def name(offset: int) -> str:
        start = strings + offset
        return data[start : data.index(b"\0", start)].decode()

    kinds: list[tuple[int, int, int, int, int]] = [(0, 0, 0, 0, 0)]
    at = types
    while at < types + size:
        text, info, further = struct.unpack_from("<3I", data, at)
        kind, count = info >> 24 & 31, info & 0xFFFF
        kinds.append((text, kind, count, further, at + 12))
        at += 12 + AFTER.get(kind, 0) + AFTER_EACH.get(kind, 0) * count
    wide = {number: data[place - 5] & 128 for number, (*_, place) in enumerate(kinds) if place}

    def members(number: int, base: int) -> Iterator[tuple[str, int]]:
        _, _, count, _, place = kinds[number]
        for member in range(count):
            text, inner, offset = struct.unpack_from("<3I", data, place + 12 * member)
            offset = base + (offset & 0xFFFFFF if wide[number] else offset)
            while kinds[inner][1] in QUALIFIERS:
                inner = kinds[inner][3]
            if text:
                yield name(text), offset // 8
            elif kinds[inner][1] in (STRUCT, UNION):
                yield from members(inner, offset)

    found = {}
    for number, (text, kind, *_) in enumerate(kinds):
        if kind == STRUCT and name(text) in ("tcp_sock", "sock_common"):
            found |= {field: place for field, place in members(number, 0) if field in FIELDS}
    return found
