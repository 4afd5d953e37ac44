package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/creack/pty"
)

// A purge goes on when a person says so in a terminal, or the command line did; anything else stops it. // RPR-2
func TestPurgeAsks(t *testing.T) {
	ask := func(answer string) (string, error) {
		host, tty, err := pty.Open()
		if err != nil {
			t.Skip("no terminals here:", err)
		}
		defer host.Close()
		defer tty.Close()
		if _, err := host.WriteString(answer); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		p := purge{e: &env{in: tty, err: &said}}
		err = p.agreed()
		return said.String(), err
	}
	if said, err := ask("purge\n"); err != nil || !strings.Contains(said, "can't be taken back") {
		t.Errorf("%q %v", said, err)
	}
	for _, answer := range []string{"y\n", "\n", "purge it\n", "\x04"} {
		if _, err := ask(answer); err == nil {
			t.Errorf("%q was taken for a yes", answer)
		}
	}
	p := purge{e: &env{in: strings.NewReader("purge\n")}}
	if err := p.agreed(); err == nil {
		t.Error("nobody was asked")
	}
	p.yes = true
	if err := p.agreed(); err != nil {
		t.Error(err)
	}
}
