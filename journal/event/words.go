package event

// words are the vocabularies of the catalogue, so that reading one does not allocate.
var words = func() map[string]string {
	m := map[string]string{}
	for _, w := range []string{
		string(ReadOnly), string(UserMediated), string(Delegating), string(SideEffecting),
		string(ReplayNever), string(ReplaySafe), string(Exclusive), string(ParallelSafe), string(IsolatedBackground),
		string(AccessRead), string(AccessWrite), string(AccessExecute),
		string(PlaceInside), string(PlaceOutside), string(PlaceSecret), string(PlaceNone),
		string(Allow), string(Ask), string(Deny), string(ModeStandard), string(ModeStrict), string(ModeAllowAll),
		string(DeliverSteer), string(DeliverQueue), string(TriggerUser), string(TriggerUserControl), string(ControlResume),
		string(BlockText), string(BlockLink), string(BlockResource), string(BlockImage), string(PartReasoning),
		string(CutStream), string(CutCancelled), string(CutInterrupted),
		string(InvalidArguments), string(Unavailable), string(Denied),
		string(VerdictAllow), string(VerdictReject), string(VerdictUnrecognized), OptionAllowOnce, OptionAllowSession, OptionRejectOnce,
		string(OutcomeOK), string(OutcomeError), string(OutcomeUncertain),
		string(ChangeAdd), string(ChangeModify), string(ChangeDelete),
		"completed", "failed", "stop", "tool_calls", "end_turn", "edit", "begin", "complete", "running", "idle",
		"scripted", "shell", "write",
	} {
		m[w] = w
	}
	return m
}()
