// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"unicode"
)

// mostAnswer bounds how many bytes of the program's answer an error quotes.
const mostAnswer = 200

// HTTPReload reloads the program by an HTTP request.
type HTTPReload struct {
	Method, URL string
}

// Reload implements Reloader: the answer must have a 2xx status.
func (h *HTTPReload) Reload(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, h.Method, h.URL, http.NoBody)
	if err != nil {
		return fmt.Errorf("make the request to reload: %w", err)
	}
	// No kept connection, because it may lead to a process that has ended. No redirect, because it may lead out of
	// the pod.
	client := &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("ask the program to reload: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		answer, _ := io.ReadAll(io.LimitReader(response.Body, mostAnswer)) // what can be read of it helps
		return fmt.Errorf("ask the program to reload: %s %s answers %s %s", h.Method, h.URL, response.Status, printable(answer))
	}
	return nil
}

// ExecReload runs a command in this container.
type ExecReload struct {
	Command []string
}

// Reload implements Reloader: the command must exit with 0.
func (e *ExecReload) Reload(ctx context.Context) error {
	var said bytes.Buffer
	command := exec.CommandContext(ctx, e.Command[0], e.Command[1:]...) //nolint:gosec // the command is that of a flag
	command.Stdout, command.Stderr = &said, &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("run %q: %w: %s", e.Command[0], err, printable(said.Bytes()))
	}
	return nil
}

// printable is the beginning of a text, on one line.
func printable(text []byte) string {
	clean := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, string(text[:min(len(text), mostAnswer)]))
	return strings.TrimSpace(clean)
}
