// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"
)

// readyFile is made in the node's /run once its file system is complete. That is a tmpfs: the file of an earlier start is
// gone.
const readyFile = "/run/nodeinit.ready"

type binds []string

func (b *binds) String() string { return strings.Join(*b, ",") }

func (b *binds) Set(value string) error {
	if from, to, found := strings.Cut(value, ":"); !found || from == "" || to == "" {
		return fmt.Errorf("%q is not FROM:TO", value)
	}
	*b = append(*b, value)
	return nil
}

func initialize(args []string) error {
	flags := flag.NewFlagSet("init", flag.ContinueOnError)
	root := flags.String("root", "", "directory of the node's file system")
	hostname := flags.String("hostname", "", "host name of the node")
	var extra binds
	flags.Var(&extra, "bind", "FROM:TO, a directory of the machine to show at TO in the node, read only")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *root == "" || *hostname == "" {
		return errors.New("init: --root and --hostname are required")
	}
	if os.Getpid() != 1 {
		return errors.New("init: this is not process 1 of a new process namespace")
	}
	if err := unix.Sethostname([]byte(*hostname)); err != nil {
		return fmt.Errorf("set the host name: %w", err)
	}
	if err := mountAll(*root, extra); err != nil {
		return err
	}
	children := make(chan os.Signal, 16)
	signal.Notify(children, unix.SIGCHLD)
	if err := os.WriteFile(readyFile, nil, 0o600); err != nil {
		return err
	}
	for {
		reap()
		<-children
	}
}

// reap waits for all children that have ended.
func reap() {
	for {
		pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if pid <= 0 {
			return
		}
	}
}
