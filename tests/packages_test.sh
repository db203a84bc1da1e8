#!/usr/bin/env bash
# cmake/packages.sh with a dpkg-query, an apt-get and an id of our own: what it installs, and when.
set -euo pipefail
script="$PWD/cmake/packages.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "packages_test: $1" >&2
    cat "$scratch/said" >&2
    exit 1
}

mkdir "$scratch/bin"
cat >"$scratch/bin/dpkg-query" <<'END'
#!/usr/bin/env bash
# Knows all names but absent ones; half-removed ones are known, too, but not installed.
status=0
for name in "$@"; do
    [[ $name == --* ]] && continue
    case " $absent " in
    *" $name "*) echo "no packages found matching $name" >&2; status=1 ;;
    *) case " $removed " in *" $name "*) echo "config-files $name" ;; *) echo "installed $name" ;; esac ;;
    esac
done
exit $status
END
cat >"$scratch/bin/apt-get" <<'END'
#!/usr/bin/env bash
echo "$DEBIAN_FRONTEND: $*" >>"$scratch/installed"
END
printf '#!/usr/bin/env bash\necho "$user"\n' >"$scratch/bin/id"
chmod +x "$scratch"/bin/*

# try USER ABSENT REMOVED [TARGET]: runs the script; leaves its status in $status.
try() {
    : >"$scratch/installed"
    status=0
    scratch=$scratch user=$1 absent=$2 removed=$3 PATH="$scratch/bin:$PATH" "$script" ${4:-} >"$scratch/said" 2>&1 || status=$?
}

try 0 "" ""
[[ $status == 0 && ! -s $scratch/said && ! -s $scratch/installed ]] || fail "all are there, and yet it did something"

try 0 "cmake" "libgtest-dev"
[[ $status == 0 ]] || fail "status $status"
[[ $(cat "$scratch/installed") == "noninteractive: update
noninteractive: install -y --no-install-recommends cmake libgtest-dev" ]] || fail "it ran: $(cat "$scratch/installed")"
grep -q '^    cmake  *the build$' "$scratch/said" && grep -q '^    libgtest-dev  *unit tests$' "$scratch/said" ||
    fail "it does not say what it installs and why"
grep -q '^    g++ ' "$scratch/said" && fail "it names what it does not install"

# A target installs what it needs, and nothing that only a later one needs.
try 0 "cmake liblmdb-dev libgtest-dev" "" run
[[ $(tail -1 "$scratch/installed") == "noninteractive: install -y --no-install-recommends cmake" ]] ||
    fail "make run installs: $(tail -1 "$scratch/installed")"
try 0 "cmake liblmdb-dev libgtest-dev" "" build
[[ $(tail -1 "$scratch/installed") == "noninteractive: install -y --no-install-recommends cmake liblmdb-dev" ]] ||
    fail "make build installs: $(tail -1 "$scratch/installed")"
# What only the rig needs is installed for it alone, and what its machine runs is never installed.
try 0 "qemu-system-x86 busybox-static" "" test
[[ $status == 0 && ! -s $scratch/installed ]] || fail "make test installs what only make rig needs"
try 0 "qemu-system-x86 busybox-static" "" rig
[[ $(tail -1 "$scratch/installed") == "noninteractive: install -y --no-install-recommends qemu-system-x86" ]] ||
    fail "make rig installs: $(tail -1 "$scratch/installed")"
try 0 "" "" walk
[[ $status == 2 ]] || fail "an unknown target: status $status"

try 1000 "cmake" ""
[[ $status == 1 && ! -s $scratch/installed ]] || fail "not root: status $status"
grep -q 'sudo apt-get update && sudo apt-get install -y --no-install-recommends cmake$' "$scratch/said" ||
    fail "not root, and it does not say what to type"

# The list itself: a name, a target and a reason on each line, no name twice.
names=$(grep -v '^#' packages.txt | sed '/^$/d')
grep -vE '^[a-z0-9][a-z0-9+.-]+ +(run|build|test|rig|guest) +[^ ].*' <<<"$names" &&
    fail "packages.txt: a line without a name, a target and a reason"
[[ -z $(cut -d' ' -f1 <<<"$names" | sort | uniq -d) ]] || fail "packages.txt: a name twice"
echo "packages.sh installs what is missing and nothing else"
