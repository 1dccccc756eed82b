package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"zuno/tools"
)

// maxNames bounds how many names of a folder are held in memory.
const maxNames = 100_000

// list shows the names in a folder in byte order, folders marked; a link counts as what it leads to.
func list(ctx context.Context, dir int, base string, t tools.Target, args readArgs) tools.Result {
	fd, err := openat(dir, base, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return FailureOf("open", t.Named, err).Result()
	}
	folder := os.NewFile(uintptr(fd), t.Named)
	defer func() { _ = folder.Close() }()
	names, more, err := readNames(folder)
	if err != nil {
		return FailureOf("list", t.Named, err).Result()
	}
	if len(names) == 0 && args.Offset == 1 {
		return tools.Result{Outcome: tools.OK, Text: "(empty folder)"}
	}
	if args.Offset > len(names) {
		return Refuse(tools.ClassOutOfRange, "%s holds %s; offset %d lies past them. Nothing was shown.",
			t.Named, count(len(names), "name"), args.Offset).Result()
	}
	var text strings.Builder
	next := args.Offset
	for ; next <= len(names) && next < args.Offset+args.Limit; next++ {
		if ctx.Err() != nil {
			return tools.Result{Outcome: tools.Cancelled, Class: tools.ClassCancelled, Text: "Cancelled while listing; nothing was changed."}
		}
		entry := shownName(names[next-1])
		if isFolder(fd, names[next-1]) {
			entry += "/"
		}
		if text.Len()+len(entry)+1 > maxBytes-noteBytes {
			break
		}
		text.WriteString(entry + "\n")
	}
	total := strconv.Itoa(len(names))
	if more {
		total = "more than " + total
	}
	switch {
	case next <= len(names):
		fmt.Fprintf(&text, "(names %d to %d of %s; read on with offset %d)", args.Offset, next-1, total, next)
	case more || args.Offset > 1:
		fmt.Fprintf(&text, "(names %d to %d of %s)", args.Offset, next-1, total)
	}
	return tools.Result{Outcome: tools.OK, Text: text.String()}
}

func readNames(folder *os.File) (names []string, more bool, err error) {
	for len(names) <= maxNames {
		some, err := folder.Readdirnames(4096)
		names = append(names, some...)
		if errors.Is(err, io.EOF) || err == nil && len(some) == 0 {
			break
		}
		if err != nil {
			return nil, false, err
		}
	}
	slices.Sort(names)
	if len(names) > maxNames {
		names, more = names[:maxNames], true
	}
	return names, more, nil
}

// shownName quotes a name that would not stand on one line as it is.
func shownName(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return strconv.Quote(name)
	}
	return name
}

func isFolder(dir int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, 0) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// near finds a name in the folder of a missing file that differs from the file's by case or by little more than a slip
// of the keyboard.
func near(missing string) string {
	dir, wanted, _, err := OpenFolder(missing, false)
	if err != nil {
		return ""
	}
	defer func() { _ = unix.Close(dir) }()
	fd, err := openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return ""
	}
	f := os.NewFile(uintptr(fd), missing)
	defer func() { _ = f.Close() }()
	names, _ := f.Readdirnames(1000) // a look, not a search
	slices.Sort(names)
	best, least := "", 1+len(wanted)/4
	for _, name := range names {
		if strings.EqualFold(name, wanted) {
			return name
		}
		if d := distance(name, wanted, least); d <= least && (best == "" || d < distance(best, wanted, least)) {
			best = name
		}
	}
	if !utf8.ValidString(best) {
		return ""
	}
	return best
}

// distance is the number of characters to insert, delete or exchange, or more than limit.
func distance(a, b string, limit int) int {
	if diff := len(a) - len(b); diff > limit || -diff > limit || len(a) > 255 || len(b) > 255 {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost++
			}
			diagonal = row[j]
			row[j] = min(cost, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
