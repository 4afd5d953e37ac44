package house

// linked are the modules of others inside bin/agent, each with what it does for us. A module goes in here when writing
// the thing ourselves would be worse for the people who use Varve, and out when its last import goes.
var linked = map[string]string{
	"charm.land/bubbletea/v2":               "the interface's event loop",
	"charm.land/catwalk":                    "what vendors publish of their models: windows, prices, abilities (PRV-8)",
	"charm.land/lipgloss/v2":                "styles, and layers with hit tests",
	"github.com/alecthomas/chroma/v2":       "colours in code blocks",
	"github.com/aymanbagabas/go-udiff":      "unified diffs",
	"github.com/bmatcuk/doublestar/v4":      "globs with **",
	"github.com/charmbracelet/colorprofile": "what colours the terminal has",
	"github.com/charmbracelet/ultraviolet":  "cells and key decoding under Bubble Tea, and the painter's screen",
	"github.com/charmbracelet/x/ansi":       "width and cutting of styled text",
	"github.com/charmbracelet/x/term":       "raw mode and its end",
	"github.com/go-git/go-git/v5":           "its .gitignore matcher only",
	"github.com/go-json-experiment/json":    "encoding/json/v2 as the standard library will have it",
	"github.com/gofrs/flock":                "file locks that die with their process",
	"github.com/google/renameio/v2":         "files replaced whole or not at all",
	"github.com/google/uuid":                "session ids that sort by time",
	"github.com/sahilm/fuzzy":               "matching in pickers",
	"github.com/spf13/cobra":                "the command line",
	"github.com/spf13/viper":                "flags over environment over files, for reading settings",
	"github.com/tidwall/gjson":              "reading one key of setup.json where it stands",
	"github.com/tidwall/sjson":              "changing one key of setup.json and nothing else",
	"github.com/yuin/goldmark":              "parsing Markdown",
	"github.com/zalando/go-keyring":         "the keyring of the operating system (CLI-3)",
	"golang.org/x/sys":                      "fdatasync, process groups, terminals",

	"github.com/charmbracelet/x/etag":      "of catwalk",
	"github.com/charmbracelet/x/termios":   "of ultraviolet",
	"github.com/charmbracelet/x/windows":   "of x/ansi",
	"github.com/clipperhouse/displaywidth": "of x/ansi",
	"github.com/clipperhouse/uax29/v2":     "of displaywidth",
	"github.com/dlclark/regexp2/v2":        "of chroma",
	"github.com/fsnotify/fsnotify":         "of viper",
	"github.com/go-git/gcfg":               "of go-git",
	"github.com/go-git/go-billy/v5":        "of go-git",
	"github.com/go-viper/mapstructure/v2":  "of viper",
	"github.com/godbus/dbus/v5":            "of go-keyring, and plays its service in a test",
	"github.com/jbenet/go-context":         "of go-git",
	"github.com/lucasb-eyer/go-colorful":   "of lipgloss",
	"github.com/mattn/go-runewidth":        "of ultraviolet",
	"github.com/muesli/cancelreader":       "of bubbletea",
	"github.com/pelletier/go-toml/v2":      "of viper",
	"github.com/rivo/uniseg":               "of ultraviolet",
	"github.com/sagikazarmark/locafero":    "of viper",
	"github.com/sourcegraph/conc":          "of locafero",
	"github.com/spf13/afero":               "of viper",
	"github.com/spf13/cast":                "of viper",
	"github.com/spf13/pflag":               "of cobra",
	"github.com/subosito/gotenv":           "of viper",
	"github.com/tidwall/match":             "of gjson",
	"github.com/tidwall/pretty":            "of sjson",
	"github.com/xo/terminfo":               "of colorprofile",
	"go.yaml.in/yaml/v3":                   "of viper",
	"golang.org/x/net":                     "of go-billy",
	"golang.org/x/sync":                    "of ultraviolet",
	"golang.org/x/text":                    "of afero",
	"gopkg.in/warnings.v0":                 "of gcfg",
}

// beside are the modules that only tests and measurements use. None of them reaches a user.
var beside = map[string]string{
	"github.com/charmbracelet/x/vt":     "a terminal emulator that plays the user",
	"github.com/cockroachdb/datadriven": "script tests",
	"github.com/creack/pty":             "a terminal for end-to-end tests",
	"github.com/google/go-cmp":          "whole values compared",
	"github.com/rogpeppe/go-internal":   "testscript: end-to-end scripts",
	"go.uber.org/goleak":                "goroutines left behind",
	"pgregory.net/rapid":                "properties",

	"github.com/charmbracelet/x/exp/ordered": "of x/vt",
	"github.com/pmezard/go-difflib":          "of datadriven",
	"golang.org/x/tools":                     "of go-internal",
}

// licences say which texts may stand in the module cache beside what we use. Copyleft that ends at the file (MPL) may
// test us; it is not linked.
var licences = map[string]string{
	"MIT": "linked", "BSD": "linked", "ISC": "linked", "Apache-2.0": "linked",
	"MPL-2.0": "beside",
}
