// Package inspect is what people and scripts see of a journal: lists of sessions, commits one by one, and the views as
// they were at any commit. It reads and never writes: it takes no ownership, appends nothing, and leaves a damaged file
// as it is. What it gives for people is text without control characters of others in it; what it gives for
// scripts is JSON that is the same for equal journals. The types to read first are [Place], which a command line's
// argument leads to, and [Replay].
package inspect
