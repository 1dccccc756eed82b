package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"zuno/journal"
)

func TestSizes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "s")
	f, _ := journal.Create(dir, journal.Options{})
	m, _ := NewMix(f)
	m.Fill(100000)
	type agg struct{ n, rec, texts, id, cpl, ev, tab int }
	by := map[string]*agg{}
	tot := agg{}
	f.Scan(1, func(c *journal.Raw) error {
		a := by[string(c.Command.Type)]
		if a == nil {
			a = &agg{}
			by[string(c.Command.Type)] = a
		}
		for _, x := range []*agg{a, &tot} {
			x.n++
			x.rec += len(c.Record)
			for _, t := range c.Texts {
				x.texts += int(t.Size)
			}
			x.tab += 36 * len(c.Texts)
			x.id += len(c.Command.ID)
			x.cpl += len(c.Command.Payload)
			for _, e := range c.Events {
				x.ev += len(e.Payload) + len(e.Type)
			}
		}
		return nil
	})
	if keep := os.Getenv("KEEP"); keep != "" {
		f.Close()
		os.Rename(filepath.Join(dir, "journal.zuno"), keep)
		return
	}
	st, _ := os.Stat(filepath.Join(dir, "journal.zuno"))
	fmt.Println("file", st.Size(), "events", m.Events, "per event", float64(st.Size())/float64(m.Events))
	var ks []string
	for k := range by {
		ks = append(ks, k)
	}
	sort.Strings(ks)
	by["total"] = &tot
	for _, k := range append(ks, "total") {
		a := by[k]
		fmt.Printf("%-20s n %6d rec %5d texts %5d table %5d id %4d cmd %4d events %5d\n", k, a.n, a.rec/a.n, a.texts/a.n, a.tab/a.n, a.id/a.n, a.cpl/a.n, a.ev/a.n)
	}
}
