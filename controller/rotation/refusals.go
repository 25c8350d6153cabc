// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package rotation

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"certrotation.dev/controller/internal/apply"
	"certrotation.dev/registry/record"
	"certrotation.dev/registry/trust"
)

const (
	// firstRefusedRetry and lastRefusedRetry bound the back-off of a refused action. It doubles each time.
	firstRefusedRetry = time.Second
	lastRefusedRetry  = 5 * time.Minute
	// firstPause is how long an issuer is not asked again after it was asked.
	firstPause = 5 * time.Second
	// doubts is how many internal errors in a row count as a refusal.
	doubts = 3
)

// attempt identifies an action across assessments.
type attempt struct {
	key    key
	action trust.ActionKind
	// object is Kind/name.
	object string
}

func attemptOf(k key, action *trust.Action) attempt {
	return attempt{key: k, action: action.Kind, object: objectOf(action)}
}

// objectOf names the object of an action as Kind/name.
func objectOf(action *trust.Action) string { return string(action.ObjectKind) + "/" + action.Object }

type failing struct {
	// version is the resource version that the action was decided on.
	version string
	doubts  int
	// write is the refused write; its Object is "" as long as the refusal is doubtful.
	write trust.RefusedWrite
	// wait is the present back-off, and until is when it ends.
	wait  time.Duration
	until time.Time
	// recorded is what the record says, if one was written.
	recorded trust.RefusedWrite
}

// refusals remember what the API server refuses, so that each refused action has its own back-off. People and the
// model see the records; refusals also has those that could not be recorded.
type refusals struct {
	clock clock.PassiveClock

	mu  sync.Mutex
	all map[attempt]*failing
}

func newRefusals(c clock.PassiveClock) *refusals {
	return &refusals{clock: c, all: map[attempt]*failing{}}
}

// wait returns how long an action must wait before it is retried, 0 if it may be. A change of its object ends the
// wait, because there is something new to try.
func (r *refusals) wait(k key, action *trust.Action) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.all[attemptOf(k, action)]
	if f == nil || f.version != action.ResourceVersion {
		return 0
	}
	left := f.until.Sub(r.clock.Now())
	if left > f.wait {
		// The clock was set back, and measures no duration.
		return 0
	}
	return left
}

// failed registers a failed action. It returns the refused write, and whether that is new. ok is false if the API
// server refuses nothing. known are the recorded refusals.
func (r *refusals) failed(k key, action *trust.Action, err error, known []trust.RefusedWrite) (write trust.RefusedWrite, news, ok bool) {
	failed, how := weigh(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	a := attemptOf(k, action)
	f := r.all[a]
	if how == hiccup {
		if f != nil && f.write.Object == "" {
			delete(r.all, a)
		}
		return trust.RefusedWrite{}, false, false
	}
	if f == nil {
		f = &failing{}
		r.all[a] = f
	}
	if how == doubtful {
		if f.doubts++; f.doubts < doubts && f.write.Object == "" {
			return trust.RefusedWrite{}, false, false
		}
	}
	now := r.clock.Now()
	since := now
	if f.write.Object != "" {
		since = f.write.Since
	} else if was := recordedOf(known, a.object); was != nil {
		since, f.recorded = was.Since, *was
	} else {
		news = true
	}
	f.write = trust.RefusedWrite{Object: a.object, Verb: failed.Verb, Answer: failed.Err.Error(), Since: since}
	f.version = action.ResourceVersion
	f.wait = min(max(2*f.wait, firstRefusedRetry), lastRefusedRetry)
	f.until = now.Add(f.wait)
	return f.write, news, true
}

// paused delays an action that has succeeded, and is proposed until somebody else has done what was asked for.
func (r *refusals) paused(k key, action *trust.Action) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := attemptOf(k, action)
	f := r.all[a]
	if f == nil || f.write.Object != "" || f.version != action.ResourceVersion {
		f = &failing{version: action.ResourceVersion}
		r.all[a] = f
	}
	f.wait = min(max(2*f.wait, firstPause), lastRefusedRetry)
	f.until = r.clock.Now().Add(f.wait)
}

// done forgets an action that succeeded, and reports whether its object was refused before.
func (r *refusals) done(k key, action *trust.Action) (was bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := attemptOf(k, action)
	f := r.all[a]
	delete(r.all, a)
	return f != nil && f.write.Object != ""
}

// unwanted forgets the actions that are no longer proposed. It returns the refused objects that no proposed action
// writes.
func (r *refusals) unwanted(k key, actions []trust.Action) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var gone []string
	for a, f := range r.all {
		if a.key != k || slices.ContainsFunc(actions, func(action trust.Action) bool { return attemptOf(k, &action) == a }) {
			continue
		}
		delete(r.all, a)
		if f.write.Object != "" && !concerned(actions, a.object) {
			gone = append(gone, a.object)
		}
	}
	slices.Sort(gone)
	return gone
}

func concerned(actions []trust.Action, object string) bool {
	return slices.ContainsFunc(actions, func(action trust.Action) bool { return objectOf(&action) == object })
}

// unrecorded reports whether the record of a refusal must still be written.
func (r *refusals) unrecorded(k key, action *trust.Action) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.all[attemptOf(k, action)]
	return f != nil && !record.SameRefusal(&f.recorded, &f.write)
}

// recorded registers that a record was written.
func (r *refusals) recorded(k key, action *trust.Action, write *trust.RefusedWrite) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.all[attemptOf(k, action)]; f != nil {
		f.recorded = *write
	}
}

// merge adds the present refusals to the recorded ones.
func (r *refusals) merge(k key, known []trust.RefusedWrite) []trust.RefusedWrite {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []trust.RefusedWrite
	for a, f := range r.all {
		if a.key != k || f.write.Object == "" {
			continue
		}
		out = append(out, f.write)
		if recordedOf(known, f.write.Object) == nil {
			// The record was deleted, or is not in the cache yet; in the second case, writing it again changes
			// nothing.
			f.recorded = trust.RefusedWrite{}
		}
	}
	for i := range known {
		if recordedOf(out, known[i].Object) == nil {
			out = append(out, known[i])
		}
	}
	slices.SortFunc(out, func(x, y trust.RefusedWrite) int {
		return cmp.Or(strings.Compare(x.Object, y.Object), strings.Compare(x.Verb, y.Verb))
	})
	return out
}

func (r *refusals) counts() map[key]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := map[key]int{}
	for a, f := range r.all {
		if f.write.Object != "" {
			out[a.key]++
		}
	}
	return out
}

func (r *refusals) forget(k key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for a := range r.all {
		if a.key == k {
			delete(r.all, a)
		}
	}
}

func recordedOf(list []trust.RefusedWrite, object string) *trust.RefusedWrite {
	for i := range list {
		if list[i].Object == object {
			return &list[i]
		}
	}
	return nil
}

// weight is how a failed write counts.
type weight int

const (
	// hiccup: the same write may well succeed in a moment.
	hiccup weight = iota
	// doubtful: an internal error, which counts once it repeats. A webhook that is down for good looks like one that
	// restarts, and so does an object that is too large for etcd.
	doubtful
	// refused: the API server has understood the write and rejects it.
	refused
)

// weigh classifies the error of an action. It returns the write that failed, nil if there is none.
func weigh(err error) (*apply.WriteError, weight) {
	var failed *apply.WriteError
	var status apierrors.APIStatus
	if errors.As(err, &failed) && failed.Verb == trust.VerbIssue {
		return failed, refused
	}
	if !errors.As(err, &failed) || !errors.As(failed.Err, &status) ||
		apierrors.HasStatusCause(failed.Err, corev1.NamespaceTerminatingCause) {
		return nil, hiccup
	}
	code := status.Status().Code
	switch code {
	case http.StatusNotFound, http.StatusConflict, http.StatusGone, // another client was faster
		http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests: // not an answer to this write
		return failed, hiccup
	case http.StatusInternalServerError:
		if status.Status().Reason == metav1.StatusReasonServerTimeout {
			return failed, hiccup
		}
		return failed, doubtful
	}
	if code >= http.StatusBadRequest && code < http.StatusInternalServerError {
		return failed, refused
	}
	return failed, hiccup
}
