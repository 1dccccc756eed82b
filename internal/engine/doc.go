// Package engine is what happens next. A [Session] owns one journal: its goroutine stamps, decides, applies and appends
// commands, and publishes what is durable. [Next] says, purely, what should be running; the driver starts what is
// missing and cancels what is no longer wanted, and every effect is fenced by an event that is durable before it begins.
// A [Host] holds many sessions. Only this package has effects. The types to read first are [Session] and [Step].
package engine
