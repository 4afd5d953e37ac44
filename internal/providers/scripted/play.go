package scripted

import (
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// play sends a program. It returns how it ended: opClean, opDirty, opReset, or opHang when the client went first.
func (s *Server) play(w http.ResponseWriter, r *http.Request, req *Request, p *program) opCode {
	s.head(w, req, p)
	if p.body != nil {
		body := p.body
		if strings.Contains(string(body), "{url}") || strings.Contains(string(body), "{unix") {
			body = []byte(s.fill(string(body)))
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.WriteHeader(req.Status)
		if _, err := w.Write(body); err != nil {
			return opHang
		}
		if len(p.ops) == 0 {
			return opClean
		}
	} else if req.Status != http.StatusOK {
		w.WriteHeader(req.Status)
	}
	pl := player{s: s, w: w, r: r, touched: p.body != nil, skipUsage: s.vendorWaitsForUsage() && !gjson.GetBytes(req.Body, "stream_options.include_usage").Bool()}
	pl.f, _ = w.(http.Flusher)
	end := pl.run(p.ops)
	switch end {
	case opReset:
		if c, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			if t, ok := c.(interface{ NetConn() net.Conn }); ok {
				c = t.NetConn()
			}
			if t, ok := c.(*net.TCPConn); ok {
				_ = t.SetLinger(0) // the close that follows becomes a reset
			}
		}
	case opWrite: // ran to its last step
		end = opClean
	}
	return end
}

func (s *Server) vendorWaitsForUsage() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.vendor.usageOnRequest && !s.opts.Lenient
}

// head sets the response headers and the status that will be written.
func (s *Server) head(w http.ResponseWriter, req *Request, p *program) {
	status := p.status
	if status == 0 {
		status = http.StatusOK
	}
	s.mu.Lock()
	req.Status = status
	s.mu.Unlock()
	h := w.Header()
	switch {
	case p.body == nil && status == http.StatusOK && req.Kind != "":
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-cache")
	case len(p.body) > 0 && (p.body[0] == '{' || p.body[0] == '['):
		h.Set("Content-Type", "application/json")
	case len(p.body) == 0:
		h["Content-Type"] = nil // no sniffing
	}
	for _, kv := range p.header {
		v := kv[1]
		if strings.IndexByte(v, '{') >= 0 {
			v = s.fill(v)
		}
		if v == "" {
			h[kv[0]] = nil
			continue
		}
		h.Set(kv[0], v)
	}
	if h.Get("Content-Encoding") == "gzip" && h.Get("Content-Type") == "" {
		h.Set("Content-Type", "application/json")
	}
}

// fill replaces {url}, {other} (the same server under the name localhost), {date+7s} (an HTTP date), {unix+7s} and
// {unixms+7s}, the times counted from the server's clock.
func (s *Server) fill(v string) string {
	v = strings.ReplaceAll(v, "{url}", s.url)
	v = strings.ReplaceAll(v, "{other}", strings.Replace(s.url, "127.0.0.1", "localhost", 1))
	for _, name := range []string{"{date", "{unixms", "{unix"} {
		for {
			i := strings.Index(v, name)
			if i < 0 {
				break
			}
			n := strings.IndexByte(v[i:], '}')
			if n < 0 {
				break
			}
			d, err := time.ParseDuration(strings.TrimPrefix(v[i+len(name):i+n], "+"))
			if err != nil {
				break
			}
			t := s.clock.Now().Add(d)
			var text string
			switch name {
			case "{date":
				text = t.UTC().Format(http.TimeFormat)
			case "{unixms":
				text = strconv.FormatInt(t.UnixMilli(), 10)
			default:
				text = strconv.FormatInt(t.Unix(), 10)
			}
			v = v[:i] + text + v[i+n+1:]
		}
	}
	return v
}

// A player runs the ops of one reply on one connection.
type player struct {
	s         *Server
	w         http.ResponseWriter
	f         http.Flusher
	r         *http.Request
	skipUsage bool
	touched   bool // something was written or flushed: the client sees headers
}

// run plays ops. opWrite means that all of them were played.
func (pl *player) run(ops []op) opCode {
	gone := pl.r.Context().Done()
	for i := range ops {
		o := &ops[i]
		switch o.code {
		case opWrite, opSplit, opFill:
			if o.usage && pl.skipUsage {
				continue
			}
			pl.touched = true
			if !pl.write(o) {
				return opHang
			}
		case opFlush:
			pl.touched = true
			pl.f.Flush()
		case opSleep:
			select {
			case <-pl.s.clock.After(o.d):
			case <-gone:
				return opHang
			}
		case opWait:
			select {
			case <-o.wait:
			case <-gone:
				return opHang
			}
		case opHang:
			<-gone
			return opHang
		case opClean:
			return opClean
		case opDirty, opReset:
			if pl.touched {
				pl.f.Flush()
			}
			return o.code
		case opLoop:
			for n := 0; o.n == 0 || n < o.n; n++ {
				if end := pl.run(o.body); end != opWrite {
					return end
				}
				if pl.r.Context().Err() != nil {
					return opHang
				}
			}
		}
	}
	return opWrite
}

// write sends the bytes of one op; false means that the client has gone.
func (pl *player) write(o *op) bool {
	switch o.code {
	case opFill:
		return pl.fillWrite(o)
	case opSplit:
		b, from := o.b, 0
		for i := 0; len(b) > 0; i++ {
			n := o.n
			if o.cuts != nil {
				n = len(b)
				if i < len(o.cuts) {
					n = o.cuts[i] - from
				}
			}
			n = max(1, min(n, len(b)))
			if _, err := pl.w.Write(b[:n]); err != nil {
				return false
			}
			pl.f.Flush()
			from += n
			b = b[n:]
		}
		return true
	}
	if _, err := pl.w.Write(o.b); err != nil {
		return false
	}
	if o.flush {
		pl.f.Flush()
	}
	return true
}

// fillWrite repeats o.b in blocks of about 32 KiB.
func (pl *player) fillWrite(o *op) bool {
	if len(o.b) == 0 {
		return true
	}
	per := max(1, (32<<10)/len(o.b))
	block := []byte(strings.Repeat(string(o.b), min(per, o.n)))
	for left := o.n; left > 0; left -= per {
		if left < per {
			block = block[:left*len(o.b)]
		}
		if _, err := pl.w.Write(block); err != nil {
			return false
		}
	}
	if o.flush {
		pl.f.Flush()
	}
	return true
}
