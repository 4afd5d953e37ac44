package main

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
)

// entry is what the index needs of one OSV report.
type entry struct {
	ID       string   `json:"id"`
	Modified string   `json:"modified"`
	Aliases  []string `json:"aliases"`
	Affected []struct {
		Package struct {
			Name string `json:"name"`
		} `json:"package"`
		Ranges []struct {
			Events []struct {
				Fixed string `json:"fixed"`
			} `json:"events"`
		} `json:"ranges"`
	} `json:"affected"`
}

type (
	// moduleRow and vulnRow are index/modules.json and index/vulns.json of https://go.dev/doc/security/vuln/database#api.
	moduleRow struct {
		Path  string       `json:"path"`
		Vulns []moduleVuln `json:"vulns"`
	}
	moduleVuln struct {
		ID       string `json:"id"`
		Modified string `json:"modified"`
		Fixed    string `json:"fixed,omitempty"`
	}
	vulnRow struct {
		ID       string   `json:"id"`
		Modified string   `json:"modified"`
		Aliases  []string `json:"aliases,omitempty"`
	}
)

// convert makes, from the reports in src, the folder that govulncheck reads: ID/<id>.json and three indexes. out is
// there whole or not at all.
func convert(src, out string) error {
	reports, err := filepath.Glob(filepath.Join(src, "*.json"))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(out), "vulndb-making-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	for _, dir := range []string{"ID", "index"} {
		if err := os.Mkdir(filepath.Join(tmp, dir), 0o755); err != nil {
			return err
		}
	}
	modules := map[string]map[string]moduleVuln{}
	var vulns []vulnRow
	var last string
	for _, report := range reports {
		b, err := os.ReadFile(report)
		if err != nil {
			return err
		}
		var e entry
		if err := json.Unmarshal(b, &e); err != nil {
			return &os.PathError{Op: "decode", Path: report, Err: err}
		}
		if err := os.WriteFile(filepath.Join(tmp, "ID", e.ID+".json"), b, 0o644); err != nil {
			return err
		}
		last = max(last, e.Modified)
		vulns = append(vulns, vulnRow{e.ID, e.Modified, e.Aliases})
		for _, a := range e.Affected {
			v := moduleVuln{ID: e.ID, Modified: e.Modified}
			for _, r := range a.Ranges {
				for _, ev := range r.Events {
					v.Fixed = cmp.Or(ev.Fixed, v.Fixed)
				}
			}
			if modules[a.Package.Name] == nil {
				modules[a.Package.Name] = map[string]moduleVuln{}
			}
			modules[a.Package.Name][e.ID] = v
		}
	}
	var rows []moduleRow
	for path, byID := range modules {
		row := moduleRow{Path: path}
		for _, v := range byID {
			row.Vulns = append(row.Vulns, v)
		}
		slices.SortFunc(row.Vulns, func(a, b moduleVuln) int { return cmp.Compare(a.ID, b.ID) })
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b moduleRow) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(vulns, func(a, b vulnRow) int { return cmp.Compare(a.ID, b.ID) })
	for name, v := range map[string]any{"db": map[string]string{"modified": last}, "modules": rows, "vulns": vulns} {
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(tmp, "index", name+".json"), b, 0o644); err != nil {
			return err
		}
	}
	return os.Rename(tmp, out)
}
