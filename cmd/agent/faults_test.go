package main

import (
	"bytes"
	"testing"
)

// What faults that were planted by hand showed to be held by no test.

// Printed JSON is for people too: it is not written for a web page.
func TestJSONIsPlain(t *testing.T) { // RUN-1
	var b bytes.Buffer
	printJSON(&b, map[string]string{"text": "if a < b && c > d"})
	if got := b.String(); got != "{\"text\":\"if a < b && c > d\"}\n" {
		t.Errorf("%s", got)
	}
}

func TestSecretPaths(t *testing.T) { // SEC-2
	for key, secret := range map[string]bool{
		"providers.acme.api_key": true, "providers.acme.headers.x-auth": true, "providers.acme.headers.Authorization": true,
		"providers.acme.base_url": false, "model.model": false, "headers": false, "": false,
	} {
		if got := secretPath(key); got != secret {
			t.Errorf("%q: %v", key, got)
		}
		if got := shownValue(key, []byte(`"sk-1"`)); (got == "•••") != secret {
			t.Errorf("%q is shown as %s", key, got)
		}
	}
}
