package setup

import (
	"strings"
	"testing"
)

// Every key has its default, what may stand there and what it is; and a key that is
// none is near one. // CFG-1, CLI-1
func TestKeys(t *testing.T) {
	var all []string
	for _, k := range Keys() {
		if k.Key == "" || k.Default == "" || k.Values == "" {
			t.Errorf("%+v", k)
		}
		all = append(all, k.Key+" "+k.Default+" "+k.Values)
	}
	text := strings.Join(all, "\n") + "\n"
	for _, want := range []string{
		"context.compaction.threshold_tokens null 1 to 100000000, null\n", "permissions.allow [] a list of texts\n", "appearance.mouse true true, false\n",
		"routing.summarization_models [] a list of {", "providers.PROVIDER.api none openai-responses, openai-chat,", "providers.PROVIDER.models.MODEL.context_window none 1 to ",
		"providers.PROVIDER.headers.HEADER none text\n", "mcp.servers none an object\n", "appearance.keys.ACTION none text or a list of texts\n", "appearance.themes.THEME.ROLE none text\n",
		"network.ca_file \"\" text\n", "hooks none an object\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, c := range (&Setup{}).scalars() {
		if strings.Count(text, c.path+" ") != 1 {
			t.Errorf("%s is not there once", c.path)
		}
	}
	for key, want := range map[string]string{
		"modle.model": "model.model", "threshold_tokens": "context.compaction.threshold_tokens", "compaction.threshold_tokens": "context.compaction.threshold_tokens",
		"context.threshold_tokens": "context.compaction.threshold_tokens", "providers.acme.base_ulr": "providers.acme.base_url", "permissions.allowed": "permissions.allow",
		"xyzzy": "", "": "",
	} {
		if got := Nearest(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}
