package patch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"zuno/tools"
	"zuno/tools/files"
)

// state is what a path leads to.
type state struct {
	exists  bool
	known   bool // content and digest are there
	content []byte
	digest  [32]byte
	stat    unix.Stat_t
}

// change is what becomes of one path.
type change struct {
	path    tools.Target
	was     state
	stays   bool // it exists afterwards
	content []byte
	digest  [32]byte     // of content
	like    *unix.Stat_t // whose owner and mode bits it gets
	source  string       // the resolved path of that
	from    string       // the path, as the user knows it, that it was moved from
	moved   string       // of a file that goes: where to
	added   int          // lines
	removed int
}

// alters tells whether the path is any different afterwards.
func (c *change) alters() bool {
	return c.stays != c.was.exists || c.stays && c.digest != c.was.digest || c.from != ""
}

// plan is a whole patch, validated.
type plan struct {
	operation [32]byte
	changes   []*change
	conflicts []*conflict
	dirs      *folders
	total     int64               // bytes that were read
	seen      map[string][32]byte // digests of the files that exist, by resolved path
}

// maxTotal bounds the bytes of all affected files: they are held in memory until they are written.
const maxTotal = 256 << 20

// newPlan examines all files and makes their new contents. It changes nothing.
func newPlan(ctx context.Context, env tools.Env, w tools.Where, targets []target) (*plan, *files.Failure) {
	p := &plan{operation: digestOf(targets), dirs: &folders{open: map[string]*folder{}}, seen: map[string][32]byte{}}
	for _, t := range targets {
		c := p.section(ctx, env, w, t)
		if ctx.Err() != nil {
			p.dirs.close()
			return nil, files.Refuse(tools.ClassCancelled, "Cancelled before anything was changed.")
		}
		if c != nil {
			p.conflicts = append(p.conflicts, c)
		}
	}
	if len(p.conflicts) == 0 {
		p.conflicts = p.twice()
	}
	return p, nil
}

// twice finds files that two paths lead to though they are not two names of it: where the file system does not tell cases
// apart, or a folder is mounted in two places. (Two names, hard links, become two files when they are changed.)
func (p *plan) twice() (conflicts []*conflict) {
	first := map[inode]*change{}
	for _, c := range p.changes {
		if !c.was.exists || c.was.stat.Nlink > 1 {
			continue
		}
		if other := first[inodeOf(&c.was.stat)]; other != nil {
			conflicts = append(conflicts, newConflict(tools.ClassInvalidArguments, c.path, c.was,
				c.path.Named+" and "+other.path.Named+" are the same file.", "Put all that shall become of it into one section."))
			continue
		}
		first[inodeOf(&c.was.stat)] = c
	}
	return conflicts
}

// digestOf identifies what is asked for: the same patch on the same files is the same operation, however its marks are
// padded and its lines end.
func digestOf(targets []target) [32]byte {
	sections := make([]section, len(targets))
	for i, t := range targets {
		sections[i] = t.section
		sections[i].path = t.at.Real
		if t.section.to != "" {
			sections[i].to = t.to.Real
		}
	}
	return sha256.Sum256([]byte(render(sections)))
}

func (p *plan) section(ctx context.Context, env tools.Env, w tools.Where, t target) *conflict {
	if t.kind == add {
		return p.add(env, w, t)
	}
	was, c := p.source(env, w, t)
	if c != nil {
		return c
	}
	if t.kind == remove {
		p.changes = append(p.changes, &change{path: t.at, was: was, removed: linesOf(was.content)})
		return nil
	}
	there := was
	if t.section.to != "" {
		if there, c = p.destination(env, w, t.to); c != nil {
			return c
		}
	}
	content, wrong := apply(ctx, string(was.content), t.hunks)
	if wrong != nil {
		return mismatched(t.at, was, wrong)
	}
	result := &change{path: t.at, was: was, stays: true, content: []byte(content), like: &was.stat, source: t.at.Real}
	result.digest = sha256.Sum256(result.content)
	for i := range t.hunks {
		result.added += t.hunks[i].count('+')
		result.removed += t.hunks[i].count('-')
	}
	if t.section.to == "" {
		p.changes = append(p.changes, result)
		return nil
	}
	result.path, result.was, result.from = t.to, there, t.at.Named
	p.changes = append(p.changes, result, &change{path: t.at, was: was, moved: t.to.Named})
	return nil
}

func linesOf(content []byte) int {
	d := newDocument(string(content))
	return d.len()
}

// add wants nothing to be there. A file that was read is not replaced either: that is what write is for.
func (p *plan) add(env tools.Env, w tools.Where, t target) *conflict {
	there, f := p.examine(w, t.at)
	switch {
	case f != nil:
		return conflictOf(t.at, f)
	case !there.exists:
	default:
		if _, read := files.LastRead(env, t.at); !read {
			return unread(t.at, there, "it exists, so that it cannot be added")
		}
		return newConflict(tools.ClassExists, t.at, there, t.at.Named+" exists, so that it cannot be added.",
			"Change it with *** Update File, or replace it whole with write.")
	}
	var content bytes.Buffer
	for _, line := range t.lines {
		content.WriteString(line + "\n")
	}
	p.changes = append(p.changes, &change{
		path: t.at, stays: true, content: content.Bytes(), digest: sha256.Sum256(content.Bytes()), added: len(t.lines),
	})
	return nil
}

// source is a file that must be there and be known to the session as it is.
func (p *plan) source(env tools.Env, w tools.Where, t target) (state, *conflict) {
	if t.kind == remove || t.section.to != "" {
		// Deleting what a link leads to would leave the link without it, and deleting the link is not what the content was
		// read for.
		if info, err := os.Lstat(t.at.Named); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return state{}, newConflict(tools.ClassSymbolicLink, t.at, state{}, fmt.Sprintf("%s is a symbolic link to %s.", t.at.Named, t.at.Real),
				"Name the file that it leads to, or change the link with a command.")
		}
	}
	was, f := p.examine(w, t.at)
	switch {
	case f != nil:
		return was, conflictOf(t.at, f)
	case !was.exists:
		return was, conflictOf(t.at, files.Refuse(tools.ClassNotFound, "%s does not exist.", t.at.Named))
	}
	return was, current(env, t.at, was)
}

// destination is where a file is moved to. What stands there is replaced, and so must be known.
func (p *plan) destination(env tools.Env, w tools.Where, t tools.Target) (state, *conflict) {
	there, f := p.examine(w, t)
	switch {
	case f != nil:
		return there, conflictOf(t, f)
	case !there.exists:
		return there, nil
	}
	return there, current(env, t, there)
}

// current holds a file against the session's last read of it.
func current(env tools.Env, t tools.Target, s state) *conflict {
	digest, read := files.LastRead(env, t)
	switch {
	case !read:
		return unread(t, s, "it was not read in this session")
	case digest != s.digest:
		return newConflict(tools.ClassStaleRead, t, s, fmt.Sprintf("%s changed after it was read: it had SHA-256 %x then.", t.Named, digest),
			"Read it again and make the patch anew from what it is now.")
	}
	return nil
}

func unread(t tools.Target, s state, why string) *conflict {
	return newConflict(tools.ClassReadRequired, t, s, t.Named+": "+why+".", "Read it, then make the patch from what it is.")
}

func mismatched(t tools.Target, s state, m *mismatch) *conflict {
	class, says := tools.ClassContextMismatch, fmt.Sprintf("hunk %d does not fit %s: %s.", m.hunk, t.Named, m.reason)
	required := "Read the file where the hunk belongs, and send a smaller patch whose context is there exactly and only once."
	if m.applied {
		class = tools.ClassIdenticalReplay
		says = fmt.Sprintf("%s already holds what the patch would make of it.", t.Named)
		required = "Do not send it again. Revise the patch, or wait until the file really changes and read it again."
	}
	c := newConflict(class, t, s, says, required)
	c.Hunk, c.Title = m.hunk, m.title
	return c
}

// examine looks at what a path leads to now, and reads it. What is no regular file is not opened.
func (p *plan) examine(w tools.Where, t tools.Target) (s state, f *files.Failure) {
	now, f := files.Verify(w, t)
	if f != nil {
		return s, f
	}
	dir, err := p.dirs.get(t.Real, false)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !now.Exists:
		return s, nil
	case err != nil:
		return s, files.FailureOf("open the folder", t.Named, err)
	case !now.Exists:
		return s, nil
	}
	file, f := files.OpenRegular(dir.fd, filepath.Base(t.Real), t.Named)
	if f != nil {
		return s, f
	}
	defer file.Close()
	tooLarge := files.Refuse(tools.ClassTooLarge, "%s has %d bytes; a patch changes files of at most %d, and %d in all.", t.Named, file.Stat.Size, files.MaxPreImage, maxTotal)
	if file.Stat.Size > files.MaxPreImage || p.total+file.Stat.Size > maxTotal {
		return s, tooLarge
	}
	s = state{exists: true, known: true, stat: file.Stat}
	content := bytes.NewBuffer(make([]byte, 0, file.Stat.Size+bytes.MinRead))
	if _, err := content.ReadFrom(io.LimitReader(file, files.MaxPreImage+1)); err != nil {
		return s, files.FailureOf("read", t.Named, err)
	}
	if content.Len() > files.MaxPreImage {
		return s, tooLarge
	}
	s.content = content.Bytes()
	p.total += int64(len(s.content))
	s.digest = sha256.Sum256(s.content)
	p.seen[t.Real] = s.digest
	return s, nil
}

// state identifies what the affected files hold: now, or with the changes made.
func (p *plan) state(targets []target, changed bool) (state [32]byte) {
	holds := maps.Clone(p.seen)
	if changed {
		for _, c := range p.changes {
			if delete(holds, c.path.Real); c.stays {
				holds[c.path.Real] = c.digest
			}
		}
	}
	sum := sha256.New()
	write := func(path string) {
		digest, exists := holds[path]
		fmt.Fprintf(sum, "%q %t %x\n", path, exists, digest)
	}
	for _, t := range targets {
		if write(t.at.Real); t.section.to != "" {
			write(t.to.Real)
		}
	}
	sum.Sum(state[:0])
	return state
}

// folders are the open folders of the affected files.
type folders struct {
	open map[string]*folder
	made []string // folders that were created, outermost first
}

type folder struct{ fd int }

// get opens the folder of a resolved path. A folder that is missing is created only with make.
func (d *folders) get(real string, make bool) (*folder, error) {
	name := filepath.Dir(real)
	if f := d.open[name]; f != nil {
		return f, nil
	}
	fd, _, made, err := files.OpenFolder(real, make)
	d.made = append(d.made, made...)
	if err != nil {
		return nil, err
	}
	f := &folder{fd: fd}
	d.open[name] = f
	return f, nil
}

func (d *folders) close() {
	for _, f := range d.open {
		_ = unix.Close(f.fd)
	}
}
