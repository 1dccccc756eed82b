package engine

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	if err := x.sweep(root, now); err != nil {
		return p, err
	}
	x.refresh(root)
	match := newFolderMatch(q.Cwd)
	for range 3 { // sessions that others change meanwhile may move, but not for ever
		p = x.page(q, match)
		if !x.recheck(root, p.Sessions) {
			break
		}
	}
	p.Broken = x.broken
	x.save()
	return p, nil
}

// sweep compares the index with the session folders, when it cannot be known that they are the same.
func (x *index) sweep(root string, now folderStamp) error {
	if x.whole && x.folder.same(now) && !x.folder.racy() {
		return nil
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	known := make(map[string]int, len(x.sums))
	for i := range x.sums {
		known[x.sums[i].Session] = i
	}
	sums := make([]indexed, 0, len(entries))
	for _, e := range entries {
		if !ValidSessionID(e.Name()) {
			continue
		}
		if i, ok := known[e.Name()]; ok {
			sums = append(sums, x.sums[i])
		} else {
			sums = append(sums, indexed{Summary: Summary{Session: e.Name()}, unlisted: true})
		}
	}
	x.sums, x.folder, x.changed, x.sorted = sums, now, true, false
	return nil
}

// refresh asks again for each session that an owner may be changing, and for each that could not be listed.
func (x *index) refresh(root string) {
	gone := false
	for i := range x.sums {
		e := &x.sums[i]
		if !e.Open && !e.unlisted {
			continue
		}
		sum, err := Summarize(filepath.Join(root, e.Session))
		if err != nil {
			if !e.unlisted {
				*e = indexed{Summary: Summary{Session: e.Session}, unlisted: true}
				x.changed, gone = true, true
			}
			if !errors.Is(err, ErrNotFound) {
				x.broken = append(x.broken, err)
			}
			continue
		}
		x.put(i, sum)
	}
	if gone {
		x.sorted = false
	}
}

// put takes a newer summary.
func (x *index) put(i int, sum *Summary) {
	e := &x.sums[i]
	if !e.unlisted && e.Summary == *sum {
		return
	}
	if e.unlisted || e.Updated != sum.Updated {
		x.sorted = false
	}
	*e = indexed{Summary: *sum}
	x.changed = true
}

// page picks what is wanted.
func (x *index) page(q Query, match *folderMatch) (p Page) {
	x.sort()
	left := q.From
	for i := range x.sums {
		e := &x.sums[i]
		if e.unlisted || !match.has(e.Cwd) {
			continue
		}
		if left > 0 {
			left--
			continue
		}
		if q.Most > 0 && len(p.Sessions) == q.Most {
			p.More = true
			break
		}
		p.Sessions = append(p.Sessions, e.Summary)
	}
	return p
}

func (x *index) sort() {
	if x.sorted {
		return
	}
	slices.SortFunc(x.sums, func(a, b indexed) int {
		return cmp.Or(cmp.Compare(b.Updated, a.Updated), cmp.Compare(b.Session, a.Session))
	})
	x.sorted = true
}

// recheck looks at the journals of the sessions that are about to be shown, and says whether any was not as the index had
// it: somebody put another file in its place, or died before the index was told.
func (x *index) recheck(root string, shown []Summary) (changed bool) {
	var stale map[string]*Summary
	for i := range shown {
		s := &shown[i]
		if s.Open || x.checked[s.Session] {
			continue
		}
		var now Summary
		if now.stamp(filepath.Join(root, s.Session)) == nil && now.Size == s.Size && now.Modified == s.Modified {
			continue
		}
		if stale == nil {
			stale = map[string]*Summary{}
		}
		sum, err := Summarize(filepath.Join(root, s.Session))
		if err != nil && !errors.Is(err, ErrNotFound) {
			x.broken = append(x.broken, err)
		}
		stale[s.Session] = sum // nil when it cannot be listed
	}
	if len(stale) == 0 {
		return false
	}
	if x.checked == nil {
		x.checked = map[string]bool{}
	}
	for i := range x.sums {
		id := x.sums[i].Session
		sum, ok := stale[id]
		switch {
		case !ok:
			continue
		case sum == nil:
			x.sums[i] = indexed{Summary: Summary{Session: id}, unlisted: true}
			x.changed, x.sorted = true, false
		default:
			x.put(i, sum)
		}
		x.checked[id] = true
	}
	return true
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
