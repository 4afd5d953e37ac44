package setup

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
)

// service plays the Secret Service, as far as a client of one collection needs it
// (specifications.freedesktop.org/secret-service: Service, Collection, Item, Session).
type service struct {
	attributes map[string]string
	secret     secret
}

type secret struct {
	Session     dbus.ObjectPath
	Parameters  []byte
	Value       []byte
	ContentType string
}

const (
	secrets    = "org.freedesktop.secrets"
	servicePth = dbus.ObjectPath("/org/freedesktop/secrets")
	login      = dbus.ObjectPath("/org/freedesktop/secrets/collection/login")
	item       = dbus.ObjectPath("/org/freedesktop/secrets/collection/login/1")
	none       = dbus.ObjectPath("/")
)

type (
	serviceFace    struct{ *service }
	collectionFace struct{ *service }
	itemFace       struct{ *service }
	sessionFace    struct{ *service }
	propertiesFace struct{ *service }
)

func (serviceFace) OpenSession(algorithm string, _ dbus.Variant) (dbus.Variant, dbus.ObjectPath, *dbus.Error) {
	return dbus.MakeVariant(""), servicePth + "/session/1", nil
}

func (serviceFace) Unlock(paths []dbus.ObjectPath) ([]dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	return paths, none, nil
}

func (f collectionFace) CreateItem(properties map[string]dbus.Variant, s secret, _ bool) (dbus.ObjectPath, dbus.ObjectPath, *dbus.Error) {
	f.attributes = map[string]string{}
	_ = properties["org.freedesktop.Secret.Item.Attributes"].Store(&f.attributes)
	f.service.secret = s
	return item, none, nil
}

func (f collectionFace) SearchItems(want map[string]string) ([]dbus.ObjectPath, *dbus.Error) {
	for k, v := range want {
		if f.attributes[k] != v {
			return nil, nil
		}
	}
	return []dbus.ObjectPath{item}, nil
}

func (f itemFace) GetSecret(dbus.ObjectPath) (secret, *dbus.Error) { return f.secret, nil }

func (f itemFace) Delete() (dbus.ObjectPath, *dbus.Error) {
	f.attributes = nil
	return none, nil
}

func (sessionFace) Close() *dbus.Error { return nil }

func (propertiesFace) Get(face, name string) (dbus.Variant, *dbus.Error) {
	return dbus.MakeVariant([]dbus.ObjectPath{login}), nil
}

// The real library, over a real bus, to a service that is played here.
func TestTheSecretService(t *testing.T) { // CLI-3
	daemon, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("dbus-daemon is not installed")
	}
	t.Setenv("VARVE_KEYRING", "")
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	if OSKeyring() != nil {
		t.Error("no bus runs, and asking for one would start it")
	}
	bus := exec.Command(daemon, "--session", "--nofork", "--print-address", "--address=unix:path="+filepath.Join(t.TempDir(), "bus"))
	out, err := bus.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := bus.Start(); err != nil {
		t.Skip("no session bus can be started here:", err)
	}
	t.Cleanup(func() {
		_ = bus.Process.Kill()
		_ = bus.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal("the bus does not say its address:", err)
	}
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", strings.TrimSpace(address))
	conn, err := dbus.ConnectSessionBus()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	played := &service{}
	for _, o := range []struct {
		it   any
		at   dbus.ObjectPath
		face string
	}{
		{serviceFace{played}, servicePth, "org.freedesktop.Secret.Service"},
		{propertiesFace{played}, servicePth, "org.freedesktop.DBus.Properties"},
		{collectionFace{played}, login, "org.freedesktop.Secret.Collection"},
		{itemFace{played}, item, "org.freedesktop.Secret.Item"},
		{sessionFace{played}, servicePth + "/session/1", "org.freedesktop.Secret.Session"},
	} {
		if err := conn.Export(o.it, o.at, o.face); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.RequestName(secrets, dbus.NameFlagDoNotQueue); err != nil {
		t.Fatal(err)
	}
	written(t, `{}`)
	s, err := Load(Options{Keyring: OSKeyring()})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.StoreKey(t.Context(), "openai", "sk-ünï"); err != nil {
		t.Fatal(err)
	}
	if string(played.secret.Value) != "sk-ünï" || played.attributes["service"] != "varve" || played.attributes["username"] != "openai" {
		t.Errorf("the service has %q under %v", played.secret.Value, played.attributes)
	}
	key, err := s.ResolveKey(t.Context(), "openai")
	if err != nil || string(key.Secret) != "sk-ünï" || key.From != "keyring" {
		t.Error(string(key.Secret), key.From, err)
	}
	if err := s.ForgetKey(t.Context(), "openai"); err != nil || played.attributes != nil {
		t.Error(err, played.attributes)
	}
}
