// Command vulndb asks govulncheck about the module in a folder, without a live service: the Go vulnerability database is
// itself a Go module (golang.org/x/vulndb), so the module proxy or the module cache has it, pinned like any dependency.
//
//	go run ./vulndb [-db VERSION] [-cache DIR] FOLDER
//
// A vulnerable function of a dependency that our code can reach fails. Other findings are listed: those of dependencies
// because nothing reaches them, those of the standard library because they are mended by a newer toolchain, not by us.
// Where the database cannot be had, that is said and nothing fails: a machine without a network must be able to check
// the rest.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// version is the day of the database. Ask for a newer one with -db latest, and pin what it answers here.
const version = "v0.0.0-20261105234957-e22db6528018"

func main() {
	db := flag.String("db", version, "version of golang.org/x/vulndb")
	cache := flag.String("cache", "", "folder that keeps the converted database")
	flag.Parse()
	if flag.NArg() != 1 || *cache == "" {
		fmt.Fprintln(os.Stderr, "usage: vulndb -cache DIR [-db VERSION] FOLDER")
		os.Exit(2)
	}
	if err := run(*db, *cache, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "vulndb:", err)
		os.Exit(1)
	}
}

func run(db, cache, folder string) error {
	src, got, err := download(db)
	if err != nil {
		fmt.Printf("vulnerabilities: NOT CHECKED, the database cannot be had (%v); run make setup where there is a network\n", err)
		return nil
	}
	index, err := filepath.Abs(filepath.Join(cache, "vulndb-"+got))
	if err != nil {
		return err
	}
	if _, err := os.Stat(index); errors.Is(err, os.ErrNotExist) {
		if err := convert(filepath.Join(src, "data", "osv"), index); err != nil {
			return fmt.Errorf("convert the database: %w", err)
		}
	}
	var stderr bytes.Buffer
	scan := exec.Command("go", "tool", "govulncheck", "-format=json", "-db=file://"+filepath.ToSlash(index), "-C="+folder, "./...")
	scan.Stderr = &stderr
	out, err := scan.Output()
	if err != nil {
		return fmt.Errorf("govulncheck: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	r, err := read(bytes.NewReader(out))
	if err != nil {
		return fmt.Errorf("read govulncheck's answer: %w", err)
	}
	fmt.Printf("vulnerabilities, by the database of %s:\n%s", got, r)
	if n := len(r.reached); n > 0 {
		return fmt.Errorf("%d reached in dependencies: raise their versions, or stop calling what is named", n)
	}
	return nil
}

// download gives the folder of the database module and its version.
func download(version string) (dir, got string, err error) {
	out, err := exec.Command("go", "mod", "download", "-json", "golang.org/x/vulndb@"+version).Output()
	var m struct{ Dir, Version, Error string }
	if jsonErr := json.Unmarshal(out, &m); jsonErr != nil {
		return "", "", errors.Join(err, jsonErr)
	}
	if m.Error != "" || m.Dir == "" {
		return "", "", errors.New(m.Error)
	}
	return m.Dir, m.Version, nil
}
