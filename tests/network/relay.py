#!/usr/bin/env python3
"""relay.py PORT MILLISECONDS: passes on what comes to PORT, so much later in both directions.

Connections that the firewall redirects here go on to where they were going; what it sends itself has the mark 7,
by which the firewall lets it through.
"""
import asyncio, socket, struct, sys

SO_ORIGINAL_DST, MARK = 80, 7


async def pass_on(reader, writer, delay):
    pending = asyncio.Queue()

    async def write():
        while True:
            due, data = await pending.get()
            await asyncio.sleep(max(0, due - asyncio.get_running_loop().time()))
            if not data:
                return writer.close()
            writer.write(data)
            await writer.drain()

    async def read():
        while True:
            try:
                data = await reader.read(65536)
            except OSError:
                data = b""
            pending.put_nowait((asyncio.get_running_loop().time() + delay, data))
            if not data:
                return

    await asyncio.gather(read(), write(), return_exceptions=True)


async def main(port, delay):
    async def accept(reader, writer):
        raw = writer.get_extra_info("socket").getsockopt(socket.SOL_IP, SO_ORIGINAL_DST, 16)
        target_port, address = struct.unpack("!2xH4s8x", raw)
        onward = socket.socket()
        onward.setsockopt(socket.SOL_SOCKET, socket.SO_MARK, MARK)
        onward.setblocking(False)
        try:
            await asyncio.get_running_loop().sock_connect(onward, (socket.inet_ntoa(address), target_port))
            there, to_there = await asyncio.open_connection(sock=onward)
        except OSError:
            return writer.close()
        for each in (writer, to_there):
            each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await asyncio.gather(pass_on(reader, to_there, delay), pass_on(there, writer, delay))

    server = await asyncio.start_server(accept, "0.0.0.0", port)
    print("relays", flush=True)
    await server.serve_forever()


asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]) / 1000))
