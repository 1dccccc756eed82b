package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"zuno/internal/config"
)

// levelTrace lies below debug.
const levelTrace = slog.LevelDebug - 4

const logMax = 10 << 20 // bytes of one log file; there are two

func (g *globals) logger(dirs config.Dirs) *slog.Logger {
	level := map[string]slog.Level{"TRACE": levelTrace, "DEBUG": slog.LevelDebug, "INFO": slog.LevelInfo, "WARN": slog.LevelWarn, "ERROR": slog.LevelError}[g.LogLevel]
	var out io.Writer = &logFile{path: filepath.Join(dirs.State, "log", "zuno.log")}
	if dirs.State == "" {
		out = io.Discard
	}
	if g.PrintLogs {
		out = both{out, g.stderr}
	}
	return slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.LevelKey && a.Value.Any() == levelTrace {
			a.Value = slog.StringValue("TRACE")
		}
		return a
	}}))
}

// both writes to two places; a failure of one does not keep the record from the other.
type both [2]io.Writer

func (b both) Write(p []byte) (int, error) {
	_, err1 := b[0].Write(p)
	_, err2 := b[1].Write(p)
	if err1 != nil && err2 != nil {
		return 0, err1
	}
	return len(p), nil
}

// logFile is opened at its first record and turned over at logMax: zuno.log and zuno.log.1 together hold at most twice
// that. Logging never fails a command.
type logFile struct {
	path string
	mu   sync.Mutex
	f    *os.File
	size int64
	bad  bool
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bad {
		return len(p), nil
	}
	if l.f == nil && !l.open() {
		return len(p), nil
	}
	if l.size+int64(len(p)) > logMax {
		_ = l.f.Close()
		_ = os.Rename(l.path, l.path+".1")
		if !l.open() {
			return len(p), nil
		}
	}
	n, _ := l.f.Write(p)
	l.size += int64(n)
	return len(p), nil
}

func (l *logFile) open() bool {
	l.f = nil
	err := os.MkdirAll(filepath.Dir(l.path), 0o700)
	if err == nil {
		l.f, err = os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	}
	if err != nil {
		l.bad = true
		return false
	}
	if st, err := l.f.Stat(); err == nil {
		l.size = st.Size()
	}
	return true
}
