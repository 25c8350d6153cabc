// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

// Command witness runs in the pods of this package's tests. It prints its text, writes it to a file, and sends it to
// each client.
package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	<-signals
}

func run(file, address, text string) error {
	fmt.Println("I say", text)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			fmt.Fprintln(conn, text)
			conn.Close()
		}
	}()
	return nil
}
