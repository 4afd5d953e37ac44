package session_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	. "varve/internal/session"
)

// A sample is one event of docs/session-format.md, on the branch main.
type sample struct {
	section string
	fact    Fact
}

func sha(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

func ptr[T any](v T) *T { return &v }

func text(s string) Part { return Part{Bytes: []byte(s)} }

func ref(media, content string) Part {
	return Part{Ref: &Ref{SHA256: sha(content), MediaType: media, Size: int64(len(content))}}
}

func handle(content string) string { return "media:" + sha(content)[:8] }

// sampleTime is when the event at q was recorded.
func sampleTime(q Seq) time.Time {
	return time.Date(2026, 11, 30, 12, 0, 0, int(q)*int(7*time.Millisecond), time.UTC)
}

// samples holds one event of every kind, in the order of the page. Each names
// only what stands before it.
func samples() []sample {
	var all []sample
	section := ""
	add := func(e Event, body ...Part) Seq {
		all = append(all, sample{section, Fact{Branch: MainBranch, Event: e, Body: body}})
		return Seq(len(all))
	}
	est := func(n int) Tokens { return Tokens{N: n, By: "est"} }
	agent := Model{Provider: "anthropic", API: "anthropic-messages", Model: "a-model"}
	small := Model{Provider: "local", API: "openai-chat", Model: "some-model"}
	const run, job = "0197f3a1c2d4", "generate:31/1"
	json := "application/json"

	section = "session"
	add(SessionCreated{Format: Format, ID: "0197f3a1-c2d4-7e80-9a51-0242ac120002", Workspace: "/home/ann/calc", Program: "varve 0.1.0"})
	add(SessionRenamed{By: "model"}, text("Fix the division"))
	configured := SessionConfigured{
		Run: run, Compaction: Compaction{Mode: ptr("standalone"), Threshold: ptr(120000), Target: ptr(4000)},
		InputLimit: ptr(150000), OutputLimit: ptr(8192), MaxRequests: ptr(200), Summarizers: []Model{small}, Auto: []Model{agent, small},
		PermissionMode: "ask", DisabledTools: []string{"web_fetch"}, Cache: Cache{AnthropicTTL: "5m", OpenAIRetention: "24h"},
	}
	configured.Fingerprint = sha("settings")[:32]
	add(configured)
	add(ToolsDefined{API: agent.API, Names: Text{B: 0, MediaType: json}, Definitions: Text{B: 1, MediaType: json}, Tokens: est(61)},
		text(`["read","bash"]`), text(`[{"name":"read","description":"Reads a file.","input_schema":{"type":"object"}},{"name":"bash","description":"Runs a command.","input_schema":{"type":"object"}}]`))
	add(ToolsExtended{API: agent.API, Names: Text{B: 0, MediaType: json}, Definitions: Text{B: 1, MediaType: json}, Tokens: est(24)},
		text(`["mcp__issues__find"]`), text(`[{"name":"mcp__issues__find","description":"Finds issues.","input_schema":{"type":"object"}}]`))
	add(RunStarted{Run: run, PID: 4242, Host: "desk", Program: "varve 0.1.0", Interface: "tui"})
	add(RunEnded{Run: "0197f39fb001", How: "lost"})
	torn := `{"seq":7,"prev":"5d41`
	add(LogRepaired{Kind: "torn", From: 2391, To: 2391 + int64(len(torn)), SHA256: sha(torn), Line: 7})
	add(ToastPosted{Level: "warning", Code: "log.repaired", Args: map[string]string{"bytes": "21"}, About: 8, Actions: []string{"show"}})
	add(FaultRecorded{Where: "tools", Kind: "panic", Job: "tool:33.2"}, text("index out of range [3] with length 3"))
	add(SessionPurged{Removed: []Removed{{Seq: 7, SHA256: sha("a purged line")}}, Requests: []Seq{9}})

	section = "branch"
	created := add(BranchCreated{Name: "b2", From: Reference{Branch: MainBranch, Seq: 6, Select: "head"}, Purpose: "fork", Depth: 1, API: agent.API})
	all[len(all)-1].fact.Branch = "b2"
	add(BranchRenamed{}, text("with a table instead"))
	add(BranchDeleted{})
	add(BranchReverted{To: Reference{Branch: MainBranch, Seq: 6, Select: "before"}, Left: created, Label: "v1"}, text("what is 1/0 here?"))
	add(BranchRolledBack{Label: "v1", To: created, Left: 15})
	add(ModelChosen{Model: agent, Reasoning: "medium", By: "router", Skipped: []Skipped{{Model: small, Why: "window"}}})
	plan := add(PlanChanged{
		Items:     []PlanItem{{ID: "task-1", Status: "completed", Content: 0, ActiveForm: 1}, {ID: "task-2", Status: "in_progress", Content: 2, ActiveForm: 3}},
		AfterItem: &ItemID{}, NextID: 3, By: "model",
	}, text("Read calc.go"), text("Reading calc.go"), text("Guard the division"), text("Guarding the division"))
	add(PlanShown{Plan: plan, Tokens: est(13)}, text("[x] task-1 Read calc.go\n[>] task-2 Guard the division"))

	section = "turn"
	waits := add(InputQueued{Kind: "steer", Media: []Media{{Handle: handle("a picture"), B: 1}}, Tokens: est(7)}, text("use an error, no panic"), ref("image/png", "a picture"))
	add(InputEdited{Entry: waits, Tokens: est(8)}, text("return an error, never panic"))
	add(InputMoved{Entry: waits, Before: waits})
	gone := add(InputQueued{Kind: "queue", Tokens: est(3)}, text("then commit"))
	add(InputRemoved{Entry: gone})
	add(InputHeld{Entries: []Seq{waits}})
	turn := add(UserSaid{Via: "prompt", Text: &Text{}, Tokens: est(11)}, text("calc divides by zero.\nFix it, “gently” \u2028 please."))
	add(ShellRan{Exit: 1, DurationMS: 812, Tokens: est(9)}, text("$ go test ./...\nFAIL\tcalc"))
	add(UserSaid{Turn: turn, Via: "steer", Entry: waits, Tokens: est(8)})
	add(TurnCancelled{Turn: turn, By: "user"})
	add(TurnResumed{Turn: turn, Run: run})
	sent := add(RequestSent{
		Job: job, Purpose: "agent", Turn: turn, Attempt: 1, Model: agent, Endpoint: "https://api.example/v1", Reasoning: "medium",
		Revision: 28, Capacity: Capacity{N: 191808, Source: "reported"}, Occupancy: est(148), OutputLimit: 8192, SHA256: sha("a body"), Size: 912, Shared: 700,
		Broke:  &Break{Cause: "replacement", Item: Seq(26).Item()},
		Recipe: []Step{{L: ptr(0)}, {Seq: 26, As: "str"}, {L: ptr(1)}, {Seq: 21, As: "str"}, {L: ptr(2)}},
	}, text(`{"model":"a-model","max_tokens":8192,"stream":true,"messages":[{"role":"user","content":"`), text(`"},{"role":"user","content":"`), text(`"}]}`))
	reply := add(ReplyCompleted{
		Request: sent, Finish: "tool", RawFinish: "tool_use",
		Usage: &Usage{Input: 31, Cached: 120, CacheWrite: 16, Output: 44, Reasoning: 12, Cost: ptr(0.0019)},
		Parts: []ReplyPart{
			{Kind: "reasoning", B: 0, MediaType: json, Encoding: "anthropic-messages/message", Tokens: est(12)},
			{Kind: "assistant", B: 1, Tokens: est(8)},
			{Kind: "tool_call", B: 2, MediaType: json, Tokens: est(10), Call: &CallName{ID: "toolu_01", Name: "bash"}},
			{Kind: "tool_call", B: 3, MediaType: json, Tokens: est(10), Call: &CallName{ID: "toolu_02", Name: "read", Beside: true}},
			{Kind: "tool_call", B: 4, MediaType: json, Tokens: est(11), Call: &CallName{ID: "toolu_03", Name: "read", Beside: true}},
		},
	}, text(`{"type":"thinking","thinking":"A guard is enough.","signature":"c2ln"}`), text("I'll look first."), text(`{"command":"go test ./..."}`), text(`{"path":"calc.go"}`), text(`{"path":"screen.png"}`))
	call := ItemID{Seq: reply, Part: 3}
	add(ReplyRejected{
		Request: sent, Class: "stalled", RawFinish: "none",
		Error: &ProviderError{Kind: "context_length", Sub: "input", Status: 400, Limit: 200000, Used: 200148, NotBefore: "2026-11-30T12:00:20.000Z", Retry: true, Message: &Text{B: 1}},
		Usage: &Usage{Input: 31, Output: 6}, Kept: true, Text: &Text{B: 0}, Tokens: est(4),
	}, text("The guard goes"), text("no byte for 120 s"))
	add(WindowLearned{Model: agent, Endpoint: "https://api.example/v1", Role: "agent", Limit: 200000, Kind: "total", Source: "error", Dropped: true})
	add(EndpointLearned{Endpoint: "https://api.example/v1", Model: "a-model", Quirk: "stream_options", Value: "refused"})
	add(TurnEnded{Turn: turn, Status: "failed", Answer: ItemID{Seq: reply, Part: 2}, Error: &TurnError{Kind: "stalled", Hint: "try_again"}, Requests: 1})

	section = "tool"
	add(CallJudged{Call: call, Verdict: "ask", Rule: "bash(go *)", Effects: []string{"read", "exec"}, Beside: true, Paths: &Text{B: 0, MediaType: json}, ShownSHA256: sha("go test ./...")},
		text(`["/home/ann/calc"]`))
	asked := add(ApprovalRequested{Call: call, What: "command", ShownSHA256: sha("go test ./...")}, text("go test ./..."))
	add(ApprovalAnswered{Request: asked, Answer: "run", Rule: "bash(go test *)", Run: run, By: "user", Text: &Text{}}, text("tests only"))
	add(PermissionChanged{Mode: "edit", Rule: "bash(go test *)", Op: "mode", Scope: "run"})
	add(ToolStarted{Call: call, Run: run, Effects: []string{"read", "exec"}})
	add(ToolFinished{
		Call: call, IsError: true, Exit: ptr(2), Signal: "SIGPIPE", DurationMS: 1204, LeftOut: LeftOut{Bytes: 80000, Lines: 2100, Discarded: 512},
		Full: &Text{B: 1}, Media: []Media{{Handle: handle("a plot"), B: 2}}, Text: Text{B: 0}, Tokens: est(14),
	}, text("--- FAIL: TestDiv\n\x1b[31mpanic\x1b[0m: divide by zero\n"), ref("text/plain", strings.Repeat("ok\n", 40000)), ref("image/png", "a plot"))
	add(ToolInterrupted{Call: ItemID{Seq: reply, Part: 4}, Why: "user", Tokens: est(9)}, text("Interrupted by the user before it ended."))
	add(JobStarted{Call: call, Job: "job-1", PID: 4711})
	add(JobEnded{Job: "job-1", Exit: ptr(0), Why: "exited", Text: &Text{}}, Part{Bytes: []byte("caf\xe9 done\n")})
	add(HookRan{Hook: "fmt", On: "tool.finished", Exit: 1, Blocked: true, Text: &Text{}}, text("gofmt: calc.go:7"))
	add(ServerChanged{Server: "issues", State: "ready", Tools: 4, Text: &Text{}}, text("protocol 2025-11-25"))
	add(FileObserved{Path: "calc.go", SHA256: sha("before"), Size: 812, By: "tool"})
	add(FilesChanged{By: "tool", Call: call, N: 2, Changes: Text{B: 0, MediaType: json}},
		text(`[{"path":"calc.go","op":"modify","before":1,"after":2,"mode":420},{"path":"dump.bin","op":"create","mode":420,"missing_why":"larger than 50 MiB"}]`), ref("text/plain", "before"), ref("text/plain", "after"))
	planned := add(RestorePlanned{To: turn, UndoOf: 49, N: 2, Entries: Text{B: 0, MediaType: json}},
		text(`[{"path":"calc.go","want":1,"have":"`+sha("after")+`","act":"write"},{"path":"notes.md","have":"`+sha("mine")+`","act":"leave","why":"changed since"}]`), ref("text/plain", "before"))
	add(RestoreFinished{Plan: planned, Done: Text{B: 0, MediaType: json}, Failed: Text{B: 1, MediaType: json}}, text(`["calc.go"]`), text(`[]`))
	add(ToolFinished{Call: ItemID{Seq: reply, Part: 5}, DurationMS: 3, Media: []Media{{Handle: handle("a screenshot"), B: 1}}, Tokens: est(13)},
		text(handle("a screenshot")+" image/png, 640x480, 12 bytes"), ref("image/png", "a screenshot"))

	section = "context"
	add(InstructionPublished{Key: "20-project", Path: "AGENTS.md", Report: sha("assembly")[:32], Tokens: est(12)}, text("Run the tests before you answer."))
	add(InstructionWithdrawn{Key: "30-prompts/style.md"})
	add(AssemblyReported{Fingerprint: sha("assembly")[:32], N: 2, Omitted: 1, Sources: Text{B: 0, MediaType: json}},
		text(`[{"path":"AGENTS.md","key":"20-project","sha256":"`+sha("Run the tests before you answer.")+`","size":32,"outcome":"published"},{"path":"huge.md","key":"30-prompts/huge.md","size":900000,"outcome":"omitted","why":"over 64 Ki characters"}]`))
	old := add(CatalogPublished{Key: "skills", Title: Text{B: 0}, Supersedes: ItemID{}, Stale: true, Snapshot: Text{B: 1, MediaType: json}, Text: Text{B: 2}, Tokens: est(10)},
		text("Skills"), text(`[{"name":"release","path":".agents/skills/release/SKILL.md"}]`), text("release: how a release is made"))
	add(CatalogRefreshed{Item: old.Item(), Snapshot: Text{B: 0, MediaType: json}, Stale: true}, text(`[{"name":"release","path":".agents/skills/release/SKILL.md","size":811}]`))
	add(CatalogDropped{Item: old.Item()})
	result := Seq(42).Item()
	add(ItemMasked{Item: result, Call: call, Tokens: est(11)}, text("[result 42 is masked; its payload is kept]"))
	add(ItemReplaced{Item: result, Why: "redact", Tokens: est(7)}, text("[redacted by the user]"))
	add(ItemRemoved{Item: turn.Item(), Why: "empty"})
	add(MediaAdmitted{Handle: handle("a picture"), Media: Text{B: 0, MediaType: "image/png"}, Name: Text{B: 1}, Width: 1280, Height: 720, Pages: 1}, ref("image/png", "a picture"), text("plot.png"))
	add(MediaNoted{Items: []ItemID{turn.Item(), result}, Why: "budget"})

	section = "compaction"
	add(CompactionRequested{By: "user", Focus: &Text{}}, text("keep the failing test's name"))
	compaction := add(CompactionStarted{
		Reason: "manual", Mode: "standalone", Route: "map_reduce", Ranges: []Range{{From: turn.Item(), To: ItemID{Seq: reply, Part: 2}}}, Source: sha("26")[:32],
		Covers: est(211), BaseRevision: 61, Capacity: Capacity{N: 191808, Source: "reported"}, Trigger: 120000, Tail: 30000, Chain: []Model{small, agent}, Turn: turn,
	}, text("Write a handoff of the conversation above."))
	add(SummarizerTried{Compaction: compaction, I: 1, N: 2, Model: small, Outcome: "spent", Why: "context_length"})
	asks := sent
	add(HandoffRejected{Compaction: compaction, Request: asks, Why: "headings", Missing: []string{"Open work"}, Next: "again"})
	staging := add(StagingCreated{Version: 3, Compaction: compaction, Ranges: []Range{{From: turn.Item(), To: ItemID{Seq: reply, Part: 2}}}, Source: sha("26")[:32], N: 2, Segments: Text{B: 0, MediaType: json}, Target: 4000, Window: Capacity{N: 28672, Source: "setting"}},
		text(`[{"ordinal":0,"ranges":[{"from":"26","to":"27"}],"fingerprint":"`+sha("s0")[:32]+`","tokens":{"n":20,"by":"est"}},{"ordinal":1,"ranges":[{"from":"28","to":"32.2"}],"fingerprint":"`+sha("s1")[:32]+`","tokens":{"n":40,"by":"est"}}]`))
	add(StagingMapped{Staging: staging, Ordinal: 0, First: turn.Item(), Request: asks, Model: small, Tokens: est(7)}, text("The user reports a crash."))
	add(StagingRepartitioned{Staging: staging, Round: 1, Dropped: []int{1}, N: 1, Segments: Text{B: 0, MediaType: json}, Target: 2000, Window: &Capacity{N: 14336, Source: "learned"}},
		text(`[{"ordinal":2,"ranges":[{"from":"28","to":"32.2"}],"fingerprint":"`+sha("s2")[:32]+`","tokens":{"n":40,"by":"est"}}]`))
	add(StagingSequenced{Staging: staging, Missing: []int{2}, Why: "rate_limit"})
	add(StagingReread{Staging: staging, Level: 1, Group: 0, Ranges: []Range{{From: Seq(28).Item(), To: ItemID{Seq: reply, Part: 2}}}})
	reduced := add(StagingReduced{Staging: staging, Level: 1, Group: 0, Inputs: []int{0, 2}, Final: true, Request: asks, Tokens: est(9)}, text("## Goal\nGuard the division."))
	add(StagingAudited{Staging: staging, Candidate: reduced, Maps: []int{0, 2}, Pass: false, Request: asks, Text: &Text{}}, text("The failing test is not named."))
	add(StagingCorrected{Staging: staging, Round: 1, Request: asks, Tokens: est(12)}, text("## Goal\nGuard the division (TestDiv)."))
	add(StagingRenewed{Staging: staging, Model: agent, Budgets: []string{"repartition"}})
	add(StagingInvalidated{Of: staging, Why: "source_changed"})
	add(CheckpointCommitted{
		Compaction: compaction, Kind: "text", Ranges: []Range{{From: turn.Item(), To: ItemID{Seq: reply, Part: 2}}}, Fingerprints: Text{B: 1, MediaType: json},
		BaseRevision: 61, Replaces: Seq(11).Item(), Stale: []string{"calc.go"}, ToolsGone: []string{"mcp__issues__find"},
		Before: Tokens{N: 211, By: "provider"}, After: est(96), Text: Text{B: 0}, Tokens: est(12),
	}, text("## Goal\nGuard the division (TestDiv)."), text(`["`+sha("26")[:32]+`"]`))
	add(CompactionFailed{Compaction: compaction, Kind: "exhausted", Defers: true, Detail: &Text{}}, text("small: 429 too many requests"))

	section = "legacy"
	add(StagingSaved{Version: 2, Segments: []SavedSegment{{Ordinal: 0, Items: []Seq{26, 27}}}, Summaries: []Text{{B: 0}}}, text("The user reports a crash."))
	add(SplitSaved{Consumed: 2, Total: 5, Text: Text{B: 0}}, text("So far: a crash."))
	add(PlanChanged{Items: []PlanItem{{ID: "task-1", Status: "pending", Content: 0, ActiveForm: 1}}, NextID: 2, By: "model"}, text("Read calc.go"), text("Reading calc.go"))
	add(SessionConfigured{PermissionMode: "ask", Fingerprint: sha("old settings")[:32]})

	section = "export"
	add(ContentCarried{SHA256: sha("a picture"), Size: 9, At: 4, MissingWhy: "content is missing"}, text("cture"))
	add(SessionExported{Branch: MainBranch, Events: 83, SHA256: sha("all lines before")})
	return all
}
