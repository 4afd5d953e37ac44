package main

import (
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/internal/providers"
	"varve/internal/providers/openaichat"
	"varve/internal/session"
)

// A server whose certificate a private CA signed is reached with the CA's file, and
// not without it; a file that is none is said before anything is sent.
func TestPrivateCA(t *testing.T) { // CFG-3
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("here")) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // who does not trust it hangs up
	defer s.Close()
	d := newTestDesk(t)
	put := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(file string) (string, error) {
		t.Helper()
		put(d.m.settings().Path, `{"providers":{"inner":{"api":"openai-chat","base_url":"`+s.URL+`"}},"network":{"ca_file":"`+file+`"}}`)
		if err := d.m.reload(); err != nil {
			t.Fatal(err)
		}
		to, err := d.m.reach(t.Context(), session.Model{Provider: "inner", API: openaichat.API, Model: "m"})
		if err != nil {
			return "", err
		}
		b, e := providers.Get(t.Context(), to.Endpoint, s.URL, nil, 10*time.Second)
		if e != nil {
			return "", e
		}
		return string(b), nil
	}
	folder := filepath.Dir(d.m.settings().Path)
	put(filepath.Join(folder, "ca.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	put(filepath.Join(folder, "none.pem"), "no certificate\n")
	for _, c := range []struct{ file, got, refused string }{
		{"", "", "certificate"},
		{"ca.pem", "here", ""},
		{filepath.Join(folder, "ca.pem"), "here", ""},
		{"none.pem", "", "network.ca_file: certificates of a private CA: " + filepath.Join(folder, "none.pem") + " holds none in PEM"},
		{"gone.pem", "", "network.ca_file: "},
	} {
		got, err := ask(c.file)
		if got != c.got || (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%q: got %q and %v, want %q and %q", c.file, got, err, c.got, c.refused)
		}
	}
}
