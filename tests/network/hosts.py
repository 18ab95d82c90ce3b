"""Hosts of this machine: a network namespace each, joined by a bridge, in a namespace of their own.

Nothing of it is left when the process that made it ends, however it ends.
"""
import ctypes, os, pathlib, shutil, signal, subprocess, sys, tempfile, time

SKIPPED = 77  # the status by which ctest knows that nothing was tested


class Missing(Exception):
    """A program that a fault needs."""


def need(program, package):
    if shutil.which(program) is None:
        raise Missing(f"there is no {program} (Debian: {package})")


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **more)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


def isolated():
    """Begins this program again in namespaces of its own (network, mounts, processes), where it may make hosts.

    Ends with status 77 where that is not allowed, or a program is missing, saying which.
    """
    if os.environ.get("NYALA_ISOLATED") == "1":
        run("ip", "link", "set", "lo", "up")
        return
    for program in ("ip", "unshare", "nsenter"):
        if shutil.which(program) is None:
            print(f"skipped: there is no {program} (Debian: iproute2, util-linux)")
            sys.exit(SKIPPED)
    unshare = ["unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    unshare += [] if os.geteuid() == 0 else ["--map-root-user"]
    probe = "ip link add probe0 type veth peer name probe1 && ip link add probe2 type bridge"
    why = subprocess.run([*unshare, "sh", "-c", probe], capture_output=True, text=True)
    if why.returncode != 0:
        print("skipped: no rights to make network namespaces here: " + why.stderr.strip())
        sys.exit(SKIPPED)
    environment = {name: value for name, value in os.environ.items() if name not in ("TF_CONFIG", "NYALA_TOKEN")}
    environment["NYALA_ISOLATED"] = "1"
    os.execvpe("unshare", [*unshare, sys.executable, *sys.argv], environment)


class Host:
    """Named and addressed like a machine: h0 is 10.77.0.10, and its own /etc/hosts knows the others."""

    def __init__(self, network, index):
        self.network, self.index, self.name = network, index, f"h{index}"
        self.address = f"10.77.0.{10 + index}"
        self.port = f"p{index}"  # of the bridge
        self.holder = subprocess.Popen(["unshare", "--net", "--mount", "--uts", "sh", "-c", "echo here; exec sleep 100000"],
                                       stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        (network.folder / f"{self.name}.pid").write_text(str(self.holder.pid))
        run("ip", "link", "add", self.port, "type", "veth", "peer", "name", "eth0", "netns", self.holder.pid)
        run("ip", "link", "set", self.port, "master", "switch")
        run("ip", "link", "set", self.port, "up")
        self.do(f"hostname {self.name}; ip link set lo up; ip link set eth0 up; ip addr add {self.address}/24 dev eth0")

    def words(self, command):
        """The words by which `command` (a list) runs on this host."""
        return ["nsenter", "--target", str(self.holder.pid), "--net", "--mount", "--uts", "--", *command]

    def do(self, script):
        return run(*self.words(["sh", "-ec", script]))

    def set_names(self, names):
        """What its /etc/hosts says: {name: address}."""
        path = self.network.folder / f"{self.name}.hosts"
        path.write_text("127.0.0.1 localhost\n" + "".join(f"{address} {name}\n" for name, address in names.items()))
        self.do(f"umount /etc/hosts 2>/dev/null || true; mount --bind {path} /etc/hosts")

    def small_disk(self, path, kilobytes):
        path.mkdir(exist_ok=True)
        self.do(f"mount -t tmpfs -o size={kilobytes}k small {path}")

    # What befalls it.
    def link(self, up):
        run("ip", "link", "set", self.port, "up" if up else "down")

    def firewall(self, *rules):
        """Rules of nftables for what comes in; none: everything comes in."""
        need("nft", "nftables")
        self.do("nft flush ruleset")
        if not rules:
            return
        self.do("nft add table inet f; nft 'add chain inet f in { type filter hook input priority 0 ; }'")
        for rule in rules:
            self.do(f"nft 'add rule inet f in {rule}'")

    def rate(self, rate):
        """Of what it sends, as tc says it: 2mbit; None: as fast as it goes."""
        need("tc", "iproute2")
        if rate is None:
            self.do("tc qdisc del dev eth0 root")
        else:
            self.do(f"tc qdisc add dev eth0 root tbf rate {rate} burst 16kb latency 200ms")


class Network:
    """`count` hosts. As a context manager, which removes its folder in the end."""

    def __init__(self, count):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="nyala_network_"))
        run("mount", "--make-rprivate", "/")
        run("ip", "link", "add", "switch", "type", "bridge")
        run("ip", "link", "set", "switch", "up")
        run("ip", "addr", "add", "10.77.0.1/24", "dev", "switch")
        self.hosts = [Host(self, index) for index in range(count)]
        for host in self.hosts:
            host.set_names(self.names())
        # What `nyala launch --ssh` runs in place of ssh: on_host {host} {command}.
        self.on_host = self.folder / "on_host"
        self.on_host.write_text(f'#!/bin/sh\nexec nsenter --target "$(cat {self.folder}/$1.pid)" --net --mount --uts '
                                f'-- sh -c "$2"\n')
        self.on_host.chmod(0o755)

    def names(self):
        return {host.name: host.address for host in self.hosts}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            host.holder.kill()
            host.holder.wait()
        subprocess.run(["ip", "link", "del", "switch"])
        shutil.rmtree(self.folder, ignore_errors=True)
