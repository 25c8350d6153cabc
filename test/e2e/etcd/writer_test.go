// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
)

// writer writes to etcd all the time and records the acknowledged writes.
type writer struct {
	client       *clientv3.Client
	prefix       string
	mu           sync.Mutex
	acknowledged []int
	refused      int
	// longest is the longest time between two acknowledgements, and paused when it began.
	longest time.Duration
	paused  time.Time
	stop    context.CancelFunc
	running sync.WaitGroup
}

// startWriter writes to members at HOST:PORT. dial makes the connections, TLS included, so clientv3 treats them as
// plain.
func startWriter(ctx context.Context, members []string, dial func(context.Context, string) (net.Conn, error), prefix string) (*writer, error) {
	client, err := clientv3.New(clientv3.Config{
		Endpoints: members, DialOptions: []grpc.DialOption{grpc.WithContextDialer(dial)}, DialTimeout: 5 * time.Second,
		DialKeepAliveTime: 2 * time.Second, DialKeepAliveTimeout: 2 * time.Second, Logger: zap.NewNop(), Context: ctx,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	w := &writer{client: client, prefix: prefix, stop: stop}
	w.running.Go(func() { w.write(ctx) })
	return w, nil
}

// write writes one key after the other. A write without a timely acknowledgement may or may not have happened.
func (w *writer) write(ctx context.Context) {
	last := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		attempt, cancel := context.WithTimeout(ctx, 3*time.Second)
		_, err := w.client.Put(attempt, w.prefix+strconv.Itoa(i), strconv.Itoa(i))
		cancel()
		w.mu.Lock()
		if err == nil {
			w.acknowledged = append(w.acknowledged, i)
			if pause := time.Since(last); pause > w.longest {
				w.longest, w.paused = pause, last
			}
			last = time.Now()
		} else if ctx.Err() == nil {
			w.refused++
		}
		w.mu.Unlock()
	}
}

// check reads back all acknowledged writes.
func (w *writer) check(ctx context.Context, t *testing.T) {
	t.Helper()
	w.stop()
	w.running.Wait()
	defer w.client.Close()
	reading, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	got, err := w.client.Get(reading, w.prefix, clientv3.WithPrefix())
	if err != nil {
		t.Errorf("read back what was written: %v", err)
		return
	}
	present := map[string]string{}
	for _, kv := range got.Kvs {
		present[string(kv.Key)] = string(kv.Value)
	}
	lost := 0
	for _, i := range w.acknowledged {
		if present[w.prefix+strconv.Itoa(i)] != strconv.Itoa(i) {
			lost++
		}
	}
	if lost > 0 || len(w.acknowledged) == 0 {
		t.Errorf("%d of %d acknowledged writes are lost", lost, len(w.acknowledged))
	}
	t.Logf("written: %d acknowledged, %d lost, %d not acknowledged, longest pause %s from %s on",
		len(w.acknowledged), lost, w.refused, w.longest.Round(time.Millisecond), w.paused.Format(time.TimeOnly))
	if _, err := w.client.Delete(reading, w.prefix, clientv3.WithPrefix()); err != nil {
		t.Errorf("clean up: %v", err)
	}
}
