package session

import "github.com/go-json-experiment/json"

// A kind is what a name on disk stands for.
type kind struct {
	must bool // the view would be wrong without it
	head bool // it changes the view, the plan or the queue of its branch
	read func(data []byte) (Event, error)
}

func as[E Event](must, head bool) kind {
	return kind{must, head, func(data []byte) (Event, error) {
		var e E
		err := json.Unmarshal(data, &e)
		return e, err
	}}
}

const (
	plain = false
	must  = true
	moves = true
	aside = false
	// Format is the version of the file format that this program writes.
	Format = 1
)

// kindOf maps a name to its kind. A name, once written to anyone's disk, is
// never reused for another meaning. It is a switch, so that it costs nothing
// when the program starts.
func kindOf(name string) (kind, bool) {
	switch name {
	case "session.created":
		return as[SessionCreated](must, aside), true
	case "session.renamed":
		return as[SessionRenamed](plain, aside), true
	case "session.configured":
		return as[SessionConfigured](must, aside), true
	case "session.purged":
		return as[SessionPurged](must, aside), true
	case "session.exported":
		return as[SessionExported](plain, aside), true
	case "content.carried":
		return as[ContentCarried](plain, aside), true
	case "tools.defined":
		return as[ToolsDefined](must, moves), true
	case "tools.extended":
		return as[ToolsExtended](must, moves), true
	case "run.started":
		return as[RunStarted](plain, aside), true
	case "run.ended":
		return as[RunEnded](plain, aside), true
	case "log.repaired":
		return as[LogRepaired](plain, aside), true
	case "toast.posted":
		return as[ToastPosted](plain, aside), true
	case "fault.recorded":
		return as[FaultRecorded](plain, aside), true

	case "branch.created":
		return as[BranchCreated](must, moves), true
	case "branch.renamed":
		return as[BranchRenamed](plain, aside), true
	case "branch.deleted":
		return as[BranchDeleted](must, moves), true
	case "branch.reverted":
		return as[BranchReverted](must, moves), true
	case "branch.rolled_back":
		return as[BranchRolledBack](must, moves), true
	case "model.chosen":
		return as[ModelChosen](must, moves), true
	case "plan.changed":
		return as[PlanChanged](must, moves), true
	case "plan.shown":
		return as[PlanShown](must, moves), true

	case "input.queued":
		return as[InputQueued](plain, moves), true
	case "input.edited":
		return as[InputEdited](plain, moves), true
	case "input.moved":
		return as[InputMoved](plain, moves), true
	case "input.removed":
		return as[InputRemoved](plain, moves), true
	case "input.held":
		return as[InputHeld](plain, moves), true
	case "user.said":
		return as[UserSaid](must, moves), true
	case "shell.ran":
		return as[ShellRan](must, moves), true
	case "turn.cancelled":
		return as[TurnCancelled](plain, aside), true
	case "turn.resumed":
		return as[TurnResumed](plain, aside), true
	case "turn.ended":
		return as[TurnEnded](plain, aside), true
	case "request.sent":
		return as[RequestSent](plain, aside), true
	case "reply.completed":
		return as[ReplyCompleted](must, moves), true
	case "reply.rejected":
		return as[ReplyRejected](must, moves), true
	case "window.learned":
		return as[WindowLearned](plain, aside), true
	case "endpoint.learned":
		return as[EndpointLearned](plain, aside), true
	}
	return kindOfTool(name)
}

func kindOfTool(name string) (kind, bool) {
	switch name {
	case "call.judged":
		return as[CallJudged](plain, aside), true
	case "approval.requested":
		return as[ApprovalRequested](plain, aside), true
	case "approval.answered":
		return as[ApprovalAnswered](plain, aside), true
	case "permission.changed":
		return as[PermissionChanged](plain, aside), true
	case "tool.started":
		return as[ToolStarted](plain, aside), true
	case "tool.finished":
		return as[ToolFinished](must, moves), true
	case "tool.interrupted":
		return as[ToolInterrupted](must, moves), true
	case "job.started":
		return as[JobStarted](plain, aside), true
	case "job.ended":
		return as[JobEnded](plain, aside), true
	case "hook.ran":
		return as[HookRan](plain, aside), true
	case "server.changed":
		return as[ServerChanged](plain, aside), true
	case "file.observed":
		return as[FileObserved](plain, aside), true
	case "files.changed":
		return as[FilesChanged](plain, aside), true
	case "restore.planned":
		return as[RestorePlanned](plain, aside), true
	case "restore.finished":
		return as[RestoreFinished](plain, aside), true

	case "instruction.published":
		return as[InstructionPublished](must, moves), true
	case "instruction.withdrawn":
		return as[InstructionWithdrawn](must, moves), true
	case "assembly.reported":
		return as[AssemblyReported](plain, aside), true
	case "catalog.published":
		return as[CatalogPublished](must, moves), true
	case "catalog.refreshed":
		return as[CatalogRefreshed](plain, aside), true
	case "catalog.dropped":
		return as[CatalogDropped](must, moves), true
	case "item.masked":
		return as[ItemMasked](must, moves), true
	case "item.replaced":
		return as[ItemReplaced](must, moves), true
	case "item.removed":
		return as[ItemRemoved](must, moves), true
	case "media.admitted":
		return as[MediaAdmitted](plain, aside), true
	case "media.noted":
		return as[MediaNoted](must, moves), true
	}
	return kindOfCompaction(name)
}

func kindOfCompaction(name string) (kind, bool) {
	switch name {
	case "compaction.requested":
		return as[CompactionRequested](plain, aside), true
	case "compaction.started":
		return as[CompactionStarted](plain, aside), true
	case "summarizer.tried":
		return as[SummarizerTried](plain, aside), true
	case "handoff.rejected":
		return as[HandoffRejected](plain, aside), true
	case "checkpoint.committed":
		return as[CheckpointCommitted](must, moves), true
	case "compaction.failed":
		return as[CompactionFailed](plain, aside), true
	case "staging.created":
		return as[StagingCreated](plain, aside), true
	case "staging.mapped":
		return as[StagingMapped](plain, aside), true
	case "staging.repartitioned":
		return as[StagingRepartitioned](plain, aside), true
	case "staging.sequenced":
		return as[StagingSequenced](plain, aside), true
	case "staging.reduced":
		return as[StagingReduced](plain, aside), true
	case "staging.reread":
		return as[StagingReread](plain, aside), true
	case "staging.audited":
		return as[StagingAudited](plain, aside), true
	case "staging.corrected":
		return as[StagingCorrected](plain, aside), true
	case "staging.renewed":
		return as[StagingRenewed](plain, aside), true
	case "staging.invalidated":
		return as[StagingInvalidated](plain, aside), true
	case "staging.saved":
		return as[StagingSaved](plain, aside), true
	case "split.saved":
		return as[SplitSaved](plain, aside), true
	}
	return kind{}, false
}

// MovesHead reports whether an event of this name is one that an append must
// not miss (LOG-6): it changes the view, the plan or the queue.
func MovesHead(name string) bool {
	k, ok := kindOf(name)
	return ok && k.head
}

// Name returns the name of e on disk.
func Name(e Event) string { return e.event() }
