# The daily verbs. Each is one command that also works without just.

set positional-arguments := true

# list the verbs
default:
    @"{{just_executable()}}" --list --unsorted

# all tests, or only some steps: just test lint acp
test *steps:
    ./scripts/test "$@"

# the golden replays; one of them: just golden steer; rewrite what differs: just golden update [steer]
golden *words:
    #!/bin/sh
    set -eu
    update=
    if [ "${1:-}" = update ]; then update=-update; shift; fi
    exec go test -count=1 ./cmd/zuno -run "TestScripts/${1:-.}" $update

# the table of figures that the README quotes; some of its rows: just bench Open Replay
bench *names:
    go run ./internal/bench/table "$@"

# formatting, vet and staticcheck
lint:
    ./scripts/test lint

# what no test names: just spec --part 1
spec *flags:
    go run ./internal/spec "$@"

# the demonstration: no configuration, no key
demo:
    go run ./cmd/zuno demo

# build the binary to .tools/bin/zuno
build:
    CGO_ENABLED=0 go build -o .tools/bin/zuno ./cmd/zuno
