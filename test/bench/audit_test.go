// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestCountRequests(t *testing.T) {
	from := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	event := func(seconds int, program, stage, verb, resource, subresource string) string {
		return fmt.Sprintf(`{"stage":%q,"verb":%q,"user":{"username":"system:serviceaccount:certrotation-system:certrotation-%s"},`+
			`"objectRef":{"resource":%q,"subresource":%q},"requestReceivedTimestamp":%q}`+"\n",
			stage, verb, program, resource, subresource, from.Add(time.Duration(seconds)*time.Second).Format("2006-01-02T15:04:05.000000Z"))
	}
	log := strings.Join([]string{
		event(-1, "controller", "ResponseComplete", "get", "secrets", ""),
		event(0, "controller", "ResponseComplete", "update", "leases", ""),
		event(1, "controller", "ResponseStarted", "watch", "pods", ""),
		event(1, "controller", "ResponseComplete", "watch", "pods", ""),
		event(2, "serve", "ResponseComplete", "create", "subjectaccessreviews", ""),
		event(2, "controller", "ResponseComplete", "patch", "rotationconfigurations", "status"),
		event(3, "controller", "ResponseComplete", "patch", "rotationconfigurations", "status"),
		`{"stage":"ResponseComplete","verb":"get","user":{"username":"x"},"requestReceivedTimestamp":"2026-01-01T12:00:01.000000Z"}` + "\n",
		event(60, "controller", "ResponseComplete", "get", "secrets", ""),
		`{"stage":"Respo`,
	}, "")
	got, err := countRequests(strings.NewReader(log), from, from.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	want := map[requestKind]int{
		{"controller", ofTheLease}:                            1,
		{"controller", ofTheWatches}:                          1,
		{"controller", "patch rotationconfigurations/status"}: 2,
		{"serve", "create subjectaccessreviews"}:              1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestCountRequestsOfABrokenLog(t *testing.T) {
	if _, err := countRequests(strings.NewReader("{\n"), time.Time{}, time.Now()); err == nil {
		t.Error("a line that is no event is passed over")
	}
}
