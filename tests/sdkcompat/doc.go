// Package sdkcompat compares our adapters with the vendors' own SDKs.
//
// It is a module of its own, so that the SDKs never enter the product's graph,
// and no part of go test ./...: compiling one takes minutes and gigabytes.
// Run it with GOFLAGS=-p=1 go test ./... in this folder.
package sdkcompat
