package files

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"zuno/tools"
)

// previous is what stood at the path.
type previous struct {
	exists  bool
	stat    *unix.Stat_t
	digest  [32]byte
	lines   int
	bom     bool
	whole   bool // content holds all of it
	content []byte
}

// MaxPreImage bounds, in bytes, a file whose content is kept when it is changed.
const MaxPreImage = 64 << 20

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
	before := previous{exists: true, stat: &file.Stat, whole: true}
	most := MaxDiff
	if env.KeepPreImages != nil {
		most = MaxPreImage
	}
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
		if before.whole = before.whole && size <= most; before.whole {
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

// keep has the content stored before it is replaced. The store may know of more files than were changed in the end;
// it never lacks one that was.
func (p *previous) keep(ctx context.Context, env tools.Env, t tools.Target) (name string, f *Failure) {
	if env.KeepPreImages == nil || !p.exists {
		return "", nil
	}
	if !p.whole {
		return "", Refuse(tools.ClassTooLarge, "%s is over %d bytes; its content could not be kept for taking the change back. Nothing was written. Change it with a command.",
			t.Named, MaxPreImage)
	}
	name, err := env.KeepPreImages(ctx, []tools.PreImage{{Path: t.Real, Mode: uint32(p.stat.Mode) & 0o7777, Content: p.content}})
	switch {
	case err != nil && ctx.Err() != nil:
		return "", Refuse(tools.ClassCancelled, "Cancelled before anything was written.")
	case err != nil:
		return "", Refuse(tools.ClassIO, "%s: what it holds now could not be kept: %v. Nothing was written.", t.Named, err)
	}
	return name, nil
}

// LastRead tells the digest under which the session knows the file, by either of its names.
func LastRead(env tools.Env, t tools.Target) ([32]byte, bool) {
	if env.LastRead == nil {
		return [32]byte{}, false
	}
	if digest, ok := env.LastRead(t.Real); ok {
		return digest, true
	}
	return env.LastRead(t.Named)
}

// IsText tells what may be shown as text.
func IsText(content []byte) bool { return utf8.Valid(content) && !hasNUL(content) }

func countLines(content []byte) int {
	n := countLF(content)
	if len(content) > 0 && content[len(content)-1] != '\n' {
		n++
	}
	return n
}
