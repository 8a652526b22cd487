# Sourced by scripts/quickstart and scripts/test: finds a Python, makes the virtual environment, installs into it.
# Sets ROOT (the checkout), VENV and PYTHON (the environment's interpreter); the caller has set -euo pipefail.

ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
VENV=${TOKENRING_VENV:-$ROOT/.venv}
[[ $VENV == /* ]] || VENV=$PWD/$VENV
PYTHON=$VENV/bin/python
# The environment's packages and nothing else: no user site, no path from the outside.
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_USER=0 PYTHONNOUSERSITE=1
unset PYTHONHOME PYTHONPATH
# What we run answers Ctrl-C in its own way; the script must not take that for a failure and go on to its next part.
trap 'exit 130' INT

say() { printf '%s\n' "$*" >&2; }
die() {
    say "${0##*/}: $*"
    exit 2
}

# How long this interpreter takes for a few loops, in us; fails if it does not run or is too old. A name on the PATH alone
# proves nothing: pyenv's shims only look like it.
loops_us() {
    "$1" -c 'import sys, timeit
sys.exit(1) if sys.version_info < (3, 11) else print(int(1e6 * min(timeit.repeat("for i in range(20000): str(i)", number=1))))' 2>/dev/null
}

# The newest interpreter that runs, or one that is quicker by a fifth and more: distributions build theirs with profile-guided
# optimisation, pyenv does not unless it is asked to, and a third of the time of all our Python goes with it.
find_python() {
    local name path us best="" best_us
    for name in ${TOKENRING_PYTHON:-python3.13 python3.12 python3.11 python3}; do
        while read -r path; do
            us=$(loops_us "$path") || continue
            if [[ -z $best ]] || ((us * 5 < best_us * 4)); then
                best=$path best_us=$us
            fi
        done < <(type -aP -- "$name")
    done
    [[ -n $best ]] || die "no Python 3.11 or newer found. Install one (Debian, Ubuntu: apt install python3 python3-venv;" \
        "Fedora: dnf install python3), or name one in TOKENRING_PYTHON"
    printf '%s\n' "$best"
}

venv_works() {
    [[ -f $VENV/pyvenv.cfg ]] &&
        "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 &&
        "$PYTHON" -m pip --version >/dev/null 2>&1
}

# A folder that is neither empty nor an environment is somebody's: never touch it.
clear_venv() {
    if [[ -d $VENV && ! -f $VENV/pyvenv.cfg && -n $(ls -A -- "$VENV") ]]; then
        die "$VENV exists and is no virtual environment; name another folder in TOKENRING_VENV"
    fi
    rm -rf -- "$VENV"
}

try_venv() { # try_venv WAY PYTHON
    case $1 in
        venv) "$2" -m venv "$VENV" ;;
        virtualenv) "$2" -m virtualenv -q "$VENV" ;;
        uv) uv venv -q --seed --python "$2" "$VENV" ;;
        host-pip) "$2" -m venv --without-pip "$VENV" && "$2" -m pip --python "$PYTHON" install -q pip ;;
    esac
}

# Debian splits ensurepip off into python3-venv. Without it, anything else that can make an environment with pip will do.
make_venv() {
    local python=$1 way said=""
    for way in venv virtualenv uv host-pip; do
        clear_venv
        said+=$(try_venv "$way" "$python" 2>&1)$'\n' && venv_works && return
    done
    clear_venv
    say "$said"
    die "$python cannot make a virtual environment in $VENV. Where it lacks ensurepip (Debian, Ubuntu), the cure is:" \
        "apt install python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv"
}

# One line that changes while pip works, on a terminal; nothing in a pipe. pip's whole output goes to the log $1.
show_progress() {
    local line start=$SECONDS
    while IFS= read -r line; do
        line=${line#"${line%%[! ]*}"}
        if [[ $line =~ ^Progress\ ([0-9]+)\ of\ ([1-9][0-9]*) ]]; then
            line="Downloading: $((BASH_REMATCH[1] * 100 / BASH_REMATCH[2])) % of $((BASH_REMATCH[2] / 1000000)) MB"
        else
            printf '%s\n' "$line" >>"$1"
        fi
        if [[ -t 2 && $line != Requirement\ already* ]]; then
            line="$((SECONDS - start)) s  $line"
            printf '\r\033[K%s' "${line:0:78}" >&2
        fi
    done
    [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

# help_needs_no_install "$@": where --help is asked for and nothing is installed yet, the script's own first lines are it.
help_needs_no_install() {
    local argument
    for argument; do
        if [[ $argument == -h || $argument == --help ]] && ! venv_works; then
            sed -n '2,/^[^#]/{s/^# //p}' -- "$0"
            exit 0
        fi
    done
}

# install_tokenring EXTRAS: the checkout, editable, with these extras (kernels,spark,bench, or what has all of them: test,
# or test,release), unless that is already so.
# Two scripts at once would install over each other: the second waits for the first.
install_tokenring() {
    mkdir -p -- "$(dirname -- "$VENV")"
    if command -v flock >/dev/null; then
        exec 9>"$VENV.lock"
        flock -n 9 || { say "waiting for another script that holds $VENV.lock" && flock 9; }
    fi
    _install "$1"
    exec 9>&-
}

_install() {
    local extra=$1 key python log=$VENV/install.log bar=off
    if ! venv_works; then
        python=$(find_python)
        say "making $VENV with $python"
        make_venv "$python"
    fi
    key=$({ cat -- "$ROOT/pyproject.toml" && "$PYTHON" -V && printf '%s\n' "$ROOT"; } | sha256sum | cut -d ' ' -f 1)
    [[ $(cat -- "$VENV/.tokenring-$extra" 2>/dev/null) != "$key" ]] || return 0
    say "installing tokenring[$extra] into $VENV (Spark and a Java among it, and kernels are compiled: minutes)"
    # pip draws no bar into a pipe; from 24.1 on it can print the numbers instead.
    [[ ! -t 2 || $("$PYTHON" -m pip install --help) != *"off, raw]"* ]] || bar=raw
    : >"$log"
    # pyspark comes as a source archive; --use-pep517 has every pip build it in the same way, apart from this environment.
    # -v has it pass on how far our build is: "compiling kernels: 40 %".
    if ! (cd -- "$ROOT" && "$PYTHON" -m pip install -v --use-pep517 --progress-bar "$bar" -e ".[$extra]" 2>&1) | show_progress "$log"; then
        tail -n 40 -- "$log" >&2
        die "pip could not install tokenring; its whole output is in $log. Is the package index within reach? Then run this again"
    fi
    printf '%s\n' "$key" | tee -- "$VENV/.tokenring-$extra" >"$VENV/.tokenring-kernels,spark,bench"
}
