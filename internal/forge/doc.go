// Package forge writes into a session's journal what no rule of this build makes: the past of an older build, and states that
// later parts raise. It serves tests alone. A forged commit is one like any other but for its command, [Command], so that whoever
// decides journals again can tell it apart. The entry point is [Append].
package forge
