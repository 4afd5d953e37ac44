package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"varve/internal/providers/scripted"
)

// Patience is the stall timeout that suits a puppet: people read, think and
// have lunch before they answer.
const Patience = 7 * 24 * time.Hour

// A Puppet lets a person play the model. Each request becomes a page in Dir,
// request-001.md; the reply is a page that the person writes, reply-001.md,
// and that ends with a line "@send". What is wrong with a reply stands in
// error-001.md until it is corrected. docs/puppet.md tells it.
type Puppet struct {
	Dir   string
	Say   func(string)  // is told, in one line, where a page waits and what is wrong with a reply; may be nil
	Every time.Duration // how often the folder is looked at; 0 is 50 ms

	mu sync.Mutex // one page number at a time
}

// unsentAfter is how many looks a reply without "@send" may stay unchanged
// before its writer is told that it is waited for.
const unsentAfter = 100

// Handle writes the page of a request and waits for its reply, until the
// client goes. It is a [scripted.Handler].
func (p *Puppet) Handle(r scripted.Request) scripted.Reply {
	n, early, err := p.put(r)
	if err != nil {
		return refusal("the page can't be written: " + err.Error())
	}
	name := p.path("reply", n)
	p.say("request %d waits in %s; answer in %s", n, p.path("request", n), name)
	every := p.Every
	if every <= 0 {
		every = 50 * time.Millisecond
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	was, same, told := "", 0, ""
	tell := func(what string) {
		if what == told {
			return
		}
		told = what
		_ = os.WriteFile(p.path("error", n), []byte(what+"\n"), 0o600) // Say has it too
		p.say("%s: %s", filepath.Base(name), strings.ReplaceAll(what, "\n", " "))
	}
	const again = "\nSave the page again when it is corrected."
	for {
		b, err := os.ReadFile(name)
		text := string(b)
		if same++; text != was {
			was, same = text, 0
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			tell("it can't be read: " + err.Error())
		case early != "" && stamp(name) == early:
			tell(fmt.Sprintf("it was there before its request. Read request-%03d.md, then write it anew.", n))
		default:
			rep, sent, err := readReply(text, toolsOf(r))
			switch {
			case sent && err == nil:
				_ = os.Remove(p.path("error", n)) // where there was none there is nothing to remove
				return scripted.Reply{Steps: append(rep.steps(n), ending(r, rep.finish, rep.chars())...)}
			case sent:
				tell(err.Error() + again)
			case same >= unsentAfter && err != nil:
				tell(err.Error() + "\nAnd its last line has to be @send.")
			case same >= unsentAfter:
				tell("it is not sent yet: its last line has to be @send.")
			}
		}
		select {
		case <-r.Context().Done():
			tell("nobody waits for this reply any more: the request was cancelled. A newer request has a page of its own.")
			return scripted.Reply{}
		case <-tick.C:
		}
	}
}

func (p *Puppet) say(format string, args ...any) {
	if p.Say != nil {
		p.Say(fmt.Sprintf(format, args...))
	}
}

func (p *Puppet) path(kind string, n int) string {
	return filepath.Join(p.Dir, fmt.Sprintf("%s-%03d.md", kind, n))
}

// put writes a request's page under the next number. The page appears whole.
// Early is the stamp of a reply that was there before: nobody can have read
// what it answers.
func (p *Puppet) put(r scripted.Request) (n int, early string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entries, err := os.ReadDir(p.Dir)
	if err != nil {
		return 0, "", err
	}
	for _, e := range entries {
		var k int
		if _, err := fmt.Sscanf(e.Name(), "request-%d.md", &k); err == nil {
			n = max(n, k)
		}
	}
	n++
	name := p.path("request", n)
	if err := os.WriteFile(name+".part", []byte(page(r, n)), 0o600); err != nil {
		return 0, "", err
	}
	early = stamp(p.path("reply", n))
	return n, early, os.Rename(name+".part", name)
}

// stamp tells two versions of a file apart; "" where there is none.
func stamp(name string) string {
	fi, err := os.Stat(name)
	if err != nil {
		return ""
	}
	return fmt.Sprint(fi.ModTime().UnixNano(), " ", fi.Size())
}

func refusal(text string) scripted.Reply {
	b, err := scripted.JSONBody(map[string]any{"error": map[string]any{"message": text, "type": "puppet", "code": nil, "param": nil}})
	if err != nil {
		panic("demo: internal error: " + err.Error())
	}
	return scripted.Reply{Steps: []scripted.Step{scripted.Status(400), b}}
}
