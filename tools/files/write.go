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
	"io"
	"strings"
	"unicode/utf8"

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
	Files []changed `json:"files"`
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
		Accesses: access(event.AccessWrite, t, t.Place),
		Run: func(ctx context.Context, env tools.Env) tools.Result {
			return runWrite(ctx, env, w, t, []byte(args.Content), commit)
		},
	}, nil
}

func runWrite(ctx context.Context, env tools.Env, w tools.Where, t tools.Target, content []byte, commit committer) tools.Result {
	if ctx.Err() != nil {
		return tools.Result{Outcome: tools.Cancelled, Class: tools.ClassCancelled, Text: "Cancelled before anything was written."}
	}
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
			Outcome: tools.OK, Files: []tools.File{after}, Raw: rawOf(nil),
			Text: fmt.Sprintf("%s already has exactly this content (%d bytes); nothing was written.", t.Named, len(content)),
		}
	}
	if err := commit(dir, base, content, before.stat); err != nil {
		var late *lateError
		if errors.As(err, &late) {
			return tools.Result{
				Outcome: tools.Uncertain, Class: tools.ClassIO,
				Text: fmt.Sprintf("Uncertain: %s was replaced, but it is not known to be on disk: %v. Read it before changing anything else.", t.Named, late.err),
				Raw:  rawOf([]changed{{Path: t.Named, Change: after.Change, Digest: hex.EncodeToString(after.Digest[:]), Size: len(content)}}),
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
	case before.known && len(content) <= MaxDiff && IsText(content) && IsText(before.content):
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
		Raw: rawOf([]changed{{
			Path: t.Named, Change: after.Change, Digest: hex.EncodeToString(after.Digest[:]),
			Size: len(content), Added: added, Removed: removed,
		}}),
	}
}

func rawOf(files []changed) []byte {
	if files == nil {
		files = []changed{}
	}
	raw, err := json.Marshal(outcome{Files: files})
	if err != nil {
		return nil // strings and numbers always encode
	}
	return raw
}

// previous is what stood at the path.
type previous struct {
	exists  bool
	stat    *unix.Stat_t
	digest  [32]byte
	lines   int
	bom     bool
	known   bool // content holds all of it
	content []byte
}

// examine looks at what stands at the path and refuses what may not be replaced.
func examine(ctx context.Context, env tools.Env, dir int, base string, t tools.Target) (previous, *Failure) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW); errors.Is(err, unix.ENOENT) {
		return previous{}, nil
	}
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		if _, ok := LastRead(env, t); !ok {
			return previous{}, Refuse(tools.ClassReadRequired, "%s exists and was not read in this session. Nothing was written. Read it first, then write what it shall become.", t.Named)
		}
	}
	file, f := OpenRegular(dir, base, t.Named)
	if f != nil {
		return previous{}, f
	}
	defer file.Close()
	before := previous{exists: true, stat: &file.Stat, known: true}
	sum := sha256.New()
	buffer := chunks.Get().(*[]byte)
	defer chunks.Put(buffer)
	var size int
	var last byte
	for {
		n, err := file.Read(*buffer)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return previous{}, FailureOf("read", t.Named, err)
		}
		if ctx.Err() != nil {
			return previous{}, Refuse(tools.ClassCancelled, "Cancelled before anything was written.")
		}
		p := (*buffer)[:n]
		if size == 0 {
			before.bom = bytes.HasPrefix(p, bom)
		}
		sum.Write(p)
		size += n
		last = p[n-1]
		before.lines += countLF(p)
		if before.known = before.known && size <= MaxDiff; before.known {
			before.content = append(before.content, p...)
		}
	}
	if size > 0 && last != '\n' {
		before.lines++
	}
	sum.Sum(before.digest[:0])
	if digest, _ := LastRead(env, t); digest != before.digest {
		return previous{}, Refuse(tools.ClassStaleRead,
			"%s changed after it was read: it had SHA-256 %x and has %x now. Nothing was written. Read it again and build the content from what it is now.",
			t.Named, digest, before.digest)
	}
	return before, nil
}

func LastRead(env tools.Env, t tools.Target) ([32]byte, bool) {
	if env.LastRead == nil {
		return [32]byte{}, false
	}
	if digest, ok := env.LastRead(t.Real); ok {
		return digest, true
	}
	return env.LastRead(t.Named)
}

func IsText(content []byte) bool { return utf8.Valid(content) && !hasNUL(content) }

func countLines(content []byte) int {
	n := countLF(content)
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}

// lateError is a failure after the new content had taken the old one's place.
type lateError struct{ err error }

func (e *lateError) Error() string { return e.err.Error() }
func (e *lateError) Unwrap() error { return e.err }

var ErrOverwritten = errors.New("changed in the meantime")

// commit writes a file beside the old one, makes it durable and moves it into place, so that whoever looks sees the old
// content or the new, whole, and a power cut leaves one of them. old is nil when there was no file: what appeared in
// the meantime is not overwritten. A hard link to the old file keeps the old content.
func commit(dir int, base string, content []byte, old *unix.Stat_t) (err error) {
	return commitWith(dir, base, content, old, SyncFolder)
}

func commitWith(dir int, base string, content []byte, old *unix.Stat_t, sync func(int) error) (err error) {
	name := ".zuno-" + strings.ToLower(rand.Text()[:16]) + ".tmp"
	fd, err := openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return err
	}
	placed := false
	defer func() {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
		if !placed {
			_ = unix.Unlinkat(dir, name, 0)
		}
	}()
	for rest := content; len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		rest = rest[n:]
	}
	if old != nil {
		if err := likeOld(fd, old); err != nil {
			return err
		}
	}
	if err := unix.Fsync(fd); err != nil {
		return err
	}
	err = unix.Close(fd)
	fd = -1
	if err != nil {
		return err
	}
	if old == nil {
		err = placeNew(dir, name, base)
	} else {
		err = placeOver(dir, name, base, old)
	}
	if err != nil {
		return err
	}
	placed = true
	if err := sync(dir); err != nil {
		return &lateError{err: err}
	}
	return nil
}

// likeOld gives the new file the owner and the mode bits of the old. An owner that we may not give away stays ours.
func likeOld(fd int, old *unix.Stat_t) error {
	if int(old.Uid) != unix.Geteuid() || int(old.Gid) != unix.Getegid() {
		if err := unix.Fchown(fd, int(old.Uid), int(old.Gid)); err != nil && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	return unix.Fchmod(fd, uint32(old.Mode)&0o7777)
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
	var st unix.Stat_t
	if err := unix.Fstatat(dir, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil && !errors.Is(err, unix.ENOENT) {
		return err
	} else if err != nil || st.Dev != old.Dev || st.Ino != old.Ino || st.Size != old.Size || st.Mtim != old.Mtim || st.Ctim != old.Ctim {
		return ErrOverwritten
	}
	return unix.Renameat(dir, name, dir, base)
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

// unmake removes folders that were created for a file that was not written. One that is in use by now stays.
func Unmake(made []string) {
	for i := len(made) - 1; i >= 0; i-- {
		_ = unix.Rmdir(made[i])
	}
}
