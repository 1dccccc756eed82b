package demo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a process of the machine. Its number and the time of its start name it: a number alone may be given away
// again.
type process struct {
	pid, parent int
	started     string
	name        string
}

// processes lists those that are alive, zombies left out; ok says that the system tells.
func processes() (all map[int]process, ok bool) {
	all = map[int]process{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		// The name in parentheses may hold anything, a parenthesis too.
		open, shut := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
		if open < 0 || shut < open {
			continue
		}
		fields := strings.Fields(string(text[shut+1:]))
		if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
			continue
		}
		p := process{started: fields[19], name: string(text[open+1 : shut])}
		p.pid, _ = strconv.Atoi(strings.TrimSpace(string(text[:open])))
		p.parent, _ = strconv.Atoi(fields[1])
		all[p.pid] = p
	}
	if len(all) > 0 {
		return all, true
	}
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=,stat=,lstart=,comm=").Output()
	if err != nil {
		return nil, false
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 9 || strings.HasPrefix(f[2], "Z") {
			continue
		}
		p := process{started: strings.Join(f[3:8], " "), name: filepath.Base(f[8])}
		p.pid, _ = strconv.Atoi(f[0])
		p.parent, _ = strconv.Atoi(f[1])
		all[p.pid] = p
	}
	return all, len(all) > 0
}

// descendants are the processes below one.
func descendants(of int) (found []process, ok bool) {
	all, ok := processes()
	below := map[int]bool{of: true}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if below[p.parent] && !below[p.pid] {
				below[p.pid], grown = true, true
				found = append(found, p)
			}
		}
	}
	slices.SortFunc(found, func(a, b process) int { return a.pid - b.pid })
	return found, ok
}

// dyingTime is how long the kernel may take to end what ends with its parent.
const dyingTime = 2 * time.Second

// survivors gives those that are still alive after dyingTime.
func survivors(ctx context.Context, of []process) []process {
	ctx, cancel := context.WithTimeout(ctx, dyingTime)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		all, _ := processes()
		var left []process
		for _, p := range of {
			if now, there := all[p.pid]; there && now.started == p.started {
				left = append(left, p)
			}
		}
		if len(left) == 0 || ctx.Err() != nil {
			return left
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// end kills processes and gives those that cannot be killed.
func end(ctx context.Context, those []process) []process {
	for _, p := range those {
		if all, _ := processes(); all[p.pid].started == p.started {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
	return survivors(ctx, those)
}

func names(those []process) string {
	var text []string
	for _, p := range those {
		text = append(text, fmt.Sprintf("%s (%d)", p.name, p.pid))
	}
	return strings.Join(text, ", ")
}
