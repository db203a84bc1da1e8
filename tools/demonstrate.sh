#!/usr/bin/env bash
# demonstrate.sh COMMAND [WORDS]: the main job, on real data. Loads a word list into a persistent map, kills the
# loader at random moments, and after each kill looks whether every acknowledged entry is there, with tools that
# know nothing of Holdfast (sort, comm, awk). Exit status 1 when anything is missing or wrong.
#
#   HOLDFAST_SEED=N    the random numbers of an earlier run
#   HOLDFAST_KILLS=N   kills at each level (default 20)
#   HOLDFAST_LINES=N   only the first N lines of the list
#
# On a terminal each level is one bar that grows with the acknowledged entries and has an x at each kill; elsewhere
# each kill is a line.
set -euo pipefail
export LC_ALL=C

command=$(realpath "${1:-build/holdfast}")
words=${2:-/usr/share/dict/words}
kills_wanted=${HOLDFAST_KILLS:-20}
seed=${HOLDFAST_SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
RANDOM=$seed

place="$(dirname "$command")/run"
mkdir -p "$place"
directory=$(mktemp -d "$place/XXXXXX")
loader=
finish() {
    local status=$?
    [[ -n $loader ]] && kill -KILL "$loader" 2>/dev/null
    if [[ $status -eq 0 ]]; then
        rm -rf "$directory"
    else
        echo "FAILED with seed $seed; what is left is in $directory" >&2
    fi
}
trap finish EXIT
# Nothing ever comes out of this: reading it with a time limit is a sleep without a process.
exec {nothing}<> <(:)

wait_us() { IFS= read -r -t "$(printf '%d.%06d' $(($1 / 1000000)) $(($1 % 1000000)))" -u "$nothing" || true; }
fail() {
    echo "demonstrate.sh: $*" >&2
    exit 1
}
number_of() { # number_of KEY <JSON
    sed -n "s/.*\"$1\": *\([-0-9.e+]*\).*/\1/p" | head -n 1
}
with_commas() { sed -E ':again; s/^([0-9]+)([0-9]{3})/\1,\2/; t again' <<<"$1"; }
# calculate EXPRESSION: awk does the fractions that bash cannot.
calculate() { awk "BEGIN { printf \"%.6f\", $1 }"; }
whole() { awk "BEGIN { printf \"%d\", $1 }"; }
now_us() { echo "${EPOCHREALTIME/[.,]/}"; }

bar_cells=30
[[ -t 1 ]] && is_live=yes || is_live=
# draw_bar ACKNOWLEDGED: the bar of the level under way, in place of the one before. An x where the loader was killed.
draw_bar() {
    [[ -n $is_live ]] || return 0
    local full=$(($1 * bar_cells / entries)) bar
    printf -v bar '%*s' "$((full > bar_cells ? bar_cells : full))" ""
    printf -v bar '%-*s' "$bar_cells" "${bar// /=}"
    for cell in "${marks[@]}"; do bar=${bar:0:cell}x${bar:cell+1}; done
    printf '\r  [%s] kill %d of %d, %s acknowledged \e[K' "$bar" "$kills" "$kills_wanted" "$(with_commas "$1")"
    drawn_us=$(now_us)
}
# draw_loading BYTES: the same, from the length of the list of acknowledgements.
draw_loading() {
    local count=$(($1 * entries / total_bytes))
    draw_bar $((count > acknowledged ? count : acknowledged))
}
# mark_kill ACKNOWLEDGED: from here on the bar has an x there.
mark_kill() {
    local cell=$(($1 * bar_cells / entries))
    marks+=("$((cell < bar_cells ? cell : bar_cells - 1))")
}
end_bar() { [[ -z $is_live ]] || echo; }
# say_live WORDS: what takes a while, until the next line is drawn.
say_live() { [[ -z $is_live ]] || printf '\r  %s \e[K' "$*"; }

prepare() {
    input="$directory/words"
    head -n "${HOLDFAST_LINES:-1000000000}" "$words" >"$input"
    lines=$(wc -l <"$input")
    total_bytes=$(wc -c <"$input")
    # What the map must hold in the end: each word and the number of its line, in order.
    awk '{ last[$0] = NR } END { for (word in last) if (word != "") print word "\t" last[word] }' "$input" |
        sort >"$directory/expected"
    entries=$(wc -l <"$directory/expected")
    file_system=$("$command" doctor "$directory" --json | sed -n 's/.*"file_system": "\(.*\)".*/\1/p')
}

# verify: compares what is in the pool with what was acknowledged and with what may be there.
verify() {
    local checked stats found extra
    # A kill may also cut the loader's last write to the list of acknowledgements.
    if [[ -s $told && -n $(tail -c 1 "$told") ]]; then sed -i '$d' "$told"; fi
    sort -u "$told" >"$directory/told"
    acknowledged=$(wc -l <"$directory/told")
    if [[ ! -e $pool ]] || ! "$command" pool info "$pool" >/dev/null 2>&1; then
        # Killed before the pool was whole.
        [[ $acknowledged -eq 0 ]] || fail "acknowledged entries, and no pool"
        rm -f "$pool"
        found_now=0 recovered_ms=0 recovered_records=0
        return
    fi
    # Before anything opens it: recovered in memory, the heap audited for leaks.
    checked=$("$command" pool check "$pool") || fail "pool check: $checked"
    checks=$((checks + 1))
    stats=$("$command" kv "$pool" stats --json) || fail "the pool does not open"
    recovered_ms=$(number_of open_ms <<<"$stats")
    recovered_records=$(number_of recovered_records <<<"$stats")
    "$command" kv "$pool" scan >"$directory/found"
    found_now=$(wc -l <"$directory/found")
    cut -f 1 "$directory/found" | sort >"$directory/keys"
    lost=$((lost + $(comm -23 "$directory/told" "$directory/keys" | wc -l)))
    wrong=$((wrong + $(sort "$directory/found" | comm -23 - "$directory/expected" | wc -l)))
    extra=$((found_now - acknowledged))
    [[ $lost -eq 0 ]] || fail "$lost acknowledged entries are missing"
    [[ $wrong -eq 0 ]] || fail "$wrong entries are not what was put"
    [[ $extra -le $((batch * threads)) ]] || fail "$extra entries that nobody could have put yet"
    # What was seen once must stay, though the loader died before it could say so.
    cp "$directory/keys" "$told"
}

new_pool() {
    rm -f "$pool"
    "$command" pool create "$pool" --size 64M --layout holdfast-kv >/dev/null
    : >"$told"
}

start_load() {
    exec {acknowledge}>>"$told"
    "$command" kv --level "$level" "$pool" load "$input" --batch "$batch" --threads "$threads" \
        --ack-fd "$acknowledge" --json >"$directory/out" 2>"$directory/err" &
    loader=$!
}
# wait_for_load: draws what it has done until it ends.
wait_for_load() {
    local size
    [[ -n $is_live ]] || return 0
    while kill -0 "$loader" 2>/dev/null; do
        wait_us 50000
        read -r _ size <"/proc/self/fdinfo/$acknowledge"
        draw_loading "$size"
    done
}
# finish_load: its exit status, 137 when it was killed.
finish_load() {
    local status=0
    wait "$loader" 2>/dev/null || status=$?
    loader=
    exec {acknowledge}>&-
    return "$status"
}

# kill_once: starts the loader and kills it at a random moment: after a random share of what is left was
# acknowledged and a few random milliseconds more, or, every fifth time, while it starts and recovers.
# False when it was done before.
kill_once() {
    local began size=0 share target=0 status=0
    share=$(((total_bytes - $(wc -c <"$told")) * 2 / (kills_wanted - kills + 2)))
    [[ $((RANDOM % 5)) -eq 0 ]] || target=$(($(wc -c <"$told") + (RANDOM * 32768 + RANDOM) % (share + 1)))
    began=$(now_us)
    start_load
    while [[ $size -lt $target ]] && kill -0 "$loader" 2>/dev/null; do
        wait_us 300
        # The loader writes through this very file description.
        read -r _ size <"/proc/self/fdinfo/$acknowledge"
        [[ $(now_us) -lt $((drawn_us + 50000)) ]] || draw_loading "$size"
    done
    wait_us $((RANDOM % (target > 0 ? 3000 : 20000) + 1))
    kill -KILL "$loader" 2>/dev/null || true
    finish_load || status=$?
    ran_us=$(($(now_us) - began))
    [[ $status -eq 0 || $status -eq 137 ]] || fail "the loader failed: $(cat "$directory/err")"
    [[ $status -eq 137 ]]
}

# run_level LEVEL BATCH THREADS
run_level() {
    level=$1 batch=$2 threads=$3
    pool="$directory/$level.pool" told="$directory/$level.acknowledged"
    local kills=0 runs=0 checks=0 lost=0 wrong=0 acknowledged=0 all_acknowledged=0 before recoveries="" drawn_us=0
    local marks=()
    printf '\nLevel %s, %s, on %s\n' "$level" "$(how_it_commits)" "$file_system"
    explain_recovery
    while [[ $kills -lt $kills_wanted ]]; do
        if [[ $acknowledged -eq 0 ]]; then
            new_pool
            marks=()
        fi
        runs=$((runs + 1))
        before=$(wc -l <"$told")
        if kill_once; then
            kills=$((kills + 1))
            verify
            recoveries+="$recovered_ms "
            mark_kill "$acknowledged"
            draw_bar "$acknowledged"
            [[ -n $is_live ]] || printf '  kill %2d after %6.1f ms: %7s acknowledged, %7s found, none lost; recovered %s records in %.1f ms\n' \
                "$kills" "$(calculate "$ran_us / 1000")" "$(with_commas "$acknowledged")" \
                "$(with_commas "$found_now")" "$(with_commas "$recovered_records")" "$recovered_ms"
        else
            verify
        fi
        all_acknowledged=$((all_acknowledged + acknowledged - before))
        if [[ $acknowledged -ge $entries && $kills -lt $kills_wanted ]]; then
            [[ -n $is_live ]] || echo "  all loaded; once more from the beginning"
            acknowledged=0
        fi
    done
    finish_level
}

# Why a kill leaves few, or many, records to recover.
explain_recovery() {
    if [[ $level == process ]]; then
        echo "  A killed process's stores stay in the page cache, and a commit stores its entries in place. Only a commit"
        echo "  that was killed half-way leaves a record, so expect 0 records to recover."
    else
        echo "  Commits since the last checkpoint are durable in the log alone: recovery applies their records."
    fi
}

how_it_commits() {
    if [[ $batch -eq 1 ]]; then echo -n "a transaction for each entry"; else echo -n "$batch entries a transaction"; fi
    if [[ $threads -gt 1 ]]; then echo -n ", $threads threads"; fi
}

# finish_level: lets the load run to its end, verifies all of it, and measures one that nobody disturbs.
finish_level() {
    local rate
    runs=$((runs + 1))
    before=$(wc -l <"$told")
    start_load
    wait_for_load
    finish_load || fail "the loader failed: $(cat "$directory/err")"
    verify
    all_acknowledged=$((all_acknowledged + acknowledged - before))
    cmp -s <(sort "$directory/found") "$directory/expected" || fail "the finished map is not the word list"
    draw_bar "$acknowledged"
    end_bar
    echo "  resumed and finished: all $(with_commas "$entries") entries are there, in order, and the heap has no leak"
    say_live "measuring an undisturbed load"
    rate=$(undisturbed_rate)
    say_live ""
    table+=$(printf '%-8s %8s %6d %6d %13s %5d %6d %6d %12s %16s' "$level" "$(with_commas "$entries")" "$runs" "$kills" \
        "$(with_commas "$all_acknowledged")" "$lost" "$wrong" "$checks" "$(with_commas "$rate")" \
        "$(summary_of "$recoveries")")$'\n'
}

# undisturbed_rate: entries a second of a load that nobody kills, stopped after a few seconds on a slow device.
undisturbed_rate() {
    local began pool="$directory/undisturbed.pool" told="$directory/undisturbed"
    new_pool
    began=$(now_us)
    timeout --foreground -s KILL 8 "$command" kv --level "$level" "$pool" load "$input" --batch "$batch" --threads "$threads" \
        --ack "$told" --json >/dev/null 2>&1 || [[ $? -eq 137 ]] || fail "the undisturbed load failed"
    whole "$(wc -l <"$told") * 1e6 / ($(now_us) - $began)"
    rm -f "$pool"
}

# summary_of NUMBERS: "median / largest".
summary_of() {
    tr ' ' '\n' <<<"$1" | sed '/^$/d' | sort -g |
        awk '{ all[NR] = $1 } END { printf "%.1f / %.1f", all[int((NR + 1) / 2)], all[NR] }'
}

began_us=$(now_us)
table=
prepare
echo "Loading $(with_commas "$lines") words of $words; killing the loader $kills_wanted times at each level (seed $seed)."
run_level process 1 1

# What an entry costs at level power depends on the device: tried out, so that the rest takes a few seconds.
threads_at_power=4
head -n 1000 "$input" >"$directory/probe"
probe=$("$command" kv --size 16M "$directory/probe.pool" load "$directory/probe" --threads "$threads_at_power" --json)
us_per_commit=$(whole "1e6 / $(number_of lines_per_s <<<"$probe") + 1")
batch_at_power=$(whole "$lines * $us_per_commit / 6e6 + 1")
run_level power "$batch_at_power" "$threads_at_power"

printf '\n%-8s %8s %6s %6s %13s %5s %6s %6s %12s %16s\n' level entries runs kills acknowledged lost wrong checks \
    entries/s "recovery ms"
printf '%s' "$table"
printf '%84s\n' "(undisturbed)  (median / most)"
printf 'Done in %.1f s: no acknowledged entry was lost.\n' "$(calculate "($(now_us) - $began_us) / 1e6")"
