package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"zuno/internal/config"
	"zuno/internal/engine"
	"zuno/internal/live"
	"zuno/journal"
	"zuno/journal/event"
	"zuno/tools"
	"zuno/tools/files"
	"zuno/tools/patch"
	"zuno/tools/search"
	"zuno/tools/shell"
)

// process is what all commands that own sessions are built from.
type process struct {
	host  *engine.Host
	dirs  config.Dirs
	log   *slog.Logger
	clock engine.Clock
	ids   engine.IDs
}

// circumstances are what a command adds to the configuration.
type circumstances struct {
	override config.Override
	flags    config.Flags
}

func (g *globals) process(c circumstances) (*process, error) {
	dirs, err := config.FindDirs(config.Options{Getenv: os.Getenv})
	if err != nil {
		return nil, err
	}
	p := &process{dirs: dirs, log: g.logger(dirs), clock: realClock{}, ids: realIDs{}}
	build := buildID
	if g.TestClockSeed != 0 {
		p.clock, p.ids = newTestClock(), newSeededIDs(g.TestClockSeed)
		build = func() string { return "test" }
	}
	if name := journal.NetworkFS(dirs.Data); name != "" {
		p.log.Warn("the data folder lies on a network file system, whose locks and syncs may not hold: set ZUNO_DATA_DIR to a local folder", "folder", dirs.Data, "type", name)
	}
	registry := tools.NewRegistry()
	files.Register(registry)
	patch.Register(registry)
	search.Register(registry)
	shell.Register(registry)
	fault, unfenced := faults()
	p.host = engine.NewHost(engine.Options{
		Data: dirs.Data, Build: build, Clock: p.clock, IDs: p.ids, Tools: registry, Log: p.log,
		FreeMiB: freeMiB, Sockets: live.Folders(os.Getenv), Fault: fault, Unfenced: unfenced,
		Settings: func(cwd string, chosen engine.Choice) (*engine.Settings, error) { return p.settings(cwd, chosen, c) },
	})
	return p, nil
}

// settings resolves the configuration of a folder, with what was chosen in the session.
func (p *process) settings(cwd string, chosen engine.Choice, c circumstances) (*engine.Settings, error) {
	cfg, err := config.Load(config.Options{Cwd: cwd, Getenv: os.Getenv, Override: c.override})
	if err != nil {
		return nil, err
	}
	names := modelNames(cfg)
	if model := chosen.Model; model != "" {
		if cfg.Model, cfg.Provider, err = cfg.Choose(model); err != nil {
			return nil, err
		}
		if !slices.Contains(names, model) {
			if len(cfg.Provider.Models) > 0 {
				return nil, &config.Error{Code: config.InvalidValue, What: "the provider " + strconv.Quote(cfg.Provider.ID) + " is configured with other models than " + strconv.Quote(model)}
			}
			names = append(names, model) // its provider takes any name
		}
	}
	levels := cfg.Levels()
	if slices.Contains(levels, chosen.Reasoning) {
		cfg.Model.Reasoning = chosen.Reasoning
	}
	provider, err := p.provider(cfg)
	if err != nil {
		return nil, err
	}
	flags := c.flags
	flags.Agent, flags.Chosen = "build", chosen.Model != ""
	s := &engine.Settings{Policy: cfg.Policy(flags), Worktree: cfg.Worktree, Provider: provider, Models: names, Levels: levels, Environ: os.Environ()}
	s.Sections = []event.SectionResolved{
		{ID: "kernel", Text: event.NewText(kernelSection)},
		{ID: "runtime.environment", Text: event.NewText("Working folder: " + cwd + "\nWorktree: " + cfg.Worktree + "\nPlatform: " + runtime.GOOS + "\n")},
	}
	return s, nil
}

const kernelSection = `You are zuno, a coding agent that works in the user's worktree through tools.
Look before you change anything, make the smallest change that does the job, and check it.
When the outcome of a call is uncertain, inspect the state that it would have changed before any new mutation.
`

// buildID is the executable's own build id, as the linker wrote it near the start of the file; where there is none, the
// version. Looking for the note itself costs less than a whole ELF reader at every start.
var buildID = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return version
	}
	f, err := os.Open(path)
	if err != nil {
		return version
	}
	defer f.Close()
	head := make([]byte, 16<<10)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	const name, kind = "Go\x00\x00", 4 // of the note: its header is name size, description size and kind, 4 bytes each
	for at := 12; ; at++ {
		i := bytes.Index(head[at:], []byte(name))
		if i < 0 {
			return version
		}
		at += i
		size := int(binary.LittleEndian.Uint32(head[at-8:]))
		if binary.LittleEndian.Uint32(head[at-12:]) == uint32(len(name)) && binary.LittleEndian.Uint32(head[at-4:]) == kind && size > 0 && at+len(name)+size <= len(head) {
			return string(head[at+len(name):][:size])
		}
	}
})

// freeMiB is the space left for this user on the file system of dir.
func freeMiB(dir string) uint64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 1 << 40 // unknown is not full
	}
	return uint64(st.Bavail) * uint64(st.Bsize) >> 20
}
