package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"varve/internal/session"
)

// A server on this machine is asked once how much its model takes. The setting goes
// before what it says, and one that does not answer holds nothing up. // PRV-8, CMP-1, TUI-1
func TestWindowOfALocalServer(t *testing.T) {
	d := newTestDesk(t)
	var asked atomic.Int64
	gate := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/slow/") {
			<-gate
		}
		if !strings.HasSuffix(r.URL.Path, "/v1/models") {
			http.NotFound(w, r)
			return
		}
		asked.Add(1)
		fmt.Fprint(w, `{"object":"list","data":[{"id":"m","max_model_len":32768},{"id":"could","meta":{"n_ctx_train":131072}}]}`)
	}))
	defer srv.Close()
	set := func(limits string) {
		t.Helper()
		doc := fmt.Sprintf(`{"providers":{"mine":{"base_url":"%s/v1"%s},"slow":{"base_url":"%s/slow/v1"}}}`, srv.URL, limits, srv.URL)
		if err := os.WriteFile(d.m.settings().Path, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := d.m.reload(); err != nil {
			t.Fatal(err)
		}
	}
	takes := func(provider, model string) session.Capacity {
		t.Helper()
		to, err := d.m.resolve(t.Context(), session.Model{Provider: provider, API: "openai-chat", Model: model})
		if err != nil {
			t.Fatal(err)
		}
		return to.Window
	}
	set("")
	for range 3 {
		if w := takes("mine", "m"); w != (session.Capacity{N: 32768, Source: "reported"}) {
			t.Errorf("%+v", w)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	if w := takes("mine", "could"); w.N != 0 || w.Source != "none" {
		t.Errorf("what it was trained for: %+v", w)
	}
	if w := takes("slow", "m"); w.N != 0 {
		t.Errorf("%+v", w)
	}
	close(gate)
	d.m.windows.mu.Lock()
	q := d.m.windows.of[srv.URL+"/slow/v1 m"]
	d.m.windows.mu.Unlock()
	<-q.done
	if w := takes("slow", "m"); w.N != 32768 {
		t.Errorf("%+v", w)
	}
	n := asked.Load()
	set(`,"models":{"m":{"context_window":9000}}`)
	if w := takes("mine", "m"); w != (session.Capacity{N: 9000, Source: "setting"}) || asked.Load() != n {
		t.Errorf("%+v", w)
	}
}
