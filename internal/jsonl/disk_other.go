//go:build !linux

package jsonl

import "syscall"

func datasync(fd int) error { return syscall.Fsync(fd) }
