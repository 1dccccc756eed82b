package journal

// Report is what [Verify] found.
type Report struct {
	Head     Head
	Commits  uint64
	Events   uint64
	Texts    uint64 // all, with the redacted ones
	Redacted uint64 // texts of which only digest and size are left
	Match    uint64 // the commit that has the expected hash; 0 when there is none, or none was expected
	Parent   Hash   // the commit of another session that this one was forked from; zero for none
}

// Verify checks everything that opening checks, and the bytes of the artifacts that texts lie in. path is as for
// [OpenRead], and so are the errors. By itself it proves only that a history is consistent up to its head; it is the
// history whose head somebody noted if that hash, given as expected, is that of one of its commits (Match). A zero
// Hash expects nothing.
func Verify(path string, expected Hash) (Report, error) {
	return VerifyBy(func(i Inspection) (*File, error) { return i.free(readWait) }, path, expected)
}

// VerifyBy is Verify of a journal that open reads: its owner may be at work.
func VerifyBy(open func(Inspection) (*File, error), path string, expected Hash) (Report, error) {
	var r Report
	f, err := open(Inspection{Path: path, Deep: true, Fold: func(c *Raw) error {
		r.count(c)
		if c.Hash == expected && expected != (Hash{}) {
			r.Match = c.Number
		}
		return nil
	}})
	if err != nil {
		return r, err
	}
	r.Head, r.Redacted = f.Head(), f.redacted
	return r, f.Close()
}
