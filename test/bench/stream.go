// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
)

// stream is a watch that is read line by line without decoding. With many watches the decoding would dominate the
// measurement.
type stream struct {
	body  io.ReadCloser
	lines *bufio.Reader
}

// watchStream opens a watch in JSON. version "" requests the initial events and a bookmark after them (WatchList).
func (b *bench) watchStream(ctx context.Context, path, selector, version string) (*stream, error) {
	request := b.kubeJSON.CoreV1().RESTClient().Get().AbsPath(path).
		Param("watch", "true").Param("allowWatchBookmarks", "true").SetHeader("Accept", "application/json")
	if version == "" {
		request.Param("sendInitialEvents", "true").Param("resourceVersionMatch", "NotOlderThan")
	} else {
		request.Param("resourceVersion", version)
	}
	if selector != "" {
		request.Param("fieldSelector", selector)
	}
	body, err := request.Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", path, err)
	}
	return &stream{body: body, lines: bufio.NewReaderSize(body, 64<<10)}, nil
}

// next returns the next event. An ERROR event is returned as an error.
func (s *stream) next() ([]byte, error) {
	line, err := s.lines.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("read a watch: %w", err)
	}
	if bytes.HasPrefix(line, []byte(`{"type":"ERROR"`)) {
		return nil, fmt.Errorf("the watch ends with %s", line)
	}
	return line, nil
}

func (s *stream) close() { _ = s.body.Close() }

// watchList reads a watch up to the bookmark that ends the initial events, as a starting informer does.
func (b *bench) watchList(ctx context.Context, path, selector string, size int) error {
	s, err := b.watchStream(ctx, path, selector, "")
	if err != nil {
		return err
	}
	defer s.close()
	for got := 0; ; got++ {
		line, err := s.next()
		if err != nil {
			return err
		}
		if bytes.HasPrefix(line, []byte(`{"type":"BOOKMARK"`)) && bytes.Contains(line, []byte("k8s.io/initial-events-end")) {
			return atLeast(size, got, nil)
		}
	}
}
