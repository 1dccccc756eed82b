package commands

// The codes of notices. This table is the only place where one is made up.
const (
	NoticeInterrupted = "session.interrupted"
	NoticeMCP         = "mcp.not_available"
	NoticeDiscussion  = "discussion.tools_disabled"
	NoticeUnavailable = "session.execution_unavailable"
	NoticeRepair      = "session.repair_refused"
	NoticeReadOnly    = "session.read_only"
)

// Notice describes a code.
type Notice struct{ Code, Severity, Meaning string }

// Notices is the table of all codes.
var Notices = []Notice{
	{NoticeInterrupted, "warning", "An earlier process ended in the middle of a turn. The text names the call whose effect is unknown and how many inputs wait."},
	{NoticeMCP, "warning", "The client named MCP servers. This build starts none; the text names them."},
	{NoticeDiscussion, "info", "The turn answers in words only, because the effect of a call that a Goal owns is unknown. No tool runs in it."},
	{NoticeUnavailable, "error", "Three processes ended, one after the other, at the same step. It is not tried again before /resume."},
	{NoticeRepair, "warning", "What an offline repair had queued was refused when it was carried out. The gate stays; the text says why."},
	{NoticeReadOnly, "info", "Another process has the session, and what it does is shown as it happens. The text names the process."},
}
