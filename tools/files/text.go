package files

import (
	"bytes"
	"unicode/utf8"
)

func hasNUL(p []byte) bool { return bytes.IndexByte(p, 0) >= 0 }
func indexLF(p []byte) int { return bytes.IndexByte(p, '\n') }
func lastLF(p []byte) int  { return bytes.LastIndexByte(p, '\n') }
func countLF(p []byte) int { return bytes.Count(p, []byte{'\n'}) }

// firstRunes gives the first n characters; a byte that is not UTF-8 counts as one.
func firstRunes(p []byte, n int) (head []byte, cut bool) {
	at := 0
	for ; n > 0 && at < len(p); n-- {
		_, size := utf8.DecodeRune(p[at:])
		at += size
	}
	return p[:at], at < len(p)
}

var bom = []byte("\ufeff")
