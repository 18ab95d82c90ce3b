#!/usr/bin/env python3
"""faults.py BUILD [NAME ...]: faults of processes and networks under trainings of several hosts, over TCP.

Hosts are network namespaces of this machine (hosts.py). Prints a table: what was done, how long it took until every
survivor had a typed error or went on, and whose numbers came out. Names choose among them ("launch" and "by hand"
are names of all that are started so); --list says what there is, and --texts shows what every process said. Ends with
1 where something went wrong, with 77 where namespaces are not allowed. Faults of packets (dropped, late, only small
ones) need nft, of the Debian package nftables, and slow links tc, of iproute2; without these programs they are skipped,
and their rows say so. The faults of tests/network/CMakeLists.txt, which CI runs, need neither.
"""
import contextlib, pathlib, re, signal, socket, subprocess, sys, threading, time

import hosts
from trainings import ByHand, Launched, PORT, Training, Wrong, alone, compare, environment_with, token

FAULTS = {}
LOST = ("PeerLostError",)


def fault(name):
    def register(body):
        FAULTS[name] = body
        return body
    return register


class Place:
    """The hosts and the programs, and what trainings without faults give."""

    def __init__(self, network, build):
        self.network, self.hosts = network, network.hosts
        self.worker, self.launcher = build / "tests/programs/network_worker", build / "tools/nyala"
        self.references = {}

    def by_hand(self, *settings, **more):
        return ByHand(self.network, self.worker, settings=settings, **more)

    def launched(self, *options, settings=(), **more):
        return Launched(self.network, self.worker, self.launcher, options, settings, **more)

    def numbers_of_one(self, *settings):
        if settings not in self.references:
            self.references[settings] = alone(self.network, self.worker, settings)
        return self.references[settings]

    def bits_of_three(self):
        if "three" not in self.references:
            with self.by_hand("pace=0") as training:
                training.wait_for_exits(range(3), 60)
                self.references["three"] = training.finals()["final-0"]
        return self.references["three"]

    def ends_right(self, training, count, settings=(), same_bits=False, seconds=90, launched=False):
        if launched:
            status = training.wait_for_exit(seconds)
        else:
            training.wait_for_exits(range(count), seconds)
            status = max(status for status, _ in training.exits.values())
        if status != 0:
            raise Wrong(f"ended with {status}\n{training.story()}")
        finals = training.finals()
        if len(finals) != count:
            raise Wrong(f"{len(finals)} processes have left numbers, expected {count}\n{training.story()}")
        return compare(finals, self.bits_of_three() if same_bits else self.numbers_of_one(*settings), same_bits)

    def all_fail(self, training, ranks, since, seconds, *expected, **more):
        """Every one of `ranks` ends by itself with an error of its own."""
        last = training.errors(ranks, since, seconds, *expected, **more)
        training.wait_for_exits(ranks, seconds + 25)
        slowest = max(training.exits[rank][1] for rank in ranks) - since
        return f"{last:.1f} s" + (f" (ended after {slowest:.1f} s)" if slowest > last + 1 else "")


# By hand: nobody starts anything again or goes on with fewer, so that an error in every survivor is what has to come.

@fault("none")
def _(place):
    with place.by_hand() as training:
        return "-", "-", place.ends_right(training, 3)


@fault("kill -9 of a worker")
def _(place):
    with place.by_hand() as training:
        training.wait_for_steps(6, range(3))
        return place.all_fail(training, [0, 2], training.kill(1), 2, LOST, text="rank 1"), "-", "-"


@fault("kill -9 of the chief")
def _(place):
    with place.by_hand() as training:
        training.wait_for_steps(6, range(3))
        return place.all_fail(training, [1, 2], training.kill(0), 2, LOST), "-", "-"


@fault("a frozen worker")
def _(place):
    with place.by_hand() as training:
        training.wait_for_steps(6, range(3))
        since = training.kill(1, signal.SIGSTOP)
        error = place.all_fail(training, [0, 2], since, 8, LOST, text="rank 1")
        woken = training.kill(1, signal.SIGCONT)
        return error + f", itself {place.all_fail(training, [1], woken, 8)} after it woke", "-", "-"


@fault("a frozen chief")
def _(place):
    with place.by_hand() as training:
        training.wait_for_steps(6, range(3))
        since = training.kill(0, signal.SIGSTOP)
        error = place.all_fail(training, [1, 2], since, 10)
        woken = training.kill(0, signal.SIGCONT)
        return error + f", itself {place.all_fail(training, [0], woken, 8)} after it woke", "-", "-"


@fault("a worker frozen for 3 s")
def _(place):
    with place.by_hand() as training:
        training.wait_for_steps(6, range(3))
        training.kill(1, signal.SIGSTOP)
        time.sleep(3)
        training.kill(1, signal.SIGCONT)
        return "none", "at once", place.ends_right(training, 3)


def link_of(host):
    """How to cut it, and how to mend it."""
    return lambda: host.link(False), lambda: host.link(True)


def cut_off(place, cut, mend, away, seconds=10):
    with place.by_hand() as training:
        training.wait_for_steps(6, range(3))
        since = time.monotonic()
        cut()
        try:
            return place.all_fail(training, range(3), since, seconds), "-", "-"
        finally:
            mend()


@fault("a worker's link down")
def _(place):
    one = place.hosts[1]
    return cut_off(place, *link_of(one), 1)


@fault("the chief's link down")
def _(place):
    one = place.hosts[0]
    return cut_off(place, *link_of(one), 0)


@fault("all packets to a worker dropped")
def _(place):
    one = place.hosts[1]
    return cut_off(place, lambda: one.firewall("drop"), one.firewall, 1)


@fault("a worker's link down for 2 s")
def _(place):
    with place.by_hand() as training:
        training.wait_for_steps(6, range(3))
        place.hosts[1].link(False)
        time.sleep(2)
        place.hosts[1].link(True)
        since = time.monotonic()
        before = len(training.of(1, "step"))
        training.wait_for_steps(before + 2, [1], 30)
        on = training.of(1, "step")[before + 1].time - since
        return "none", f"{on:.1f} s", place.ends_right(training, 3)


@fault("two workers that do not reach each other")
def _(place):
    with place.by_hand("timeout=8") as training:
        training.wait_for_steps(6, range(3))
        since = time.monotonic()
        place.hosts[1].firewall("ip saddr 10.77.0.12 drop")
        place.hosts[2].firewall("ip saddr 10.77.0.11 drop")
        try:
            return place.all_fail(training, range(3), since, 10) + " (timeout 8 s)", "-", "-"
        finally:
            place.hosts[1].firewall()
            place.hosts[2].firewall()


def trains_all_the_same(place, make, mend, settings=(), seconds=240):
    place.numbers_of_one(*settings)
    make()
    try:
        with place.by_hand(*settings) as training:
            begun = time.monotonic()
            weights = place.ends_right(training, 3, settings, seconds=seconds)
            return "none", f"takes {time.monotonic() - begun:.1f} s", weights
    finally:
        mend()


@fault("5 % of packets dropped")
def _(place):
    def make():
        for host in place.hosts[:3]:
            host.firewall("numgen random mod 100 < 5 drop")
    return trains_all_the_same(place, make, lambda: [host.firewall() for host in place.hosts], ("pace=0", "timeout=60"))


@fault("a link of 2 Mbit/s")
def _(place):
    return trains_all_the_same(place, lambda: place.hosts[1].rate("2mbit"), lambda: place.hosts[1].rate(None),
                               ("pace=0", "units=2048", "epochs=1", "timeout=60"))


@contextlib.contextmanager
def delay(host, milliseconds, ports="1-65535"):
    """What this host begins goes by a relay, so much later in each direction."""
    hosts.need("nft", "nftables")
    script = pathlib.Path(__file__).with_name("relay.py")
    relay = subprocess.Popen(host.words([sys.executable, str(script), "9999", str(milliseconds)]), stdout=subprocess.PIPE)
    relay.stdout.readline()
    host.do("nft add table ip d; nft 'add chain ip d out { type nat hook output priority -100 ; }'; "
            f"nft 'add rule ip d out ip daddr 10.77.0.0/24 tcp dport {ports} meta mark != 7 redirect to :9999'")
    try:
        yield
    finally:
        host.do("nft delete table ip d")
        relay.kill()


@fault("100 ms of delay")
def _(place):
    with delay(place.hosts[1], 100), delay(place.hosts[2], 100):
        return trains_all_the_same(place, lambda: None, lambda: None, ("pace=0", "epochs=1", "timeout=60"))


def comes_late(place, late):
    with place.by_hand(start=False) as training:
        for rank in {0, 1, 2} - {late}:
            training.start(rank)
        time.sleep(4)
        training.start(late)
        return "none", "at once", place.ends_right(training, 3)


@fault("a worker that comes 4 s late")
def _(place):
    return comes_late(place, 1)


@fault("a chief that comes 4 s late")
def _(place):
    return comes_late(place, 0)


def never_comes(place, absent, seconds, text):
    with place.by_hand("timeout=4", start=False) as training:
        since = time.monotonic()
        there = sorted({0, 1, 2} - {absent})
        for rank in there:
            training.start(rank)
        return place.all_fail(training, there, since, seconds, ("TimeoutError",), text=text) + " (timeout 4 s)", "-", "-"


@fault("a worker that never comes")
def _(place):
    return never_comes(place, 1, 6, "rank 1")


@fault("a chief that never comes")
def _(place):
    return never_comes(place, 0, 12, "h0:2222")


@fault("two processes with the same index")
def _(place):
    with place.by_hand("timeout=8", start=False) as training:
        since = time.monotonic()
        training.start(0), training.start(1), training.start(2, index=1)
        error = training.errors([0, 1, 2], since, 12, text="rank (1|2)")
        refused = [training.of(rank, "error")[0].text for rank in (1, 2)]
        if not any("two processes say that they are rank 1" in text for text in refused):
            raise Wrong(f"nobody was told of it: {refused}")
        return f"{error:.1f} s (timeout 8 s)", "-", "-"


@fault("TF_CONFIG with another number of processes")
def _(place):
    with place.by_hand("timeout=6", start=False) as training:
        since = time.monotonic()
        training.start(0), training.start(1)
        training.start(2, index=2, addresses=[*training.addresses, "h3:2222"])
        return place.all_fail(training, range(3), since, 5, text="4 processes, the control plane was told 3"), "-", "-"


@fault("TF_CONFIG with another worker's address")
def _(place):
    with place.by_hand("timeout=20", start=False) as training:
        since = time.monotonic()
        training.start(0), training.start(1)
        training.start(2, addresses=[training.addresses[0], "10.77.0.99:2222", training.addresses[2]])
        return place.all_fail(training, range(3), since, 5, text="disagree on 'the cluster'.*10.77.0.99:2222"), "-", "-"


@fault("TF_CONFIG with another chief's address")
def _(place):
    with place.by_hand("timeout=6", start=False) as training:
        since = time.monotonic()
        training.start(0), training.start(1)
        training.start(2, addresses=["10.77.0.99:2222", *training.addresses[1:]])
        error = training.errors([2], since, 12, text="10.77.0.99:2222")
        return f"{max(error, training.errors([0, 1], since, 12, text='rank 2')):.1f} s (timeout 6 s)", "-", "-"


@fault("TF_CONFIG that is no JSON, an index beyond")
def _(place):
    with place.by_hand("timeout=6", start=False) as training:
        since = time.monotonic()
        training.start(0, variables={**token(), "TF_CONFIG": "{'cluster'"})
        training.start(1, index=7)
        return place.all_fail(training, [0, 1], since, 3, ("InvalidArgumentError",), text="TF_CONFIG"), "-", "-"


@contextlib.contextmanager
def listener(host, answer):
    """Somebody else at the chief's port."""
    text = (f"import socket\ns = socket.create_server(('', {PORT}))\nprint('here', flush=True)\nkept = []\n"
            f"while True:\n  c = s.accept()[0]; kept.append(c); c.sendall({answer!r})\n")
    other = subprocess.Popen(host.words([sys.executable, "-c", text]), stdout=subprocess.PIPE)
    other.stdout.readline()
    try:
        yield
    finally:
        other.kill()


def port_taken(place, answer):
    with listener(place.hosts[0], answer), place.by_hand("timeout=5", start=False) as training:
        since = time.monotonic()
        training.start(0), training.start(1), training.start(2)
        training.errors([0], since, 3, ("IoError",), text="cannot listen on h0:2222")
        return place.all_fail(training, range(3), since, 12, ("IoError", "TimeoutError"), text="h0:2222") + " (timeout 5 s)", "-", "-"


@fault("the chief's port taken, by one who is silent")
def _(place):
    return port_taken(place, b"")


@fault("the chief's port taken, by one who speaks HTTP/1")
def _(place):
    return port_taken(place, b"HTTP/1.1 400 Bad Request\r\n\r\n")


@fault("a name that is the loopback on its own host")
def _(place):
    one = place.hosts[0]
    one.set_names({**place.network.names(), one.name: "127.0.1.1"})
    try:
        with place.by_hand("timeout=5") as training:
            since = time.monotonic()
            training.errors([0], since, 12, text="stands for the machine itself")
            return place.all_fail(training, range(3), since, 12) + " (timeout 5 s)", "-", "-"
    finally:
        one.set_names(place.network.names())


@fault("a name of a worker that is the loopback there")
def _(place):
    one = place.hosts[1]
    one.set_names({**place.network.names(), one.name: "127.0.1.1"})
    try:
        with place.by_hand() as training:
            return "none", "-", place.ends_right(training, 3)
    finally:
        one.set_names(place.network.names())


def one_differs(place, *settings):
    with place.by_hand("timeout=8", start=False) as training:
        since = time.monotonic()
        training.start(0), training.start(1, settings=settings), training.start(2)
        types = ("CommunicationError", "StateError", "TimeoutError", "PeerLostError", "InvalidArgumentError")
        return place.all_fail(training, range(3), since, 10, types), "-", "-"


@fault("another model")
def _(place):
    return one_differs(place, "units=25")


@fault("another dtype")
def _(place):
    return one_differs(place, "dtype=float64")


@fault("a replica that throws")
def _(place):
    with place.by_hand() as training:
        training.wait_for_steps(6, range(3))
        since = time.monotonic()
        (training.folder / "throw-1").touch()
        training.errors([1], since, 2, ("std::exception",), text="this replica has no numbers")
        training.errors([0, 2], since, 2, ("CommunicationError",), text="rank 1.*this replica has no numbers")
        return place.all_fail(training, range(3), since, 2, ("CommunicationError", "std::exception")), "-", "-"


@fault("no space left at the chief")
def _(place):
    one, disk = place.hosts[0], place.network.folder / "small"
    one.small_disk(disk, 64)
    try:
        with place.by_hand(f"save={disk}/w-{{epoch}}.weights.h5", "epochs=40") as training:
            training.wait_for(lambda: training.of(0, "error"), 60, "an error of the chief")
            since = training.of(0, "error")[0].time
            training.errors([0], since, 1, ("IoError",))
            error = place.all_fail(training, range(3), since, 2, ("IoError", "CommunicationError"), text="No space left")
            left = one.do(f"ls -A {disk}").split()
            if not left or any("tmp" in name for name in left):
                raise Wrong(f"the disk has {left}")
            return error, "-", f"{len(left)} whole files"
    finally:
        one.do(f"umount -l {disk}")


# By hand, where fewer go on or lost ones are started again: the processes elect who runs the control plane.

ELASTIC = ("min_workers=2", "rejoin_timeout=2")


@fault("by hand: kill -9 of the chief, fewer go on")
def _(place):
    with place.by_hand(*ELASTIC) as training:
        training.wait_for_steps(6, range(3))
        since = training.kill(0)
        on = training.goes_on([1, 2], since, 15)
        training.wait_for_exits(range(3), 60)
        return "-", f"{on:.1f} s", compare_of(place, training, [1, 2])


def compare_of(place, training, ranks, settings=()):
    """The numbers of these, which have ended well."""
    status = {rank: training.exits[rank][0] for rank in ranks}
    if any(status.values()):
        raise Wrong(f"ended with {status}\n{training.story()}")
    finals = {name: numbers for name, numbers in training.finals().items() if name in [f"final-{rank}" for rank in ranks]}
    if len(finals) != len(ranks) or len({numbers.tobytes() for numbers in finals.values()}) != 1:
        raise Wrong(f"{len(finals)} processes have left numbers, or other ones\n{training.story()}")
    return compare(finals, place.numbers_of_one(*settings), False)


@fault("by hand: kill -9 of the chief, which is started again")
def _(place):
    with place.by_hand(variables={**token(), "NYALA_REJOIN": "1"}) as training:
        training.wait_for_steps(6, range(3))
        since = training.kill(0)
        time.sleep(1)
        training.start(0)
        on = training.goes_on([1, 2], since, 20)
        training.wait_for(lambda: len(training.of(0, "done")) and training.of(1, "done") and training.of(2, "done"), 60,
                          "the ends of all")
        time.sleep(1)
        return "-", f"{on:.1f} s", compare(training.finals(), place.bits_of_three(), True)


@fault("by hand: a chief that comes back when others have gone on")
def _(place):
    settings = ("epochs=8",)
    with place.by_hand(*ELASTIC, *settings) as training:
        training.wait_for_steps(6, range(3))
        on = training.goes_on([1, 2], training.kill(0), 15)
        since = time.monotonic()
        training.start(0)
        back = training.goes_on([1, 2], since, 20)
        training.wait_for(lambda: all(training.of(rank, "done") for rank in range(3)), 60, "the ends of all")
        time.sleep(1)
        return "-", f"{on:.1f} s, with it {back:.1f} s", compare(training.finals(), place.numbers_of_one(*settings), False)


@fault("by hand: a frozen chief, fewer go on")
def _(place):
    with place.by_hand(*ELASTIC) as training:
        training.wait_for_steps(6, range(3))
        since = training.kill(0, signal.SIGSTOP)
        on = training.goes_on([1, 2], since, 25)
        training.wait_for_exits([1, 2], 60)
        woken = training.kill(0, signal.SIGCONT)
        error = training.errors([0], woken, 20)
        return f"{error:.1f} s after it woke", f"{on:.1f} s", compare_of(place, training, [1, 2])


def parted(place, cut, mend, minority):
    majority = [rank for rank in range(3) if rank != minority]
    with place.by_hand(*ELASTIC, "timeout=30") as training:
        training.wait_for_steps(6, range(3))
        since = time.monotonic()
        cut()
        try:
            on = training.goes_on(majority, since, 30)
            error = training.errors([minority], since, 30, text="rank")
            training.wait_for_exits(majority, 60)
            return f"{error:.1f} s in the smaller part", f"{on:.1f} s", compare_of(place, training, majority)
        finally:
            mend()


@fault("by hand: the chief's link down, fewer go on")
def _(place):
    one = place.hosts[0]
    return parted(place, *link_of(one), 0)


@fault("by hand: a worker's link down, fewer go on")
def _(place):
    one = place.hosts[1]
    return parted(place, *link_of(one), 1)


@fault("by hand: kill -9 of the chief, certificates")
def _(place):
    with place.by_hand(*ELASTIC, variables=certificates(place)["own"]) as training:
        training.wait_for_steps(6, range(3))
        on = training.goes_on([1, 2], training.kill(0), 15)
        training.wait_for_exits(range(3), 60)
        return "-", f"{on:.1f} s", compare_of(place, training, [1, 2])


# Security.

@fault("no .trusted_network off the loopback")
def _(place):
    with place.by_hand("trusted=0", "timeout=8") as training:
        since = time.monotonic()
        return place.all_fail(training, range(3), since, 4, ("InvalidArgumentError", "CommunicationError"),
                              text="trusted_network"), "-", "-"


@fault("neither token nor certificates")
def _(place):
    with place.by_hand(variables={}) as training:
        since = time.monotonic()
        return place.all_fail(training, range(3), since, 3, ("InvalidArgumentError",), text="NYALA_TOKEN"), "-", "-"


@fault("a wrong token")
def _(place):
    with place.by_hand("timeout=6", start=False) as training:
        since = time.monotonic()
        training.start(0), training.start(2)
        training.start(1, variables={"NYALA_TOKEN": "another"})
        training.errors([1], since, 3, ("CommunicationError",), text="wrong token")
        return place.all_fail(training, range(3), since, 8) + " (timeout 6 s)", "-", "-"


def certificates(place):
    """{name: variables} of certificates by two authorities for all hosts; "other" is one that nobody trusts."""
    folder = place.network.folder / "certificates"
    hosts.need("openssl", "openssl")
    if not folder.exists():
        folder.mkdir()
        names = ",".join(f"DNS:{host.name},IP:{host.address}" for host in place.hosts)
        for who in ("own", "other"):
            hosts.run("sh", "-ec", f"""
                cd {folder}
                openssl ecparam -genkey -name prime256v1 -out {who}-ca.key
                openssl req -x509 -new -key {who}-ca.key -subj /CN={who} -days 2 -out {who}-ca.pem
                openssl ecparam -genkey -name prime256v1 -out {who}.key
                openssl req -new -key {who}.key -subj /CN=worker -out {who}.csr
                echo subjectAltName={names} > ext
                openssl x509 -req -in {who}.csr -CA {who}-ca.pem -CAkey {who}-ca.key -CAcreateserial -days 2 \
                    -extfile ext -out {who}.pem""")
    return {who: {"NYALA_TLS_CA": f"{folder}/{who}-ca.pem", "NYALA_TLS_CERT": f"{folder}/{who}.pem",
                  "NYALA_TLS_KEY": f"{folder}/{who}.key"} for who in ("own", "other")}


@fault("certificates of one authority")
def _(place):
    with place.by_hand(variables=certificates(place)["own"]) as training:
        return "none", "-", place.ends_right(training, 3)


@fault("a certificate of another authority")
def _(place):
    known = certificates(place)
    with place.by_hand("timeout=5", start=False, variables=known["own"]) as training:
        since = time.monotonic()
        training.start(0), training.start(2)
        training.start(1, variables=known["other"])
        training.errors([1], since, 12, text="(?i)certificate|handshake|ssl")
        return place.all_fail(training, range(3), since, 12) + " (timeout 5 s)", "-", "-"


@fault("one without certificates")
def _(place):
    with place.by_hand("timeout=5", start=False, variables=certificates(place)["own"]) as training:
        since = time.monotonic()
        training.start(0), training.start(2)
        training.start(1, variables=token())
        return place.all_fail(training, range(3), since, 12) + " (timeout 5 s)", "-", "-"


def with_strangers(place, wait, body):
    """Garbage, silence and ends of connections at every port that listens."""
    with place.by_hand("timeout=8") as training:
        wait(training)
        ends, training.knocks = threading.Event(), 0

        def knock():
            messages = [b"", b"\0" * 64, b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 400,
                        bytes(range(256)) * 8]
            kept, count = [], 0
            while not ends.wait(0.02):
                for host in place.hosts[:3]:
                    for line in host.do("cat /proc/net/tcp /proc/net/tcp6").splitlines()[1:]:
                        words = line.split()
                        if words[3] != "0A":  # it does not listen
                            continue
                        with contextlib.suppress(OSError):
                            one = socket.create_connection((host.address, int(words[1].split(":")[1], 16)), timeout=0.2)
                            one.sendall(messages[count % len(messages)])
                            count += 1
                            kept.append(one)
                            if count % 2:
                                kept.pop(0).close()
                        training.knocks = count

        knocking = threading.Thread(target=knock)
        knocking.start()
        try:
            return body(training)
        finally:
            ends.set()
            knocking.join()


def trains_undisturbed(place):
    def body(training):
        weights = place.ends_right(training, 3)
        return f"none ({training.knocks} connections)", "-", weights
    return body


@fault("strangers at all ports, while they train")
def _(place):
    return with_strangers(place, lambda training: training.wait_for_steps(1, range(3)), trains_undisturbed(place))


@fault("strangers at all ports, while they meet")
def _(place):
    return with_strangers(place, lambda training: None, trains_undisturbed(place))


# Under `nyala launch`: fit goes on.

AGAIN, FEWER = ("--restarts", "3"), ("--min-workers", "2", "--rejoin-timeout", "2")


@fault("launch: none")
def _(place):
    with place.launched() as training:
        return "-", "-", place.ends_right(training, 3, launched=True)


def killed(place, rank, options, count, same_bits):
    with place.launched(*options) as training:
        training.wait_for_steps(6, range(3))
        since = training.kill(rank)
        on = training.goes_on([r for r in range(3) if r != rank], since, 15)
        return "-", f"{on:.1f} s", place.ends_right(training, count, same_bits=same_bits, launched=True)


@fault("launch: kill -9 of a worker, which is started again")
def _(place):
    return killed(place, 1, AGAIN, 3, True)


@fault("launch: kill -9 of rank 0, which is started again")
def _(place):
    return killed(place, 0, AGAIN, 3, True)


@fault("launch: kill -9 of a worker, fewer go on")
def _(place):
    return killed(place, 1, FEWER, 2, False)


@fault("launch: kill -9 of rank 0, fewer go on")
def _(place):
    return killed(place, 0, FEWER, 2, False)


def away(place, options, leave, come, returns, settings=("epochs=8",)):
    """Rank 1 is away for as long as the others need to go on and do twelve steps."""
    with place.launched(*options, settings=settings) as training:
        training.wait_for_steps(6, range(3))
        since = time.monotonic()
        leave(training)
        try:
            on = training.goes_on([0, 2], since, 40)
            training.wait_for_steps(len(training.of(0, "step")) + 12, [0])
        finally:
            come(training)
        weights = place.ends_right(training, returns, settings, launched=True)
        sizes = [step.text.split()[2] for step in training.of(0, "step")]
        return "-", f"{on:.1f} s, at last {sizes[-1]} processes", weights


@fault("launch: a frozen worker, fewer go on")
def _(place):
    return away(place, FEWER, lambda training: training.kill(1, signal.SIGSTOP), lambda _: None, 2)


@fault("launch: a frozen worker, which is killed and started again")
def _(place):
    with place.launched(*AGAIN, "--rejoin-timeout", "2") as training:
        training.wait_for_steps(6, range(3))
        since = training.kill(1, signal.SIGSTOP)
        on = training.goes_on([0, 2], since, 20)
        return "-", f"{on:.1f} s", place.ends_right(training, 3, same_bits=True, launched=True)


@fault("launch: a frozen rank 0, which is killed and started again")
def _(place):
    with place.launched(*AGAIN, "--rejoin-timeout", "2") as training:
        training.wait_for_steps(6, range(3))
        since = training.kill(0, signal.SIGSTOP)
        on = training.goes_on([1, 2], since, 20)
        return "-", f"{on:.1f} s", place.ends_right(training, 3, same_bits=True, launched=True)


@fault("launch: a worker frozen for 7 s, fewer go on, it wakes")
def _(place):
    with place.launched("--min-workers", "2", "--rejoin-timeout", "5", settings=("epochs=8",)) as training:
        training.wait_for_steps(6, range(3))
        since = training.kill(1, signal.SIGSTOP)
        time.sleep(7)
        training.kill(1, signal.SIGCONT)
        on = training.goes_on(range(3), since, 20)
        return "-", f"{on:.1f} s", place.ends_right(training, 3, ("epochs=8",), launched=True)


@fault("launch: a worker's link down, fewer go on, the link comes back")
def _(place):
    one = place.hosts[1]
    return away(place, (*FEWER, *AGAIN), lambda _: one.link(False), lambda _: one.link(True), 3)


@fault("launch: a worker's link down for 2 s")
def _(place):
    with place.launched(*AGAIN) as training:
        training.wait_for_steps(6, range(3))
        place.hosts[1].link(False)
        time.sleep(2)
        place.hosts[1].link(True)
        return "none", "-", place.ends_right(training, 3, launched=True)


@fault("launch: two workers that do not reach each other")
def _(place):
    with place.launched(*FEWER, settings=("timeout=6",)) as training:
        training.wait_for_steps(6, range(3))
        since = time.monotonic()
        place.hosts[1].firewall("ip saddr 10.77.0.12 drop")
        place.hosts[2].firewall("ip saddr 10.77.0.11 drop")
        try:
            status = training.wait_for_exit(90)
            finals = training.finals()
            took = time.monotonic() - since
            if finals:
                return "-", f"ends after {took:.1f} s", compare(finals, place.numbers_of_one(), False)
            return training.errors(range(3), since, 10.5) and f"{took:.1f} s, status {status} (timeout 6 s)", "-", "-"
        finally:
            place.hosts[1].firewall()
            place.hosts[2].firewall()


@fault("launch: packets of more than 600 bytes dropped")
def _(place):
    """As by a wrong MTU on the way: processes meet, and what is large never comes."""
    with place.launched(*AGAIN, settings=("timeout=5", "units=200")) as training:
        training.wait_for_steps(6, range(3))
        since = time.monotonic()
        place.hosts[1].firewall("meta length > 600 drop")
        try:
            status = training.wait_for_exit(90)
            took = time.monotonic() - since
            return f"{training.errors(range(3), since, 9):.1f} s, status {status} after {took:.1f} s (timeout 5 s)", "-", "-"
        finally:
            place.hosts[1].firewall()


@fault("launch: the launcher's link down")
def _(place):
    with place.launched() as training:
        training.wait_for_steps(6, range(3))
        since = time.monotonic()
        place.hosts[0].link(False)
        try:
            status = training.wait_for_exit(60)
            return f"{training.errors(range(3), since, 15):.1f} s, status {status}", "-", "-"
        finally:
            place.hosts[0].link(True)


@fault("launch: 5 % of packets dropped, kill -9 of a worker")
def _(place):
    for host in place.hosts[:3]:
        host.firewall("numgen random mod 100 < 5 drop")
    try:
        return killed(place, 2, AGAIN, 3, True)
    finally:
        for host in place.hosts[:3]:
            host.firewall()


@fault("launch: no space left at the chief")
def _(place):
    one, disk = place.hosts[0], place.network.folder / "small"
    one.small_disk(disk, 64)
    try:
        with place.launched(*AGAIN, settings=(f"save={disk}/w-{{epoch}}.weights.h5", "epochs=40")) as training:
            status = training.wait_for_exit(60)
            since = training.of(0, "error")[0].time
            training.errors([0], since, 1, ("IoError",))
            return f"{training.errors(range(3), since, 2, ('IoError', 'CommunicationError')):.1f} s, status {status}", "-", "-"
    finally:
        one.do(f"umount -l {disk}")


def main():
    names = [word for word in sys.argv[2:] if word != "--texts"]
    Training.shows_texts = "--texts" in sys.argv
    if names == ["--list"]:
        return print("\n".join(FAULTS))
    hosts.isolated()
    for name in names:
        if name not in FAULTS and name not in ("launch", "by hand"):
            sys.exit(f"no such fault: {name}")
    def is_meant(name):
        kind = "launch" if name.startswith("launch: ") else "by hand"
        return not names or name in names or kind in names
    failed = []
    with hosts.Network(3) as network:
        place = Place(network, pathlib.Path(sys.argv[1]).resolve())
        print("| fault | error in every survivor after | goes on after | numbers |\n|---|---|---|---|", flush=True)
        for name, body in FAULTS.items():
            if not is_meant(name):
                continue
            try:
                print(f"| {name} | {' | '.join(body(place))} |", flush=True)
            except hosts.Missing as error:
                print(f"| {name} | skipped: {error} |", flush=True)
            except Exception as error:
                failed.append(name)
                print(f"| {name} | WRONG |\n{type(error).__name__}: {error}", flush=True)
    if failed:
        sys.exit(f"{len(failed)} went wrong: {', '.join(failed)}")


main()
