package files

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"zuno/journal/event"
	"zuno/tools"
)

// MaxDiff bounds each side of a change that is kept as text.
const MaxDiff = 1 << 20

type writeArgs struct {
	FilePath string `json:"filePath" jsonschema:"The file, as an absolute path. A relative one starts at the session's folder. Missing folders are created."`
	Content  string `json:"content" jsonschema:"The whole new content, exactly as it shall be in the file."`
}

const writeDescription = `Creates a file, or replaces the whole content of an existing one.
An existing file must have been read in this session and be unchanged since; otherwise nothing is written.
For a change to a part of a file prefer a smaller edit where one is offered. Line endings are written as given; a byte order mark that the file had is kept.`

// outcome is the typed result of a mutation.
type outcome struct {
	Files     []changed `json:"files"`
	PreImages string    `json:"pre_images,omitempty"`
}

type changed struct {
	Path    string       `json:"path"`
	Change  tools.Change `json:"change"`
	Digest  string       `json:"digest"` // SHA-256 of the content afterwards, hexadecimal
	Size    int          `json:"size"`
	Added   int          `json:"lines_added"`
	Removed int          `json:"lines_removed"`
}

// committer puts content in the place of a file. A test exchanges it to break it at a step.
type committer func(dir int, base string, content []byte, old *unix.Stat_t) error

func registerWrite(r *tools.Registry, commit committer) {
	tools.Register(r, tools.Spec[writeArgs]{
		Name:        "write",
		Description: writeDescription,
		Declaration: event.Declaration{Effect: event.SideEffecting, Replay: event.ReplayNever, Concurrency: event.Exclusive},
		Prepare: func(w tools.Where, args writeArgs) (tools.Prepared, *tools.Blocked) {
			return prepareWrite(w, args, commit)
		},
	})
}

func prepareWrite(w tools.Where, args writeArgs, commit committer) (tools.Prepared, *tools.Blocked) {
	if strings.HasSuffix(args.FilePath, "/") {
		return tools.Prepared{}, tools.Invalid("field \"filePath\" ends in \"/\" and so names a folder. Name a file; nothing was done.")
	}
	t, blocked := target(w, args.FilePath)
	if blocked != nil {
		return tools.Prepared{}, blocked
	}
	return tools.Prepared{
		Title:    title(w, t.Named),
		Kind:     "edit",
		Paths:    []string{t.Named},
		Accesses: access(event.AccessWrite, t, t.WritePlace()),
		Run: func(ctx context.Context, env tools.Env) tools.Result {
			return runWrite(ctx, env, w, t, []byte(args.Content), commit)
		},
	}, nil
}

func runWrite(ctx context.Context, env tools.Env, w tools.Where, t tools.Target, content []byte, commit committer) tools.Result {
	if ctx.Err() != nil {
		return tools.Result{Outcome: tools.Cancelled, Class: tools.ClassCancelled, Text: "Cancelled before anything was written."}
	}
	unlock, f := Lock(ctx)
	if f != nil {
		return f.Result()
	}
	defer unlock()
	if _, f := Verify(w, t); f != nil {
		return f.Result()
	}
	dir, base, made, err := OpenFolder(t.Real, true)
	if err != nil {
		Unmake(made)
		return FailureOf("open the folder", t.Named, err).Result()
	}
	defer func() { _ = unix.Close(dir) }()

	before, f := examine(ctx, env, dir, base, t)
	if f != nil {
		Unmake(made)
		return f.Result()
	}
	keptBOM := before.exists && before.bom && !bytes.HasPrefix(content, bom)
	if keptBOM {
		content = append(bytes.Clone(bom), content...)
	}
	after := tools.File{
		Path: t.Named, Resolved: t.Real, Change: tools.Added,
		Digest: sha256.Sum256(content), Size: uint64(len(content)),
	}
	if before.exists {
		after.Change = tools.Modified
	}
	if before.exists && before.digest == after.Digest {
		after.Change = tools.WasRead
		return tools.Result{
			Outcome: tools.OK, Files: []tools.File{after}, Raw: rawOf(""),
			Text: fmt.Sprintf("%s already has exactly this content (%d bytes); nothing was written.", t.Named, len(content)),
		}
	}
	kept, f := before.keep(ctx, env, t)
	if f != nil {
		return f.Result()
	}
	if err := commit(dir, base, content, before.stat); err != nil {
		var late *lateError
		if errors.As(err, &late) {
			return tools.Result{
				Outcome: tools.Uncertain, Class: tools.ClassIO,
				Text:      fmt.Sprintf("Uncertain: %s was replaced, but it is not known to be on disk: %v. Read it before changing anything else.", t.Named, late.err),
				Raw:       rawOf(kept, changed{Path: t.Named, Change: after.Change, Digest: hex.EncodeToString(after.Digest[:]), Size: len(content)}),
				PreImages: kept,
			}
		}
		Unmake(made)
		if errors.Is(err, ErrOverwritten) {
			return Refuse(tools.ClassStaleRead, "%s was changed by someone else while it was being written. Nothing was written. Read it and build the content anew.", t.Named).Result()
		}
		f := FailureOf("write", t.Named, err)
		if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
			f.Text += " There is no space left: free some, then call again."
		}
		return f.Result()
	}
	var added, removed int
	switch {
	case !before.exists:
		added = countLines(content)
		if len(content) <= MaxDiff && IsText(content) {
			after.HasDiff, after.New = true, string(content)
		}
	case before.whole && len(before.content) <= MaxDiff && len(content) <= MaxDiff && IsText(content) && IsText(before.content):
		added, removed = diffCounts(before.content, content)
		after.HasDiff, after.Old, after.New = true, string(before.content), string(content)
	default:
		added, removed = countLines(content), before.lines
	}
	text := fmt.Sprintf("Created %s (%s, %d bytes).", t.Named, count(added, "line"), len(content))
	if before.exists {
		text = fmt.Sprintf("Replaced %s (+%d −%d lines; now %s, %d bytes).", t.Named, added, removed, count(countLines(content), "line"), len(content))
	}
	if keptBOM {
		text += " The byte order mark that it had was kept."
	}
	return tools.Result{
		Outcome: tools.OK, Text: text, Files: []tools.File{after},
		Raw: rawOf(kept, changed{
			Path: t.Named, Change: after.Change, Digest: hex.EncodeToString(after.Digest[:]),
			Size: len(content), Added: added, Removed: removed,
		}),
		PreImages: kept,
	}
}

func rawOf(kept string, files ...changed) []byte {
	if files == nil {
		files = []changed{}
	}
	raw, err := json.Marshal(outcome{Files: files, PreImages: kept})
	if err != nil {
		return nil // strings and numbers always encode
	}
	return raw
}

// lateError is a failure after the new content had taken the old one's place.
type lateError struct{ err error }

func (e *lateError) Error() string { return e.err.Error() }
func (e *lateError) Unwrap() error { return e.err }

// ErrOverwritten is the error of placing over a file that is not the one that was examined.
var ErrOverwritten = errors.New("changed in the meantime")

// commit writes a file beside the old one, makes it durable and moves it into place, so that whoever looks sees the old
// content or the new, whole, and a power cut leaves one of them. old is nil when there was no file: what appeared in
// the meantime is not overwritten. A hard link to the old file keeps the old content.
func commit(dir int, base string, content []byte, old *unix.Stat_t) (err error) {
	return commitWith(dir, base, content, old, SyncFolder)
}

func commitWith(dir int, base string, content []byte, old *unix.Stat_t, sync func(int) error) error {
	staged, err := Stage(dir, content, old)
	if err != nil {
		return err
	}
	if old != nil {
		err = KeepAttributes(dir, base, staged)
	}
	if err == nil {
		err = staged.Sync()
	}
	if err == nil {
		err = Place(dir, staged.Name, base, old)
	}
	if err != nil {
		staged.Discard()
		return err
	}
	if err := sync(dir); err != nil {
		return &lateError{err: err}
	}
	return nil
}

// Staged is new content beside the file that it is meant for. It holds a descriptor until Sync or Discard.
type Staged struct {
	Name string // in its folder
	dir  int
	fd   int // -1: closed
}

// Stage writes content to a new file beside those of an open folder, and lets the system begin to write it back, so that
// of many that are staged before the first is synced, syncing one pays for others too. It gets the owner and the mode
// bits of like, where that is not nil. An error leaves nothing behind; otherwise the caller syncs it, and then places or
// discards it.
func Stage(dir int, content []byte, like *unix.Stat_t) (*Staged, error) {
	s := &Staged{Name: ".zuno-" + strings.ToLower(rand.Text()[:16]) + ".tmp", dir: dir}
	mode := uint32(0o644)
	if like != nil {
		mode = 0o600 // nobody else reads it before it has the mode of the old
	}
	fd, err := openat(dir, s.Name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, mode)
	if err != nil {
		return nil, err
	}
	s.fd = fd
	if err = fill(fd, content); err == nil && like != nil {
		err = likeOld(fd, like)
	}
	if err != nil {
		s.Discard()
		return nil, err
	}
	writeBack(fd)
	return s, nil
}

// Sync makes the content durable. Its place is not yet its own.
func (s *Staged) Sync() error {
	err := unix.Fsync(s.fd)
	if closing := unix.Close(s.fd); err == nil {
		err = closing
	}
	s.fd = -1
	return err
}

// Discard removes what was staged and not placed.
func (s *Staged) Discard() {
	if s.fd >= 0 {
		_ = unix.Close(s.fd)
		s.fd = -1
	}
	_ = unix.Unlinkat(s.dir, s.Name, 0)
}

func fill(fd int, content []byte) error {
	for len(content) > 0 {
		n, err := unix.Write(fd, content)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		content = content[n:]
	}
	return nil
}

// Place moves what was staged to its name. It replaces nothing but old, the file that was examined, as it was then; nil
// stands for no file. Its error is [ErrOverwritten] where somebody else was there. It is durable after [SyncFolder].
func Place(dir int, name, base string, old *unix.Stat_t) error {
	if old == nil {
		return placeNew(dir, name, base)
	}
	return placeOver(dir, name, base, old)
}

// Remove deletes the file that was examined, as it was then; its error is as that of [Place].
func Remove(dir int, base string, old *unix.Stat_t) error {
	if err := unchanged(dir, base, old); err != nil {
		return err
	}
	return unix.Unlinkat(dir, base, 0)
}

// likeOld gives the new file the owner, the group and the mode bits of the old. What we may not give away stays ours: then
// our group is allowed what everybody is, and nobody runs the file as us.
func likeOld(fd int, old *unix.Stat_t) error {
	refused := func(err error) bool { return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) }
	var own unix.Stat_t
	if err := unix.Fstat(fd, &own); err != nil {
		return err
	}
	if own.Uid != old.Uid || own.Gid != old.Gid {
		err := unix.Fchown(fd, int(old.Uid), int(old.Gid))
		if refused(err) {
			err = unix.Fchown(fd, -1, int(old.Gid))
		}
		if err != nil && !refused(err) {
			return err
		}
		if err := unix.Fstat(fd, &own); err != nil {
			return err
		}
	}
	mode := uint32(old.Mode) & 0o7777
	if own.Uid != old.Uid {
		mode &^= unix.S_ISUID
	}
	if own.Gid != old.Gid {
		mode = mode&^(unix.S_ISGID|0o070) | mode&0o007<<3
	}
	return unix.Fchmod(fd, mode)
}

// placeNew refuses to replace anything.
func placeNew(dir int, name, base string) error {
	err := unix.Linkat(dir, name, dir, base, 0)
	switch {
	case err == nil:
		_ = unix.Unlinkat(dir, name, 0)
		return nil
	case errors.Is(err, unix.EEXIST):
		return ErrOverwritten
	}
	// No hard links on this file system: look, then move. The gap between the two is as small as it gets there.
	var st unix.Stat_t
	if unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return ErrOverwritten
	}
	return unix.Renameat(dir, name, dir, base)
}

// placeOver refuses to replace anything but the file that was examined, as it was.
func placeOver(dir int, name, base string, old *unix.Stat_t) error {
	if err := unchanged(dir, base, old); err != nil {
		return err
	}
	return unix.Renameat(dir, name, dir, base)
}

func unchanged(dir int, base string, old *unix.Stat_t) error {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	} else if err != nil || st.Dev != old.Dev || st.Ino != old.Ino || st.Size != old.Size || st.Mtim != old.Mtim || st.Ctim != old.Ctim {
		return ErrOverwritten
	}
	return nil
}

// MayReplace tells what would keep a file that was examined from being replaced or removed, as far as it can be known
// before: the rights of its folder, a folder that everyone writes to and only owners take from, what the file system or
// a mount holds fast.
func MayReplace(dir int, base string, old *unix.Stat_t) error {
	if err := unix.Faccessat(dir, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS); err != nil {
		return err
	}
	var folder unix.Stat_t
	if err := unix.Fstat(dir, &folder); err != nil {
		return err
	}
	if me := unix.Geteuid(); folder.Mode&unix.S_ISVTX != 0 && me != 0 && int(old.Uid) != me && int(folder.Uid) != me {
		return unix.EPERM
	}
	return heldFast(dir, base)
}

// Relinked makes up for what a change to another name of the same file does to this one: its time of change is another,
// while its content is not.
func Relinked(dir int, base string, old *unix.Stat_t) {
	var st unix.Stat_t
	if unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Dev == old.Dev && st.Ino == old.Ino && st.Size == old.Size && st.Mtim == old.Mtim {
		old.Ctim = st.Ctim
	}
}

// SyncFolder makes a rename durable.
func SyncFolder(dir int) error {
	fd, err := openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	err = unix.Fsync(fd)
	if errors.Is(err, unix.EINVAL) { // a file system that has no such thing
		return nil
	}
	return err
}

// Unmake removes folders that were created for a file that was not written. One that is in use by now stays.
func Unmake(made []string) {
	for i := len(made) - 1; i >= 0; i-- {
		_ = unix.Rmdir(made[i])
	}
}
