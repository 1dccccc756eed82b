package faulttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"zuno/internal/engine"
	"zuno/journal"
)

func init() {
	roles["full"], roles["inodes"], roles["read-only"], roles["import"] = full, inodes, readOnly, importFull
}

// noMount is what a role prints when it may not mount anything.
const noMount = "may not mount a small file system of its own"

// ownMounts runs a role in a mount namespace of its own, where it may mount and fill file systems that nobody else sees.
func ownMounts(t *testing.T, role string) {
	t.Helper()
	cmd := process(t, role, t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	switch {
	case errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS):
		t.Skipf("a mount namespace is not allowed here: %v", err)
	case strings.Contains(string(out), noMount):
		t.Skipf("%s", out)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	}
}

// small mounts a file system of so many bytes and files on dir.
func small(dir, options string) error {
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = unix.Mount("tmpfs", dir, "tmpfs", 0, options)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", noMount, err)
	}
	return nil
}

// filler is a file that takes what is free, all but some bytes of it.
type filler struct{ path string }

func (f filler) leave(free int64) error {
	f.remove()
	w, err := os.OpenFile(f.path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer w.Close()
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(f.path), &st); err != nil {
		return err
	}
	page := make([]byte, st.Bsize)
	for n := int64(st.Bavail)*st.Bsize - free; n > 0; n -= st.Bsize {
		if _, err := w.Write(page); err != nil {
			return fmt.Errorf("fill the disk: %w", err)
		}
	}
	return nil
}

func (f filler) remove() { _ = os.Remove(f.path) }

// spec: D200
func TestFullDisk(t *testing.T) { ownMounts(t, "full") }

// full lets the disk be full at each point of a batch: with no page free, one, two … What was refused left nothing, and the
// same id is taken once there is room.
func full(args []string) error {
	if err := small(args[0], "size=40m"); err != nil {
		return err
	}
	data, cwd := filepath.Join(args[0], "data"), os.TempDir()
	h, err := newHost(data, &clock{}, nil)
	if err != nil {
		return err
	}
	s, err := begin(h, cwd)
	if err != nil {
		return err
	}
	fill := filler{filepath.Join(args[0], "filler")}
	refused, taken := map[string]int{}, 0
	ctx := context.Background()
	texts := map[string]string{"small": "s", "bucket": strings.Repeat("b", 200<<10), "artifact": strings.Repeat("a", 1100<<10)}
	for _, kind := range []string{"small", "bucket", "artifact"} {
		pages := []int64{0, 1, 2, 3, 4, 5, 6, 8, 10, 16, 40, 60}
		if kind == "artifact" {
			pages = []int64{0, 1, 100, 200, 270, 274, 275, 276, 277, 278, 280, 284}
		}
		for i, n := range pages {
			id := fmt.Sprintf("test:%s:%d", kind, i)
			// Each text is another one: an artifact that is there already needs no room.
			command := admission(fmt.Sprint(i) + texts[kind])
			head := s.Head()
			if err := fill.leave(n * int64(os.Getpagesize())); err != nil {
				return err
			}
			_, err := s.Do(ctx, id, "user", command)
			var not *journal.NotAppended
			switch {
			case err == nil:
				taken++
			case !errors.As(err, &not) || !errors.Is(err, unix.ENOSPC) || errors.Is(err, journal.ErrUnknownOutcome):
				return fmt.Errorf("%s with %d pages free: %w", kind, n, err)
			case s.Head().Number != head.Number:
				return fmt.Errorf("%s with %d pages free: refused, and the head moved to %d", kind, n, s.Head().Number)
			default:
				refused[kind]++
				if left, _ := filepath.Glob(filepath.Join(s.Dir(), "artifacts", ".*")); len(left) > 0 {
					return fmt.Errorf("%s with %d pages free: %q is left", kind, n, left)
				}
			}
			fill.remove()
			o, again := s.Do(ctx, id, "user", command)
			if again != nil || o.Repeated != (err == nil) {
				return fmt.Errorf("%s: the same id with room again: %+v, %w", kind, o, again)
			}
			if err := idle(s); err != nil {
				return err
			}
		}
	}
	// A small one fits into pages that the file has already.
	if refused["bucket"] < 2 || refused["artifact"] < 3 || taken < 3 {
		return fmt.Errorf("refused %v and taken %d times: the disk was not full at each point", refused, taken)
	}
	// No new session fits either; with room the same one begins.
	id, set, err := h.Reserve(cwd)
	if err != nil {
		return err
	}
	for n := range int64(12) {
		if err := fill.leave(n * int64(os.Getpagesize())); err != nil {
			return err
		}
		if _, _, err := h.Create(id, cwd, set, nil, "test:first", "user", admission("first")); err == nil || !errors.Is(err, unix.ENOSPC) {
			if err == nil {
				break
			}
			return fmt.Errorf("a new session with %d pages free: %w", n, err)
		}
	}
	fill.remove()
	if h.Get(id) == nil {
		if _, _, err := h.Create(id, cwd, set, nil, "test:first", "user", admission("first")); err != nil {
			return fmt.Errorf("a new session with room again: %w", err)
		}
	}
	if err := idle(h.Get(id)); err != nil {
		return err
	}
	first, second := s.Head(), h.Get(id).Head()
	return errors.Join(closed(h), holds(s.Dir(), first), holds(sessionDir(data, id), second))
}

// spec: D200
func TestNoRoomForAnotherFile(t *testing.T) { ownMounts(t, "inodes") }

// inodes lets a file system have room for bytes and for no other file: an artifact cannot be made.
func inodes(args []string) error {
	if err := small(args[0], "size=24m,nr_inodes=64"); err != nil {
		return err
	}
	h, err := newHost(filepath.Join(args[0], "data"), &clock{}, nil)
	if err != nil {
		return err
	}
	s, err := begin(h, os.TempDir())
	if err != nil {
		return err
	}
	var made []string
	for n := 0; ; n++ {
		name := filepath.Join(args[0], fmt.Sprint("file", n))
		f, err := os.Create(name)
		if err != nil {
			break
		}
		f.Close()
		made = append(made, name)
	}
	ctx := context.Background()
	if _, err := s.Do(ctx, "test:small", "user", admission("small")); err != nil {
		return fmt.Errorf("what needs no file: %w", err)
	}
	if err := idle(s); err != nil {
		return err
	}
	head := s.Head()
	big := admission(strings.Repeat("a", 2<<20))
	var not *journal.NotAppended
	if _, err := s.Do(ctx, "test:big", "user", big); !errors.As(err, &not) || !errors.Is(err, unix.ENOSPC) || s.Head() != head {
		return fmt.Errorf("what needs one: %w", err)
	}
	for _, name := range made {
		_ = os.Remove(name)
	}
	if o, err := s.Do(ctx, "test:big", "user", big); err != nil || o.Repeated {
		return fmt.Errorf("the same id with room again: %+v, %w", o, err)
	}
	if err := idle(s); err != nil {
		return err
	}
	head = s.Head()
	return errors.Join(closed(h), holds(s.Dir(), head))
}

// spec: D202
func TestReadOnlyFolder(t *testing.T) { ownMounts(t, "read-only") }

// readOnly makes the whole data folder read-only: nothing can be opened or begun, everything can be looked at, and
// it goes on when it can be written to again.
func readOnly(args []string) error {
	if err := small(args[0], "size=24m"); err != nil {
		return err
	}
	data := filepath.Join(args[0], "data")
	h, err := newHost(data, &clock{}, nil)
	if err != nil {
		return err
	}
	s, err := begin(h, os.TempDir())
	if err != nil {
		return err
	}
	head, ctx := s.Head(), context.Background()
	if err := closed(h); err != nil {
		return err
	}
	if h, err = newHost(data, &clock{}, nil); err != nil { // one that was stopped opens nothing
		return err
	}
	if err := unix.Mount("", args[0], "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("%s: %w", noMount, err)
	}
	if _, err := h.Open(ctx, s.ID); !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("opening gave %w", err)
	}
	if _, err := begin(h, os.TempDir()); !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("a new session gave %w", err)
	}
	if err := holds(s.Dir(), head); err != nil {
		return err
	}
	list, broken, err := engine.List(data)
	if err != nil || len(broken) > 0 || len(list) != 1 {
		return fmt.Errorf("listing gave %d sessions, %v, %w", len(list), broken, err)
	}
	if err := unix.Mount("", args[0], "", unix.MS_REMOUNT, ""); err != nil {
		return err
	}
	again, err := h.Open(ctx, s.ID)
	if err != nil {
		return err
	}
	if _, err := again.Do(ctx, "test:on", "user", admission("and on")); err != nil {
		return err
	}
	if err := idle(again); err != nil {
		return err
	}
	last := again.Head()
	return errors.Join(closed(h), holds(s.Dir(), head), holds(s.Dir(), last))
}

// spec: D192 D200
func TestImportOnAFullDisk(t *testing.T) { ownMounts(t, "import") }

// importFull imports and redacts where there is no room: nothing is left, and with room it works.
func importFull(args []string) error {
	if err := small(args[0], "size=16m"); err != nil {
		return err
	}
	h, err := newHost(filepath.Join(args[0], "data"), &clock{}, nil)
	if err != nil {
		return err
	}
	s, err := begin(h, os.TempDir())
	if err != nil {
		return err
	}
	if _, err := s.Do(context.Background(), "test:big", "user", admission(strings.Repeat("a", 2<<20))); err != nil {
		return err
	}
	if err := idle(s); err != nil {
		return err
	}
	head := s.Head()
	if err := closed(h); err != nil {
		return err
	}
	f, err := journal.OpenRead(s.Dir(), func(*journal.Raw) error { return nil })
	if err != nil {
		return err
	}
	defer f.Close()
	var lines strings.Builder
	if err := journal.Export(f, &lines, journal.ExportOptions{}); err != nil {
		return err
	}
	fill := filler{filepath.Join(args[0], "filler")}
	to := filepath.Join(args[0], "to")
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	out := filepath.Join(to, "x.zuno")
	for _, pages := range []int64{0, 2, 4, 6, 8, 20, 200, 500} {
		if err := fill.leave(pages * int64(os.Getpagesize())); err != nil {
			return err
		}
		_, err := journal.Import(strings.NewReader(lines.String()), out, head.Hash)
		if err == nil || !errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("importing with %d pages free gave %w", pages, err)
		}
		if left, _ := os.ReadDir(to); len(left) > 0 {
			return fmt.Errorf("importing with %d pages free left %v", pages, left)
		}
		if pages > 4 {
			continue
		}
		if _, err := journal.Redact(f, out); err == nil || !errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("redacting with %d pages free gave %w", pages, err)
		}
		if left, _ := os.ReadDir(to); len(left) > 0 {
			return fmt.Errorf("redacting with %d pages free left %v", pages, left)
		}
	}
	fill.remove()
	if _, err := journal.Import(strings.NewReader(lines.String()), out, head.Hash); err != nil {
		return err
	}
	return holds(out, head)
}
