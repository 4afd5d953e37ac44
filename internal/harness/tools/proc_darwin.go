package tools

import "golang.org/x/sys/unix"

// survivors are the living processes of a group. The environment of others can't be read here: what leaves the group
// by setsid is known only by the pipe it holds.
func survivors(_ string, group int) (pids []int) {
	ps, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	if err != nil {
		return nil
	}
	const zombie = 5 // SZOMB, sys/proc.h
	for _, p := range ps {
		if p.Proc.P_stat != zombie {
			pids = append(pids, int(p.Proc.P_pid))
		}
	}
	return pids
}
