// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command nodeinit is the first process of a node of package test/cluster/nodes, and the way into that node:
//
//	nodeinit init --root DIR --hostname NAME [--bind FROM:TO]...   started in new namespaces, as process 1 of the node
//	nodeinit enter PID COMMAND [ARGUMENT]...                       runs a command inside the node whose init is PID
//
// init makes DIR the root of the node's file system, with the programs, devices and cgroups of the machine in it, and
// then waits for the end of every process that was left behind. It never ends by itself. The kernel ends all processes of
// the node with it, which is what the loss of power is.
//
// enter passes signals on, ends with the command's exit code, and takes the command with it when it is killed.
package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
)

func main() {
	// What succeeds does not come back: it became another program, waits for ever, or ended with a command's exit code.
	fmt.Fprintf(os.Stderr, "nodeinit: %v\n", run(os.Args[1:]))
	os.Exit(125)
}

func run(args []string) error {
	if len(args) > 0 && args[0] == "init" {
		return initialize(args[1:])
	}
	if len(args) > 1 && args[0] == "become" {
		return become(args[1:])
	}
	if len(args) > 2 && args[0] == "enter" {
		pid, err := strconv.Atoi(args[1])
		if err != nil {
			return fmt.Errorf("process id %q: %w", args[1], err)
		}
		return enter(pid, args[2:])
	}
	return errors.New("usage: nodeinit init --root DIR --hostname NAME [--bind FROM:TO], or nodeinit enter PID COMMAND [ARGUMENT]")
}
