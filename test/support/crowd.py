"""Clients that send and never read, for tests of what they can make a server hold.

Segments are the smallest there are, and receive buffers small: so the server's system takes little of the answers,
and what it does not take is the server's to hold. Smaller buffers still would let answers trickle.

Arguments: the port, then pairs of a number of connections and a file of bytes that each of them sends. A
connection that ends is made again, until a line on standard input says that those that end are not missed. Prints
a line of JSON whenever something changed: how many are open, and how many ended.
"""

import json
import select
import socket
import sys
import time

port = int(sys.argv[1])
poll = select.epoll()
poll.register(sys.stdin.fileno(), select.EPOLLIN)
open_by_file = {}
ended = {"reset": 0, "other": 0}
replaces = True


def begin(text):
    peer = socket.socket()
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
    peer.connect(("127.0.0.1", port))
    peer.setblocking(False)
    open_by_file[peer.fileno()] = [peer, text, 0]
    poll.register(peer.fileno(), select.EPOLLOUT | select.EPOLLERR | select.EPOLLHUP)


def send(one):
    peer, text, at = one
    try:
        one[2] += peer.send(text[at:])
        if one[2] == len(text):
            poll.modify(peer.fileno(), select.EPOLLERR | select.EPOLLHUP)
    except BlockingIOError:
        pass
    except OSError:
        pass  # The event of its end follows.


def end(file):
    peer, text, _ = open_by_file.pop(file)
    error = peer.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    ended["reset" if error in (104, 32) else "other"] += 1
    poll.unregister(file)
    peer.close()
    if replaces:
        begin(text)


for number, name in zip(sys.argv[2::2], sys.argv[3::2]):
    with open(name, "rb") as file:
        text = file.read()
    for _ in range(int(number)):
        begin(text)

said = ""
looked = 0
while replaces or open_by_file:
    for file, event in poll.poll(0.1):
        if file == sys.stdin.fileno():
            replaces = False
            poll.unregister(file)
        elif event & (select.EPOLLERR | select.EPOLLHUP):
            end(file)
        elif file in open_by_file:
            send(open_by_file[file])
    if open_by_file and time.monotonic() - looked < 0.1:
        continue
    looked = time.monotonic()
    hung = sum(1 for _, text, at in open_by_file.values() if at > 0)
    line = json.dumps({"open": hung, **ended})
    if line != said:
        said = line
        print(line, flush=True)
