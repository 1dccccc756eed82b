// Package ledger is a second bookkeeping of a session, which tests hold against the first: it counts admissions, applications,
// starts and ends from the events alone, and shares no code with the views that it is compared with. Start with [Ledger].
package ledger
