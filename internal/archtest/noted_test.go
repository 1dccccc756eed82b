package archtest

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// noted is something that is known to go wrong – a trap of the protocol, an oddity of the JSON-RPC library, a public report about
// an agent like this one – with the tests that show that it does not go wrong here. A test is a package and its name, a file
// of the TypeScript client and its name, or a script.
type noted struct {
	id, what string
	tests    []string
}

var traps = []noted{
	{"T1", "an update that precedes the answer which names its session is dropped by editors", []string{
		"acp/wire TestWhatFollowsAnAnswerFollowsIt", "test/acp/spine.test.mjs session/new answers an id and then sends the list of commands",
	}},
	{"T2", "an update that follows the answer of its prompt is dropped by editors", []string{
		"acp/wire TestUpdatesPrecedeTheAnswer", "test/acp/spine.test.mjs ends its turn with a receipt and a head, under one turn id",
	}},
	{"T3", "the user's words, sent back during a live prompt, stand there twice", []string{
		"test/acp/spine.test.mjs ends its turn with a receipt and a head, under one turn id", "internal/prooftest TestCaseS23LoadReplaysEverything",
	}},
	{"T4", "a later update replaces a card's content, and its diff with it", []string{
		"test/acp/spine.test.mjs draws cards for read, write and shell, and asks for the shell alone", "testscripts/edit-cards.txtar",
	}},
	{"T5", "a relative path in a diff or a location is opened wrongly or not at all", []string{
		"acp TestPlacesOfAReplay", "internal/prooftest TestCaseS23LoadReplaysEverything",
	}},
	{"T6", "a permission question under a session id that the client never saw is never answered", []string{
		"test/acp/inputs.test.mjs a stop while the user is asked runs nothing, whatever is answered",
	}},
	{"T7", "an agent that outlives the end of its input leaves orphans", []string{
		"testscripts/end-of-input.txtar", "test/acp/spine.test.mjs end of input ends the command, its process and the agent", "acp/wire TestEndOfInputDrains",
	}},
	{"T8", "a word on standard output that is no message ends the session", []string{
		"internal/prooftest TestCaseS20StdoutPure", "testscripts/log-levels.txtar",
	}},
	{"T9", "a plan with a status that the protocol does not know is refused whole", []string{
		"acp/schema TestConstructorsWriteWhatTheSchemaAsks",
	}},
	{"T10", "a required list is null", []string{
		"acp/schema TestRequiredListsAreNeverNull", "acp/schema TestNoRequiredListIsForgotten",
	}},
	{"T11", "usage is told before the window's size is known", []string{
		"acp TestUsageUpdates", "acp TestUsageNeedsAWindow",
	}},
	{"T12", "servers that a client asks for hold up the session", []string{
		"testscripts/mcp-servers-notice.txtar", "test/acp/spine.test.mjs given MCP servers start nothing and are named by one notice",
	}},
	{"T13", "the protocol's pages differ from its schema: the name of the current mode, the wrapper of content, the result of a load", []string{
		"acp/schema TestConstructorsWriteWhatTheSchemaAsks", "acp/schema TestWhatIsSentIsValid",
		"test/acp/inputs.test.mjs a load replays the conversation and a resume does not",
	}},
}

// oddities are what the JSON-RPC library does, each in a row of the table that was measured.
var oddities = []noted{
	{"handler serial", "nothing is read while a handler runs: a call inside of one waits for ever", []string{"acp/wire TestOrderAcrossKinds"}},
	{"async handler", "one goroutine for each message loses their order", []string{"acp/wire TestOrderOf20000Notifications"}},
	{"outgoing order", "a write waits for a peer that does not read, whatever its context says", []string{
		"acp/wire TestOrderAcrossKinds", "acp/wire TestASlowReaderDoesNotBlock", "acp/wire TestAReaderThatIsTooSlowEndsTheConnection",
	}},
	{"id types", "negative, fractional and null ids come back as others", []string{
		"acp/wire TestIDsComeBackByteForByte", "acp/wire TestAnIDInUseIsRejected",
	}},
	{"malformed line", "a line that is no message closes the connection", []string{
		"acp/wire TestBadLinesAreAnsweredAndTheConnectionGoesOn", "test/acp/spine.test.mjs a malformed line is answered and the connection goes on",
	}},
	{"stray response", "an error with the id null is the answer to the first call", []string{"acp/wire TestNoAnswerButItsOwnResolvesACall"}},
	{"unknown notification", "nothing is sent", []string{"acp/wire TestUnknownMethodsAndNotifications"}},
	{"-32800", "a withdrawn request is answered with it", []string{"acp/wire TestWithdrawal", "testscripts/withdrawal-by-wire-id.txtar"}},
	{"plain error", "an error has the code 0, and a wrapped one loses its own", []string{"acp/wire TestErrorsKeepTheirCode"}},
	{"call's context", "a call that is given up leaves its entry, and the peer is told nothing", []string{"acp/wire TestACallEndsWithItsContext"}},
	{"end of input", "a late answer has nowhere to go; the last line needs no end", []string{
		"acp/wire TestTheLastLineNeedsNoNewline", "acp/wire TestEndOfInputDrains", "acp/wire TestEndOfInputDoesNotWaitForever",
	}},
	{"size", "no bound, and 21 bytes for each byte", []string{
		"acp/wire TestAHugeLineIsRefusedWithoutMemoryForIt", "acp/wire TestALargePromptIsCheap", "acp/wire TestTheBoundIsExact",
	}},
	{"jsonrpc member", "it is not looked at", []string{"acp/wire TestUnusualLinesAreUnderstood"}},
	{"html", "what HTML would escape is escaped", []string{"acp/schema TestConstructorsWriteWhatTheSchemaAsks"}},
}

// reports are public reports about agents like this one.
var reports = []noted{
	{"S20", "something else than messages on standard output", []string{"internal/prooftest TestCaseS20StdoutPure"}},
	{"S21", "a second prompt is refused, lost or never answered", []string{
		"testscripts/prompt-while-busy.txtar", "internal/prooftest TestFiftyPromptsWhileBusy", "internal/prooftest TestMessagesSentAgainAfterEveryCrash",
	}},
	{"S22", "a stop while the user is asked", []string{"testscripts/permission-cancel-late-allow.txtar"}},
	{"S23", "a load that leaves out or doubles", []string{"internal/prooftest TestCaseS23LoadReplaysEverything", "testscripts/load-replays-everything.txtar"}},
	{"S24", "large lines", []string{"internal/prooftest TestCaseS24BigLines"}},
	{"S26", "a process that is killed in a turn", []string{"internal/prooftest TestKilledMidTurn"}},
}

// numbered are the ids that there must be.
func numbered() (traps, reports []string) {
	for i := range 13 {
		traps = append(traps, fmt.Sprintf("T%d", i+1))
	}
	return traps, []string{"S20", "S21", "S22", "S23", "S24", "S26"}
}

// unshown says which notes lack a test, and which tests are not there.
func unshown(tree fs.FS, notes []noted, ids []string) (wrong []string) {
	have := map[string]bool{}
	for _, n := range notes {
		have[n.id] = true
		if len(n.tests) == 0 {
			wrong = append(wrong, n.id+" ("+n.what+") has no test")
		}
		for _, t := range n.tests {
			if !exists(tree, t) {
				wrong = append(wrong, fmt.Sprintf("%s (%s): there is no test %s", n.id, n.what, t))
			}
		}
	}
	for _, id := range ids {
		if !have[id] {
			wrong = append(wrong, id+" is not listed")
		}
	}
	return wrong
}

// exists says that a test is there.
func exists(tree fs.FS, test string) bool {
	where, name, _ := strings.Cut(test, " ")
	switch path.Ext(where) {
	case ".txtar":
		_, err := fs.Stat(tree, where)
		return err == nil
	case ".mjs":
		b, err := fs.ReadFile(tree, where)
		return err == nil && strings.Contains(string(b), `"`+name+`"`)
	}
	files, _ := fs.Glob(tree, where+"/*_test.go")
	return slices.ContainsFunc(files, func(file string) bool {
		b, err := fs.ReadFile(tree, file)
		return err == nil && strings.Contains("\n"+string(b), "\nfunc "+name+"(")
	})
}

// Each known trap of the protocol, each measured oddity of the JSON-RPC library and each report that this release answers has a
// test, and the list of them is whole.
//
// spec: D270 D282
func TestEveryNoteHasATest(t *testing.T) {
	trapIDs, reportIDs := numbered()
	for _, wrong := range slices.Concat(unshown(tree, traps, trapIDs), unshown(tree, oddities, nil), unshown(tree, reports, reportIDs)) {
		t.Error(wrong)
	}
	if len(oddities) != 14 {
		t.Errorf("%d oddities are listed; 14 were measured", len(oddities))
	}
}

// What is missing is found.
func TestAMissingNoteIsFound(t *testing.T) {
	small := fstest.MapFS{"a/a_test.go": {Data: []byte("func TestA(t *testing.T) {}\n")}, "a.test.mjs": {Data: []byte(`test("a b", f)`)}, "a.txtar": {}}
	for _, c := range []struct {
		note noted
		want int
	}{
		{noted{"N1", "", []string{"a TestA", "a.test.mjs a b", "a.txtar"}}, 0},
		{noted{"N1", "", nil}, 1},
		{noted{"N1", "", []string{"a TestB"}}, 1},
		{noted{"N1", "", []string{"a.test.mjs a"}}, 1},
		{noted{"N1", "", []string{"b.txtar"}}, 1},
		{noted{"N2", "", []string{"a.txtar"}}, 1},
	} {
		if got := unshown(small, []noted{c.note}, []string{"N1"}); len(got) != c.want {
			t.Errorf("%v: %q", c.note, got)
		}
	}
}
