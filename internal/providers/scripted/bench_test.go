package scripted

import (
	"io"
	"strings"
	"testing"
)

func BenchmarkScenarios(b *testing.B) {
	for b.Loop() {
		if _, err := Scenarios(); err != nil {
			b.Fatal(err)
		}
	}
}

// 1,000 chunks over a real socket, flushed one by one and all at once.
func BenchmarkServe(b *testing.B) {
	for _, manual := range []bool{false, true} {
		name := "flush each"
		if manual {
			name = "flush once"
		}
		b.Run(name, func(b *testing.B) {
			s, cl := open(b, Options{Keep: 1})
			steps := []Step{AutoFlush(!manual)}
			for range 1000 {
				steps = append(steps, Text("word "))
			}
			rep, err := Compile(OpenAIChat, append(steps, Finish("stop"), Done())...)
			if err != nil {
				b.Fatal(err)
			}
			s.Handle(func(Request) Reply { return rep })
			b.ReportAllocs()
			for b.Loop() {
				resp, err := cl.Post(s.URL()+"/v1/chat/completions", "application/json", strings.NewReader(hello))
				if err != nil {
					b.Fatal(err)
				}
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
