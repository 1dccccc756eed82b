// Package patch holds the tool apply_patch: edits of several files that are verified against what the files hold.
//
// A call goes through four steps, each in a file of its own: the text is parsed ([parse], no file is looked at), every
// affected file is examined and the new contents are made in memory (plan), what the files were is kept and the new
// contents are staged beside them (write), and only then is the first one moved to its place. A conflict in any file
// leaves all of them as they were. What happens after the first move is uncertain when it fails, and says what was seen.
package patch
