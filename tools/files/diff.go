package files

import "bytes"

// maxCells bounds the table of diffCounts (bytes: four for each column only; the work is one step for each cell).
const maxCells = 4 << 20

// diffCounts tells how many lines a change adds and removes. Over a bound what lies between the common beginning and
// the common end counts as replaced whole.
func diffCounts(before, after []byte) (added, removed int) {
	a, b := splitLines(before), splitLines(after)
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[0], b[0]) {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && bytes.Equal(a[len(a)-1], b[len(b)-1]) {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	if len(a)*len(b) > maxCells {
		return len(b), len(a)
	}
	common := longestCommon(a, b)
	return len(b) - common, len(a) - common
}

func longestCommon(a, b [][]byte) int {
	row := make([]int32, len(b)+1)
	for _, line := range a {
		diagonal := int32(0)
		for j := range b {
			above := row[j+1]
			if bytes.Equal(line, b[j]) {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(above, row[j])
			}
			diagonal = above
		}
	}
	return int(row[len(b)])
}

// splitLines keeps the line feeds, so that a missing one at the end is a difference.
func splitLines(text []byte) [][]byte {
	lines := bytes.SplitAfter(text, []byte{'\n'})
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	return lines
}
