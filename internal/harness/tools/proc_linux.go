package tools

import (
	"bytes"
	"os"
	"strconv"
)

// survivors are the living processes of a group, and those that carry its mark in their environment (a command can
// leave its group by setsid, hardly its environment). Zombies are not alive. Reads all of /proc: a few milliseconds.
func survivors(mark string, group int) (pids []int) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	want := []byte(markName + "=" + mark + "\x00")
	self := os.Getpid()
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil || pid == self {
			continue
		}
		stat, err := os.ReadFile("/proc/" + n + "/stat")
		if err != nil {
			continue
		}
		// pid (name) state ppid pgrp ...: the name may hold anything, the last ")" ends it
		f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
		if len(f) < 3 || f[0][0] == 'Z' || f[0][0] == 'X' {
			continue
		}
		if string(f[2]) != strconv.Itoa(group) {
			env, err := os.ReadFile("/proc/" + n + "/environ")
			if err != nil || !bytes.Contains(env, want) {
				continue
			}
		}
		pids = append(pids, pid)
	}
	return pids
}
