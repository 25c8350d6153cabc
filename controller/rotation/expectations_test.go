// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	"certrotation.dev/registry/trust"
	"certrotation.dev/registry/view/inventory"
)

// TestWrittenAggregateIsSeenWithItsContent: the watch of metadata may be ahead of the watch of content. A decision
// in between would write the aggregate again.
func TestWrittenAggregateIsSeenWithItsContent(t *testing.T) {
	k := key{namespace: testNamespace}
	written := object{kind: trust.SecretKind, namespace: testNamespace, name: "all-certs"}
	metadata := &inventory.OtherSecret{ObjectMeta: metav1.ObjectMeta{Name: "all-certs", ResourceVersion: "7"}}
	whole := *metadata
	whole.Aggregate = &inventory.AggregateSecret{}
	for _, tc := range []struct {
		name  string
		cache map[string]*inventory.OtherSecret
		want  freshness
	}{
		{name: "nothing", want: behind},
		{name: "metadata only", cache: map[string]*inventory.OtherSecret{"all-certs": metadata}, want: behind},
		{name: "content", cache: map[string]*inventory.OtherSecret{"all-certs": &whole}, want: fresh},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newExpectations(testclock.NewFakePassiveClock(time.Unix(0, 0)))
			e.expect(k, written, "7")
			if got, _ := e.check(k, &inventory.Sources{Namespace: testNamespace, Others: tc.cache}); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// TestDeletionIsSeen: a closed request must not be closed again because the cache still has it. A new request of
// the same name counts.
func TestDeletionIsSeen(t *testing.T) {
	k := key{namespace: testNamespace, domain: "web"}
	closed := object{kind: trust.RecordKind, namespace: testNamespace, name: "rotate.web-signer"}
	shows := func(uid types.UID) map[string]*inventory.Record {
		return map[string]*inventory.Record{closed.name: {ObjectMeta: metav1.ObjectMeta{Name: closed.name, UID: uid, ResourceVersion: "7"}}}
	}
	for _, tc := range []struct {
		name  string
		gone  types.UID
		cache map[string]*inventory.Record
		want  freshness
	}{
		{name: "it is still there", gone: "a", cache: shows("a"), want: behind},
		{name: "it is gone", gone: "a", want: fresh},
		{name: "there is another one", gone: "a", cache: shows("b"), want: fresh},
		{name: "whichever it was, it is still there", cache: shows("a"), want: behind},
		{name: "whichever it was, it is gone", want: fresh},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e := newExpectations(testclock.NewFakePassiveClock(time.Unix(0, 0)))
			e.expectGone(k, closed, tc.gone)
			if got, _ := e.check(k, &inventory.Sources{Namespace: testNamespace, Records: tc.cache}); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

// TestCacheIsNotWaitedForByTheClock: a write that the cache never shows is read live after the timeout, even if
// the clock jumps back.
func TestCacheIsNotWaitedForByTheClock(t *testing.T) {
	k := key{namespace: testNamespace, domain: "web"}
	written := object{kind: trust.SecretKind, namespace: testNamespace, name: "deleted"}
	for _, tc := range []struct {
		name  string
		after time.Duration
		want  freshness
	}{
		{name: "at once", want: behind},
		{name: "a moment later", after: expectationTimeout - time.Second, want: behind},
		{name: "in time", after: expectationTimeout, want: lost},
		{name: "the clock came back", after: -26 * time.Hour, want: lost},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := testclock.NewFakePassiveClock(time.Unix(1e9, 0))
			e := newExpectations(c)
			e.expect(k, written, "7")
			c.SetTime(c.Now().Add(tc.after))
			if got, _ := e.check(k, &inventory.Sources{Namespace: testNamespace}); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}
