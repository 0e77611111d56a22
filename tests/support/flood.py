# SPDX-License-Identifier: Apache-2.0
"""Clients of an HTTP server, hundreds at once in one thread: those that behave, and those that do not."""
import asyncio
import collections
import contextlib
import threading

PATIENCE_S = 120
ROW = b'{"name":"'  # begins an agent in the stream of the fleet page


class Flood:
    """`steps` are made by so many clients at once. What they meet is counted in `seen`: statuses, and other ends."""

    def __init__(self, clients, steps):
        self.seen, self.error = collections.Counter(), None
        self.thread = threading.Thread(target=self.run, args=(clients, iter(steps)), daemon=True)
        self.thread.start()

    def run(self, clients, steps):
        try:
            asyncio.run(self.pool(clients, steps))
        except Exception as error:  # noqa: BLE001 - handed over to the test
            self.error = error

    async def pool(self, clients, steps):
        async def client():
            for step in steps:
                try:
                    await step(self)
                except (OSError, asyncio.IncompleteReadError) as error:
                    self.seen[type(error).__name__] += 1

        await asyncio.gather(*(client() for _ in range(clients)))

    def is_over(self):
        return not self.thread.is_alive()

    def finish(self):
        """@return what was seen"""
        self.thread.join()
        if self.error:
            raise self.error
        return self.seen


async def bounded(step):
    return await asyncio.wait_for(step, PATIENCE_S)


@contextlib.asynccontextmanager
async def connection(port):
    reader, writer = await bounded(asyncio.open_connection("127.0.0.1", port))
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def piece_of(reader, over):
    """What has come, or nothing at the end and when it is over."""
    read = asyncio.ensure_future(reader.read(65536))
    while not over.is_set() and not read.done():
        await asyncio.wait({read}, timeout=0.2)
    if read.done():
        return read.result()
    read.cancel()
    return b""


async def ask(flood, reader, writer, path):
    """The status is counted."""
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    flood.seen[int((await bounded(reader.readuntil(b"\r\n\r\n"))).split()[1])] += 1


def glance(port, path):
    """Read the head of the answer and go without a word."""
    async def step(flood):
        async with connection(port) as (reader, writer):
            await ask(flood, reader, writer, path)
    return step


def fetch(port, path):
    """Read the whole answer."""
    async def step(flood):
        async with connection(port) as (reader, writer):
            await ask(flood, reader, writer, path)
            while await bounded(reader.read(65536)):
                continue
    return step


def follow(port, count, shown, over):
    """Follow the fleet page until `over`, and open the stream again when it ends. `shown`, a set, has those who were
    shown so many agents since they last opened it."""
    async def read(flood, me):
        async with connection(port) as (reader, writer):
            await ask(flood, reader, writer, "/api/stream")
            rows, rest = 0, b""
            while piece := await piece_of(reader, over):
                rows += (rest + piece).count(ROW)
                rest = piece[-len(ROW) + 1:]
                if rows >= count:
                    shown.add(me)

    async def step(flood):
        me = object()
        while not over.is_set():
            try:
                await read(flood, me)
            except (OSError, asyncio.IncompleteReadError):
                await asyncio.sleep(0.05)  # as nobody listens while the principal restarts
            finally:
                shown.discard(me)
    return step


def slow_head(port, over):
    """A byte of the head now and then, until the server has enough of it."""
    async def step(flood):
        async with connection(port) as (reader, writer):
            end = asyncio.ensure_future(reader.read())
            writer.write(b"GET /")
            while not over.is_set() and not end.done():
                writer.write(b"x")
                await asyncio.wait({end}, timeout=0.5)
            end.cancel()
            flood.seen["slow"] += 1
    return step


def silent(port, over):
    """Connect, and say nothing."""
    async def step(flood):
        async with connection(port) as (reader, _):
            await piece_of(reader, over)
            flood.seen["silent"] += 1
    return step


def unread(port, path, over):
    """Ask, and take nothing of the answer."""
    async def step(flood):
        async with connection(port) as (reader, writer):
            writer.transport.pause_reading()
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            await piece_of(reader, over)
            flood.seen["unread"] += 1
    return step
