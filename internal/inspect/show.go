package inspect

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"zuno/journal"
)

// Show writes the commits of the journal at path one by one: for people a line for each commit and one for each of its
// events, for scripts one JSON object a line. Event types of a newer release are shown like all others.
func Show(path string, w io.Writer, asJSON bool) error {
	file, err := open(path, nothing)
	if err != nil {
		return unwrapped(err)
	}
	out := bufio.NewWriter(w)
	err = lines(file, journal.ExportOptions{}, func(line *node) error {
		inline(line)
		var err error
		if asJSON {
			line.drop("prev", "texts", "raw")
			_, err = out.Write(append(line.compact(nil), '\n'))
		} else {
			_, err = out.WriteString(tellCommit(line))
		}
		return err
	})
	return errors.Join(err, out.Flush(), file.Close())
}

// inline puts each text in the place where it is referred to.
func inline(line *node) {
	texts := line.get("texts").children()
	if p := line.get("command").get("payload"); p != nil {
		inlineTexts(p, texts)
	}
	for _, e := range line.get("events").children() {
		if p := e.get("payload"); p != nil {
			inlineTexts(p, texts)
		}
	}
}

func inlineTexts(n *node, texts []*node) {
	if i, ok := n.ref(); ok && i < len(texts) {
		t := texts[i]
		switch {
		case t.get("text") != nil:
			*n = node{kind: kindString, str: t.get("text").str, free: true}
		case t.get("base64") != nil:
			*n = node{kind: kindObject, members: []member{{"base64", t.get("base64")}}}
		default:
			*n = node{kind: kindObject, members: []member{{"dropped", t.get("size")}}}
		}
		return
	}
	for _, v := range n.items {
		inlineTexts(v, texts)
	}
	for _, v := range n.members {
		inlineTexts(v.value, texts)
	}
}

// tellCommit is a commit for people.
func tellCommit(line *node) string {
	var b strings.Builder
	c := line.get("command")
	at := line.get("at").text()
	if t, err := time.Parse(time.RFC3339, at); err == nil {
		at = t.UTC().Format(clock)
	}
	fmt.Fprintf(&b, "commit %s  %s  %s", line.get("number").text(), at, short(c.get("type").text(), 80))
	if v := c.get("version").text(); v != "1" {
		fmt.Fprintf(&b, " v%s", v)
	}
	fmt.Fprintf(&b, "  by %s", short(c.get("actor").text(), 40))
	if cause := line.get("cause").text(); cause != "0" {
		fmt.Fprintf(&b, " after commit %s", cause)
	}
	fmt.Fprintf(&b, "  (%s)\n", short(c.get("id").text(), 120))
	t := &table{}
	for _, e := range line.get("events").children() {
		name := short(e.get("type").text(), 100)
		if s := e.get("stream").text(); s != "1" {
			name = "stream " + s + ": " + name
		}
		t.row(name, facts(e.get("payload")))
	}
	t.write(&b, "  ")
	return b.String()
}

// facts are the fields of a payload that a reader wants to see at once: no digests, long texts cut.
func facts(n *node) string {
	if n == nil || n.kind != kindObject {
		return fact(n)
	}
	var out []string
	for _, m := range n.members {
		isDigest := m.value.kind == kindString && len(m.value.str) == 2*sha256.Size && digestPattern().MatchString(m.value.str)
		if isDigest || slices.Contains(unsaid, m.name) || len(m.value.members) > 0 && fact(m.value) == "{}" { // nothing but digests
			continue
		}
		out = append(out, short(m.name, 40)+"="+fact(m.value))
	}
	return strings.Join(out, " ")
}

// unsaid are the fields that repeat what stands beside them: a call's typed outcome, and what its permission was asked for.
var unsaid = []string{"raw", "accesses", "provider", "surface", "context"}

const (
	factText  = 72 // characters of a text
	factItems = 6  // elements of an array
)

func fact(n *node) string {
	switch {
	case n == nil:
		return ""
	case n.kind == kindOther:
		return n.str
	case n.kind == kindString:
		if n.free || n.str == "" || strings.ContainsAny(n.str, " \"\n\t{}[]=") {
			return `"` + short(n.str, factText) + `"`
		}
		return short(n.str, factText)
	case n.kind == kindArray && len(n.items) > factItems:
		return "[" + strconv.Itoa(len(n.items)) + " of them]"
	case n.kind == kindArray:
		var out []string
		for _, v := range n.items {
			out = append(out, fact(v))
		}
		return "[" + strings.Join(out, ", ") + "]"
	case n.get("name") != nil && n.get("declaration") != nil: // a tool of the catalogue
		return fact(n.get("name"))
	case n.get("effect") != nil && n.get("replay") != nil:
		return n.get("effect").text() + "/" + n.get("replay").text() + "/" + n.get("concurrency").text()
	case n.get("provider") != nil && n.get("name") != nil: // a model
		return fact(n.get("provider")) + "/" + fact(n.get("name"))
	case n.get("exited") != nil: // how a command ended; 0 is left out of a record
		return strconv.FormatUint(n.get("code").uint(), 10)
	case len(n.members) == 1 && n.get("dropped") != nil:
		return "[dropped: " + n.get("dropped").text() + " bytes]"
	case len(n.members) == 1 && n.get("base64") != nil:
		return "[binary]"
	}
	return "{" + facts(n) + "}"
}
