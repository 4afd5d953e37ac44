package scripted

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Parse reads the scenarios of one file. An error is a *ParseError.
func Parse(file, src string) ([]Scenario, error) {
	ls, n, err := lines(src)
	if err != nil {
		return nil, &ParseError{file, n, err.Error()}
	}
	p := parser{file: file}
	for _, ln := range ls {
		n = ln.n
		if err := p.line(ln); err != nil {
			return nil, &ParseError{file, ln.n, err.Error()}
		}
	}
	if err := p.flush(); err != nil {
		return nil, &ParseError{file, n, err.Error()}
	}
	return p.out, nil
}

// A parser holds the scenario being read and where steps go at the moment.
type parser struct {
	file  string
	out   []Scenario
	cur   *Scenario
	block *Block
	route *Route
	loops []Step // open loops, outermost first
}

func (p *parser) line(ln line) error {
	switch ln.verb {
	case "scenario":
		return p.scenario(ln)
	case "reply", "on":
		if p.cur == nil {
			return fmt.Errorf("%s stands before any scenario", ln.verb)
		}
		if err := p.flush(); err != nil {
			return err
		}
		if ln.verb == "on" {
			return p.on(ln)
		}
		return p.reply(ln)
	}
	if p.cur == nil {
		return fmt.Errorf("%s stands before any scenario", ln.verb)
	}
	if p.block == nil && p.route == nil {
		return p.head(ln)
	}
	if p.block != nil {
		switch ln.verb {
		case "ask", "result", "switch":
			in := Input{Verb: ln.verb}
			if len(ln.words) > 0 {
				in.Text = ln.words[0].val
			}
			p.block.Input = append(p.block.Input, in)
			return nil
		case "request":
			c, err := parseCheck(ln)
			p.block.Checks = append(p.block.Checks, c)
			return err
		case "expect":
			return p.block.Expect.expectLine(ln.words)
		}
	}
	return p.step(ln)
}

// flush moves the open block or route into the scenario, and checks that its loops are closed.
func (p *parser) flush() error {
	if len(p.loops) > 0 {
		return fmt.Errorf("a loop has no end line")
	}
	switch {
	case p.block != nil:
		p.cur.Script = append(p.cur.Script, *p.block)
	case p.route != nil:
		p.cur.Routes = append(p.cur.Routes, *p.route)
	}
	p.block, p.route = nil, nil
	return nil
}

func (p *parser) scenario(ln line) error {
	if p.cur != nil {
		if err := p.flush(); err != nil {
			return err
		}
	}
	if len(ln.words) != 2 || !ln.words[1].quoted {
		return fmt.Errorf(`scenario ID "sentence"`)
	}
	p.out = append(p.out, Scenario{
		ID: ln.words[0].val, Title: ln.words[1].val, File: p.file, Line: ln.n,
		Kind: OpenAIChat, Vendor: "generic", Given: Given{}, Run: Run{},
	})
	p.cur = &p.out[len(p.out)-1]
	return nil
}

// head reads the lines between a scenario line and its first reply.
func (p *parser) head(ln line) error {
	switch ln.verb {
	case "kind":
		p.cur.Kind = Kind(ln.rest)
	case "tag":
		p.cur.Tags = append(p.cur.Tags, strings.Fields(ln.rest)...)
	case "given":
		return pairs(p.cur.Given, "given", givenKeys, ln.words)
	case "run":
		return pairs(p.cur.Run, "run", runKeys, ln.words)
	case "vendor":
		return p.vendor(ln.words)
	default:
		return fmt.Errorf("%s: expected vendor, given, run, tag, kind, reply or on", ln.verb)
	}
	return nil
}

func (p *parser) vendor(ws []word) error {
	if len(ws) == 0 {
		return fmt.Errorf("vendor NAME [window=N] [key=K] [lenient]")
	}
	p.cur.Vendor = ws[0].val
	if _, ok := vendorNamed(ws[0].val); !ok {
		return fmt.Errorf("vendor %s: unknown; use one of %s", ws[0].val, strings.Join(Vendors(), " "))
	}
	for _, w := range ws[1:] {
		switch {
		case w.key == "window":
			n, err := strconv.Atoi(w.val)
			if err != nil {
				return fmt.Errorf("vendor window=%s: not a number of tokens", w.val)
			}
			p.cur.Window = n
		case w.key == "key":
			p.cur.Key = w.val
		case w.key == "" && w.val == "lenient":
			p.cur.Lenient = true
		default:
			return fmt.Errorf("vendor: unknown word %s%s", w.key, w.val)
		}
	}
	return nil
}

func (p *parser) reply(ln line) error {
	b := &Block{Line: ln.n}
	p.block = b
	ws := ln.words
	switch {
	case len(ws) == 1 && ws[0].val == "*":
	case len(ws) == 2 && ws[0].val == "when" && ws[1].quoted && ws[1].val != "":
		b.When = ws[1].val
	case len(ws) == 1:
		n, err := strconv.Atoi(ws[0].val)
		if err != nil || n < 1 {
			return fmt.Errorf("reply %s: not a request number", ws[0].val)
		}
		b.N = n
	default:
		return fmt.Errorf(`reply N, reply * or reply when "text"`)
	}
	return nil
}

func (p *parser) on(ln line) error {
	if len(ln.words) != 2 || !strings.HasPrefix(ln.words[1].val, "/") {
		return fmt.Errorf("on METHOD /path")
	}
	p.route = &Route{Line: ln.n, Method: ln.words[0].val, Path: ln.words[1].val}
	return nil
}

// step reads one step into the innermost open list.
func (p *parser) step(ln line) error {
	var st Step
	var err error
	switch {
	case ln.verb == "end" && len(p.loops) > 0:
		st, p.loops = p.loops[len(p.loops)-1], p.loops[:len(p.loops)-1]
	case ln.verb == "loop":
		n := 0
		if ln.rest != "" {
			if n, err = strconv.Atoi(ln.rest); err != nil {
				return fmt.Errorf("loop %s: not a count", ln.rest)
			}
		}
		p.loops = append(p.loops, Loop(n))
		return nil
	default:
		if st, err = parseStep(ln); err != nil {
			return err
		}
	}
	switch {
	case len(p.loops) > 0:
		top := &p.loops[len(p.loops)-1]
		top.body = append(top.body, st)
	case p.block != nil:
		p.block.Steps = append(p.block.Steps, st)
	default:
		p.route.Steps = append(p.route.Steps, st)
	}
	return nil
}

func parseStep(ln line) (Step, error) {
	a := args{ln: ln}
	var st Step
	switch ln.verb {
	case "role":
		st = Role()
	case "text":
		st = Text(a.all()...)
	case "reasoning":
		st = Reasoning(a.opt("field", ""), a.all()...)
	case "refusal":
		st = Refusal(a.next())
	case "call":
		st = Call(a.optInt("index", -1), "", a.next(), a.next(), a.optInt("pieces", 1))
		st.t = a.opt("id", "call_"+st.s)
		if st.m >= 0 && a.opt("id", "") == "" {
			st.t += strconv.Itoa(st.m)
		}
	case "finish":
		st = Finish(a.next())
	case "usage":
		st = UsageStep(Usage{
			Prompt: int64(a.optInt("prompt", 0)), Output: int64(a.optInt("output", 0)),
			Cached: int64(a.optInt("cached", 0)), CacheWrite: int64(a.optInt("write", 0)), Reasoning: int64(a.optInt("reasoning", 0)),
		})
	case "done":
		st = Done()
	case "delta":
		st = Delta(a.next(), a.opt("finish", ""))
	case "chunk":
		st = Chunk(a.next())
	case "event":
		st = Event(a.next(), a.next())
	case "raw":
		st = Raw([]byte(a.next()))
	case "fill":
		st = Fill(a.nextInt(), nil)
		st.b = []byte(a.next())
	case "ends":
		st = Ends(a.next())
		if st.s != "lf" && st.s != "crlf" && st.s != "cr" {
			return st, fmt.Errorf("ends %s: use lf, crlf or cr", st.s)
		}
	case "split":
		return a.split()
	case "pace":
		s := a.next()
		n, err := strconv.Atoi(strings.TrimSuffix(s, "tok/s"))
		if err != nil && s != "off" {
			return st, fmt.Errorf("pace %s: use pace 200tok/s or pace off", s)
		}
		st = Pace(n)
	case "sleep":
		d, err := time.ParseDuration(a.next())
		if err != nil {
			return st, fmt.Errorf("sleep: %w", err)
		}
		st = Sleep(d)
	case "flush":
		switch ln.rest {
		case "":
			st = Flush()
		case "auto", "off":
			st = AutoFlush(a.next() == "auto")
		default:
			return st, fmt.Errorf("flush %s: use flush, flush auto or flush off", ln.rest)
		}
	case "close":
		st = Step{verb: vClose, s: a.next()}
		if st.s != "clean" && st.s != "dirty" && st.s != "reset" {
			return st, fmt.Errorf("close %s: use clean, dirty or reset", st.s)
		}
	case "status":
		st = Status(a.nextInt())
	case "header":
		name, value, ok := strings.Cut(ln.rest, ":")
		if !ok {
			return st, fmt.Errorf("header NAME: value")
		}
		return Header(strings.TrimSpace(name), strings.TrimSpace(value)), nil
	case "body":
		st = Body([]byte(a.next()))
	case "gzip":
		st = Gzip()
	case "hang":
		st = Hang()
	default:
		return st, fmt.Errorf("%s is not a step", ln.verb)
	}
	return st, a.finish()
}
