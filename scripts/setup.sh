#!/bin/sh
# Makes sure that everything of packages.txt is there. On Debian and Ubuntu it installs what is missing (as root or
# with sudo); elsewhere it says what is missing.
# Exit: 0 all there, 1 something could not be installed, 2 something is missing and this system has no apt-get.
set -eu

scripts=$(cd "$(dirname "$0")" && pwd)
list="$scripts/packages.txt"

packages() { sed -e 's/#.*//' -e 's/[[:space:]]//g' -e '/^$/d' "$list"; }

# How packages.txt says to ask for package $1 without dpkg.
probe_of() { sed -n "s/^$1[[:space:]]*#[[:space:]]*\([^[:space:]]*\).*/\1/p" "$list"; }

has_header() {
  printf '#include <%s>\n' "$1" |
    ${CXX:-c++} -std=c++20 -fsyntax-only -x c++ -I/usr/include/hdf5/serial - 2>/dev/null
}

is_there() {
  probe=$(probe_of "$1")
  case "$probe" in
    pc:*) pkg-config --exists "${probe#pc:}" 2>/dev/null ;;
    h:*) has_header "${probe#h:}" ;;
    bin:*) command -v "${probe#bin:}" >/dev/null ;;
    file:*) [ -e "${probe#file:}" ] ;;
    *) echo "setup.sh: packages.txt does not say how to ask for '$1'" >&2; return 1 ;;
  esac
}

missing_packages() {
  if [ "$1" = dpkg ]; then
    for package in $(packages); do
      case "$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)" in
        *" installed") ;;
        *) echo "$package" ;;
      esac
    done
  else
    for package in $(packages); do
      is_there "$package" || echo "$package"
    done
  fi
}

explain_missing() {
  echo "setup.sh: this system has no apt-get, and these are missing (names of the Debian packages):" >&2
  for package in $1; do
    echo "  $package ($(probe_of "$package"))" >&2
  done
  echo "Install them with this system's package manager, or give CMake their places in CMAKE_PREFIX_PATH." >&2
  echo "Without libgloo-dev, processes have to be on one host." >&2
  echo "Without dataset-fashion-mnist, the data set is downloaded when a program first asks for it." >&2
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
  missing=$(missing_packages probe)
  # The data set is a convenience: programs download it themselves.
  if [ -z "$missing" ] || [ "$missing" = dataset-fashion-mnist ]; then
    echo "setup.sh: everything needed is there"
    exit 0
  fi
  explain_missing "$missing"
  exit 2
fi

missing=$(missing_packages dpkg)
if [ -z "$missing" ]; then
  echo "setup.sh: all $(packages | wc -l) packages are installed"
  exit 0
fi

if [ "$(id -u)" -eq 0 ]; then
  as_root=""
elif command -v sudo >/dev/null; then
  as_root="sudo"
else
  echo "setup.sh: these packages are missing, and installing them takes root or sudo:" >&2
  echo "  apt-get install --no-install-recommends" $missing >&2
  exit 1
fi

echo "setup.sh: installing" $missing
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
# shellcheck disable=SC2086  # one word per package
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
  -o Dpkg::Use-Pty=0 install $missing >/dev/null
echo "setup.sh: done"
