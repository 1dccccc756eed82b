package engine

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Query says which sessions are wanted.
type Query struct {
	Cwd  string // only those of this folder, under whatever path; "" for all
	From int    // leave out so many of them
	Most int    // 0 for all
}

// Page is an answer to a [Query]: sessions, the last updated first.
type Page struct {
	Sessions []Summary
	More     bool    // others follow
	Broken   []error // of all sessions that cannot be read, whatever was asked for
}

// List gives all sessions of a data folder. It opens no session and starts nothing. What cannot be read is left out
// and told in broken.
func List(data string) (sums []Summary, broken []error, err error) {
	p, err := ListPage(data, Query{})
	return p.Sessions, p.Broken, err
}

// ListPage gives some of the sessions of a data folder, by way of an index that holds the summaries of all. The index is a
// cache: it is rebuilt when it is missing, damaged, or not of the folders that are there, and where it cannot be written
// the answer is the same.
func ListPage(data string, q Query) (p Page, err error) {
	root := filepath.Join(data, "sessions")
	now, err := stampFolder(root)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	x := readIndex(data)
	defer x.close()
	if p, err = x.answer(root, now, q); errors.Is(err, errIndex) {
		x.forget()
		p, err = x.answer(root, now, q)
	}
	if err == nil {
		x.save()
	}
	return p, err
}

func (x *index) answer(root string, now folderStamp, q Query) (p Page, err error) {
	if err := x.sweep(root, now); err != nil {
		return p, err
	}
	x.refresh(root)
	match := newFolderMatch(q.Cwd)
	for range 3 { // sessions that others change meanwhile may move, but not for ever
		if p, err = x.page(q, match); err != nil {
			return p, err
		}
		if !x.recheck(root, p.Sessions) {
			break
		}
	}
	p.Broken = x.broken
	return p, nil
}

// sweep compares the index with the session folders, when it cannot be known that they are the same.
func (x *index) sweep(root string, now folderStamp) error {
	if x.whole && x.folder.same(now) && !x.folder.racy() {
		return nil
	}
	if err := x.gather(); err != nil {
		return err
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	x.sort()
	all := make([]indexed, 0, len(entries))
	for _, e := range entries {
		if !ValidSessionID(e.Name()) {
			continue
		}
		if i, ok := x.place[e.Name()]; ok {
			all = append(all, x.loose[i])
		} else {
			all = append(all, indexed{Summary: Summary{Session: e.Name()}, unlisted: true})
		}
	}
	x.loose, x.folder, x.changed, x.sorted = all, now, true, false
	return nil
}

// refresh asks again for each session that an owner may be changing, and for each that could not be listed.
func (x *index) refresh(root string) {
	x.sort()
	for i := range x.loose {
		if x.loose[i].restless() {
			x.ask(root, x.loose[i].Session)
		}
	}
	x.sorted = false
}

// ask looks at a session itself.
func (x *index) ask(root, id string) {
	sum, err := Summarize(filepath.Join(root, id))
	switch {
	case err == nil:
		x.put(indexed{Summary: *sum})
		return
	case !errors.Is(err, ErrNotFound):
		x.broken = append(x.broken, err)
	}
	x.put(indexed{Summary: Summary{Session: id}, unlisted: true})
}

// page picks what is wanted.
func (x *index) page(q Query, match *folderMatch) (p Page, err error) {
	x.sort()
	left, loose, others := q.From, x.loose, x.others()
	for {
		o, err := others.peek()
		if err != nil {
			return p, err
		}
		var e *indexed
		switch {
		case o == nil && len(loose) == 0:
			return p, nil
		case o == nil || len(loose) > 0 && before(&loose[0], o) < 0:
			e, loose = &loose[0], loose[1:]
		default:
			e = o
			others.take()
		}
		if e.unlisted || !match.has(e.Cwd) {
			continue
		}
		if left > 0 {
			left--
			continue
		}
		if q.Most > 0 && len(p.Sessions) == q.Most {
			p.More = true
			return p, nil
		}
		p.Sessions = append(p.Sessions, e.Summary)
	}
}

// recheck looks at the journals of the sessions that are about to be shown, and says whether any was not as the index had
// it: somebody put another file in its place, or died before the index was told.
func (x *index) recheck(root string, shown []Summary) (changed bool) {
	for i := range shown {
		s := &shown[i]
		if s.Open || x.checked[s.Session] {
			continue
		}
		var now Summary
		if now.stamp(filepath.Join(root, s.Session)) == nil && now.Size == s.Size && now.Modified == s.Modified {
			continue
		}
		if x.checked == nil {
			x.checked = map[string]bool{}
		}
		x.checked[s.Session] = true
		x.ask(root, s.Session)
		changed = true
	}
	x.sorted = x.sorted && !changed
	return changed
}

// folderMatch says whether a session's folder is the wanted one. A path that reads differently may lead there too.
type folderMatch struct {
	path  string
	place os.FileInfo // nil when it does not exist
	known map[string]bool
}

func newFolderMatch(path string) *folderMatch {
	if path == "" {
		return &folderMatch{}
	}
	m := &folderMatch{path: filepath.Clean(path), known: map[string]bool{}}
	m.place, _ = os.Stat(path)
	return m
}

func (m *folderMatch) has(cwd string) bool {
	if m.path == "" || cwd == m.path {
		return true
	}
	is, ok := m.known[cwd]
	if !ok {
		is = filepath.Clean(cwd) == m.path
		if !is && m.place != nil {
			st, err := os.Stat(cwd)
			is = err == nil && os.SameFile(st, m.place)
		}
		m.known[cwd] = is
	}
	return is
}
