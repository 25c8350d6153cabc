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
	// firstRefusedRetry and lastRefusedRetry bound the back-off of an action that is refused. It doubles each time.
	firstRefusedRetry = time.Second
	lastRefusedRetry  = 5 * time.Minute
	// doubts is how many internal errors in a row are a refusal.
	doubts = 3
)

// attempt identifies an action from one assessment to the next.
type attempt struct {
	key    key
	action trust.ActionKind
	// object as Kind/name.
	object string
}

func attemptOf(k key, action *trust.Action) attempt {
	return attempt{key: k, action: action.Kind, object: objectOf(action)}
}

// objectOf names the object of an action as Kind/name.
func objectOf(action *trust.Action) string { return string(action.ObjectKind) + "/" + action.Object }

// failing is an action whose write fails.
type failing struct {
	// version is the resource version that the action was decided on.
	version string
	doubts  int
	// write is what is refused; its Object is "" as long as it is only doubtful.
	write trust.RefusedWrite
	// wait is the present back-off, and until when it is over.
	wait  time.Duration
	until time.Time
	// recorded is what the record says, if one was written.
	recorded trust.RefusedWrite
}

// refusals remember what the API server refuses, so that an action which is refused has a back-off of its own. What people
// and the model see are the records; this is what of them could not be written, too.
type refusals struct {
	clock clock.PassiveClock

	mu  sync.Mutex
	all map[attempt]*failing
}

func newRefusals(c clock.PassiveClock) *refusals {
	return &refusals{clock: c, all: map[attempt]*failing{}}
}

// wait says for how long an action is not to be tried again; zero if it may be. Once its object has changed there is
// something new to try.
func (r *refusals) wait(k key, action *trust.Action) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.all[attemptOf(k, action)]
	if f == nil || f.version != action.ResourceVersion {
		return 0
	}
	left := f.until.Sub(r.clock.Now())
	if left > f.wait {
		// The clock came back, and says nothing of how long it was.
		return 0
	}
	return left
}

// failed takes note of an action that has failed. It returns what the API server refuses, and whether that is news; ok is
// false if it refuses nothing. known are the refusals that are recorded.
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

// done forgets an action that was done, and says whether its object was refused before.
func (r *refusals) done(k key, action *trust.Action) (was bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := attemptOf(k, action)
	f := r.all[a]
	delete(r.all, a)
	return f != nil && f.write.Object != ""
}

// unwanted forgets the actions that are not proposed any more, and names the objects about which none is that were
// refused.
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

// concerned says whether one of the actions writes an object.
func concerned(actions []trust.Action, object string) bool {
	return slices.ContainsFunc(actions, func(action trust.Action) bool { return objectOf(&action) == object })
}

// unrecorded says whether the record of a refusal is still to be written.
func (r *refusals) unrecorded(k key, action *trust.Action) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.all[attemptOf(k, action)]
	return f != nil && !record.SameRefusal(&f.recorded, &f.write)
}

// recorded takes note of a record that was written.
func (r *refusals) recorded(k key, action *trust.Action, write *trust.RefusedWrite) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.all[attemptOf(k, action)]; f != nil {
		f.recorded = *write
	}
}

// merge adds what is refused now to what the records say.
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
			// Somebody has deleted the record, or it is not in the cache yet: then writing it again changes nothing.
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

// counts are how many actions are refused now, by key.
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

// forget drops what is remembered of a key.
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

// weight says what a failed write is worth.
type weight int

const (
	// hiccup: the same write may well succeed in a moment.
	hiccup weight = iota
	// doubtful: an internal error. That of a webhook that is down for good looks like one that restarts, and so does an
	// object that is too large for etcd, so it counts once it repeats.
	doubtful
	// refused: the API server has understood the write and says no to it.
	refused
)

// weigh judges the error of an action, and returns the write that failed; nil if it was none.
func weigh(err error) (*apply.WriteError, weight) {
	var failed *apply.WriteError
	var status apierrors.APIStatus
	if !errors.As(err, &failed) || !errors.As(failed.Err, &status) ||
		apierrors.HasStatusCause(failed.Err, corev1.NamespaceTerminatingCause) {
		return nil, hiccup
	}
	code := status.Status().Code
	switch code {
	case http.StatusNotFound, http.StatusConflict, http.StatusGone, // somebody was faster
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
