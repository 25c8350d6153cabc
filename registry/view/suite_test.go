// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"
	storagetesting "k8s.io/apiserver/pkg/storage/testing"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"
)

// TestUpstream runs the exported suites of k8s.io/apiserver/pkg/storage/testing. The package documentation lists
// the omitted suites and the reasons.
func TestUpstream(t *testing.T) {
	ignoreKey := func(context.Context, *testing.T, string) {}
	ignoreCalls := func(*testing.T, uint64, uint64) {}
	suites := map[string]func(context.Context, *testing.T, *writable){
		"Create": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestCreate(ctx, t, s, ignoreKey)
		},
		"List": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestList(ctx, t, s, compaction(s.Store), false, nil)
		},
		"ConsistentList": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestConsistentList(ctx, t, s, increaseRV(s.Store), false, true, false)
		},
		"GetListNonRecursive": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestGetListNonRecursive(ctx, t, increaseRV(s.Store), s)
		},
		"ListContinuation": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestListContinuation(ctx, t, s, ignoreCalls)
		},
		"ListPaginationRareObject": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestListPaginationRareObject(ctx, t, s, ignoreCalls)
		},
		"ListContinuationWithFilter": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestListContinuationWithFilter(ctx, t, s, ignoreCalls)
		},
		"ListInconsistentContinuation": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestListInconsistentContinuation(ctx, t, s, compaction(s.Store))
		},
		"ListResourceVersionMatch": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestListResourceVersionMatch(ctx, t, s)
		},
		"GuaranteedUpdate": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestGuaranteedUpdate(ctx, t, s, ignoreKey)
		},
		"CompactRevision": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestCompactRevision(ctx, t, s, increaseRV(s.Store), compaction(s.Store))
		},
		"Stats": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestStats(ctx, t, s, exampleCodec(t), identity.NewEncryptCheckTransformer(), false)
		},
		"WatchFromZero": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestWatchFromZero(ctx, t, s, compaction(s.Store))
		},
		"ProgressNotify": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunOptionalTestProgressNotify(ctx, t, s, increaseRV(s.Store))
		},
		"WatchDispatchBookmarkEvents": func(ctx context.Context, t *testing.T, s *writable) {
			storagetesting.RunTestWatchDispatchBookmarkEvents(ctx, t, s, true)
		},
	}
	for name, run := range plainSuites() {
		suites[name] = func(ctx context.Context, t *testing.T, s *writable) { run(ctx, t, s) }
	}
	for name, run := range suites {
		t.Run(name, func(t *testing.T) {
			run(t.Context(), t, &writable{Store: syncedStore(t, podConfig())})
		})
	}
}

// plainSuites returns the suites that need only a store.
func plainSuites() map[string]func(context.Context, *testing.T, storage.Interface) {
	return map[string]func(context.Context, *testing.T, storage.Interface){
		"CreateWithKeyExist":                      storagetesting.RunTestCreateWithKeyExist,
		"Get":                                     storagetesting.RunTestGet,
		"UnconditionalDelete":                     storagetesting.RunTestUnconditionalDelete,
		"ConditionalDelete":                       storagetesting.RunTestConditionalDelete,
		"DeleteWithSuggestion":                    storagetesting.RunTestDeleteWithSuggestion,
		"DeleteWithSuggestionAndConflict":         storagetesting.RunTestDeleteWithSuggestionAndConflict,
		"DeleteWithConflict":                      storagetesting.RunTestDeleteWithConflict,
		"DeleteWithSuggestionOfDeletedObject":     storagetesting.RunTestDeleteWithSuggestionOfDeletedObject,
		"ValidateDeletionWithSuggestion":          storagetesting.RunTestValidateDeletionWithSuggestion,
		"ValidateDeletionWithOnlySuggestionValid": storagetesting.RunTestValidateDeletionWithOnlySuggestionValid,
		"PreconditionalDeleteWithSuggestion":      storagetesting.RunTestPreconditionalDeleteWithSuggestion,
		"PreconditionalDeleteWithOnlySuggestion":  storagetesting.RunTestPreconditionalDeleteWithOnlySuggestionPass,
		"GuaranteedUpdateWithConflict":            storagetesting.RunTestGuaranteedUpdateWithConflict,
		"GuaranteedUpdateWithSuggestion":          storagetesting.RunTestGuaranteedUpdateWithSuggestionAndConflict,
		"GetListRecursivePrefix":                  storagetesting.RunTestGetListRecursivePrefix,
		"ListPaging":                              storagetesting.RunTestListPaging,
		"NamespaceScopedList":                     storagetesting.RunTestNamespaceScopedList,
		"KeySchema":                               storagetesting.RunTestKeySchema,
		"Watch":                                   storagetesting.RunTestWatch,
		"DeleteTriggerWatch":                      storagetesting.RunTestDeleteTriggerWatch,
		"WatchFromNonZero":                        storagetesting.RunTestWatchFromNonZero,
		"DelayedWatchDelivery":                    storagetesting.RunTestDelayedWatchDelivery,
		"WatchContextCancel":                      storagetesting.RunTestWatchContextCancel,
		"WatcherTimeout":                          storagetesting.RunTestWatcherTimeout,
		"WatchDeleteEventObjectHaveLatestRV":      storagetesting.RunTestWatchDeleteEventObjectHaveLatestRV,
		"WatchInitializationSignal":               storagetesting.RunTestWatchInitializationSignal,
		"ClusterScopedWatch":                      storagetesting.RunTestClusterScopedWatch,
		"NamespaceScopedWatch":                    storagetesting.RunTestNamespaceScopedWatch,
		"WatchBookmarksWithCorrectRV":             storagetesting.RunTestOptionalWatchBookmarksWithCorrectResourceVersion,
		"SendInitialEventsBackwardCompatibility":  storagetesting.RunSendInitialEventsBackwardCompatibility,
		"WatchSemantics":                          storagetesting.RunWatchSemantics,
		"WatchSemanticInitialEventsExtended":      storagetesting.RunWatchSemanticInitialEventsExtended,
		"WatchListMatchSingle":                    storagetesting.RunWatchListMatchSingle,
	}
}

func exampleCodec(t *testing.T) runtime.Codec {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{example.AddToScheme, examplev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatalf("register the example types: %v", err)
		}
	}
	return serializer.NewCodecFactory(scheme).LegacyCodec(examplev1.SchemeGroupVersion)
}
