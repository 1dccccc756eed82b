// Package projections is what is true of a session: one view per noun, each a pure fold over events.
//
// Views read nothing but events; they do no I/O and know no clock. What is finished leaves the working set and keeps only its
// place in the journal, so that a view costs what is active and not what is history; with [Options].Keep, which
// inspection uses, everything stays. An event that the lifecycles do not allow marks the view corrupt at its commit and
// never panics. The types to read first are [View] and [Folder].
package projections
