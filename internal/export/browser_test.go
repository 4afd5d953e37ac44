package export

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// browser finds a Chromium without a window, or skips.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium-headless-shell", "headless_shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no Chromium here: make setup gets one")
	return ""
}

// A browser shows the page at both widths, light and dark: it draws something,
// complains about nothing, and asks nobody for anything. Hostile text is on it.
func TestPageInABrowser(t *testing.T) { // BRN-9, SEC-5
	chromium := browser(t)
	p := fixed(t)
	for _, evil := range hostile {
		p.says(evil)
		p.replies("", evil)
	}
	_, page := p.pages()
	dir := t.TempDir()
	path := filepath.Join(dir, "page.html")
	if err := os.WriteFile(path, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := listener(t)
	seen := map[string]bool{}
	for _, width := range []int{1200, 400} {
		for scheme, flag := range map[string]string{"light": "1", "dark": "0"} {
			shot := filepath.Join(dir, fmt.Sprint(scheme, width, ".png"))
			said := screenshot(t, chromium, dir, asked.address, width, flag, shot, path)
			if strings.Contains(said, "CONSOLE") {
				t.Errorf("%s, %d px: the browser says:\n%s", scheme, width, said)
			}
			b, err := os.ReadFile(shot)
			if err != nil {
				t.Fatalf("%s, %d px: no picture: %v\n%s", scheme, width, err, said)
			}
			img, err := png.Decode(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			colours := map[any]bool{}
			for y := 0; y < img.Bounds().Dy(); y += 3 {
				for x := 0; x < img.Bounds().Dx(); x += 3 {
					colours[img.At(x, y)] = true
				}
			}
			if len(colours) < 50 || seen[string(b)] {
				t.Errorf("%s, %d px: %d colours, or the same picture as another", scheme, width, len(colours))
			}
			seen[string(b)] = true
			if keep := os.Getenv("PICTURES"); keep != "" {
				if err := os.WriteFile(filepath.Join(keep, filepath.Base(shot)), b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if n := asked.n.Load(); n > 0 {
		t.Errorf("the page asked for %d things", n)
	}
	// The test sees what it is for: a page that does load and complain.
	bad := strings.Replace(page, "<main>", `<main><script>console.log("ran")</script><img src="http://evil.example/x.png">`, 1)
	policy := strings.Index(bad, "<meta http-equiv")
	open := bad[:policy] + bad[policy+strings.Index(bad[policy:], ">")+1:]
	for name, bad := range map[string]string{"bad.html": bad, "open.html": open} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		said := screenshot(t, chromium, dir, asked.address, 400, "1", filepath.Join(dir, "bad.png"), path)
		if !strings.Contains(said, "CONSOLE") || (name == "open.html") != (asked.n.Load() > 0) {
			t.Errorf("%s: %d things were asked for, the browser says:\n%s", name, asked.n.Load(), said)
		}
		asked.n.Store(0)
	}
}

type counter struct {
	address string
	n       atomic.Int32
}

// listener counts who connects: it is the browser's proxy, so whatever a page
// loads goes there.
func listener(t *testing.T) *counter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c := &counter{address: l.Addr().String()}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 512)
			n, _ := conn.Read(buf)
			if strings.Contains(string(buf[:n]), "evil.example") || strings.Contains(string(buf[:n]), "a.example") {
				c.n.Add(1) // the browser's own calls home are another matter
			}
			conn.Close()
		}
	}()
	return c
}

func screenshot(t *testing.T, chromium, dir, proxy string, width int, scheme, shot, path string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--enable-logging=stderr",
		"--user-data-dir=" + filepath.Join(dir, "profile"), "--proxy-server=http://" + proxy, "--blink-settings=preferredColorScheme=" + scheme,
		fmt.Sprintf("--window-size=%d,2400", width), "--screenshot=" + shot, "file://" + path,
	}
	out, err := exec.CommandContext(ctx, chromium, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return string(out)
}
