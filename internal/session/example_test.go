package session_test

import (
	"fmt"

	"varve/internal/session"
)

// Three lines are a session: what they add up to is what the next request
// would carry.
func ExampleFold() {
	lines := []string{
		`{"seq":1,"prev":"00000000000000000000000000000000","branch":"main","at":"2026-11-30T12:00:00.000Z","type":"user.said","must":true,"data":{"via":"prompt","text":{"b":0},"tokens":{"n":4,"by":"est"}},"body":["what is 6 x 7?"]}`,
		`{"seq":2,"prev":"4f9c5e6dd42b91ad92bbbd6b1a0e5f0c","branch":"main","at":"2026-11-30T12:00:00.100Z","type":"request.sent","data":{"job":"generate:1/1","purpose":"agent","turn":1,"attempt":1,"model":{"provider":"local","api":"openai-chat","model":"m"},"endpoint":"http://127.0.0.1/v1","revision":1,"capacity":{"n":0,"source":"none"},"occupancy":{"n":4,"by":"est"},"sha256":"","size":0,"shared":0}}`,
		`{"seq":3,"prev":"d8bd8ba6bd3ee3e1d24cde6bd3a8c77e","branch":"main","at":"2026-11-30T12:00:01.000Z","type":"reply.completed","must":true,"data":{"request":2,"finish":"natural","parts":[{"kind":"assistant","b":0,"tokens":{"n":1,"by":"est"}}]},"body":["42"]}`,
	}
	fold := session.NewFold()
	texts := map[session.Seq]session.Entry{}
	for _, line := range lines {
		e, err := session.Decode([]byte(line))
		if err != nil {
			fmt.Println(err)
			return
		}
		if err := fold.Apply(e); err != nil {
			fmt.Println(err)
			return
		}
		texts[e.Seq] = e
	}
	state := fold.State(session.MainBranch)
	for item := range state.Branch.View.All {
		part, err := texts[item.At].Part(item.Text.B)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%v %s: %s\n", item.ID, item.Kind, part.Bytes)
	}
	fmt.Println("turn", state.Branch.Turn.ID, "has had", state.Branch.Turn.Requests, "request")
	// Output:
	// 1 user: what is 6 x 7?
	// 3 assistant: 42
	// turn 1 has had 1 request
}
