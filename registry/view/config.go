// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/utils/clock"
)

const (
	// minHistoryAge is the shortest history that a store accepts. Bookmarks come about once a minute, so a shorter
	// history would expire healthy idle clients.
	minHistoryAge = 75 * time.Second

	defaultHistoryAge    = 5 * time.Minute
	defaultHistoryEvents = 8192
)

// Config configures one store: the resource that it serves and how much history it keeps.
type Config struct {
	// Resource names the served resource in errors.
	Resource schema.GroupResource
	// ResourcePrefix is the root of all keys, such as "/certificaterotations". A missing trailing slash is added.
	ResourcePrefix string
	// NewFunc and NewListFunc return empty objects of the served (hub) types.
	NewFunc, NewListFunc func() runtime.Object
	// GetAttrs returns the labels and the selectable fields of an object.
	GetAttrs storage.AttrFunc
	// Epochs provides epochs that are unique among the replicas of a cluster. Nil means one process without peers:
	// all resource versions form one sequence from 1 on.
	Epochs EpochSource
	// Clock times history and bookmarks. Defaults to the system clock.
	Clock clock.WithTicker
	// HistoryEvents bounds the retained events. Defaults to 8192. A batch may change every object at once, so the
	// effective bound is never lower than twice the number of objects.
	HistoryEvents int
	// HistoryAge bounds the age of retained events; at least minHistoryAge. Defaults to 5m.
	HistoryAge time.Duration
	// Versioner reads and writes resource versions. Defaults to storage.APIObjectVersioner.
	Versioner storage.Versioner
}

// complete returns the configuration with its defaults, or an error if it is invalid.
func (c Config) complete() (Config, error) {
	switch {
	case c.Resource.Resource == "":
		return c, errors.New("resource is required")
	case !strings.HasPrefix(c.ResourcePrefix, "/") || strings.Trim(c.ResourcePrefix, "/") == "":
		return c, fmt.Errorf("resource prefix %q must start with a slash and name the resource", c.ResourcePrefix)
	case c.NewFunc == nil || c.NewListFunc == nil:
		return c, errors.New("constructors of the object and of its list are required")
	case c.GetAttrs == nil:
		return c, errors.New("attribute function is required")
	case c.HistoryAge != 0 && c.HistoryAge < minHistoryAge:
		return c, fmt.Errorf("history age %s is shorter than %s", c.HistoryAge, minHistoryAge)
	case c.HistoryEvents < 0:
		return c, fmt.Errorf("history of %d events is negative", c.HistoryEvents)
	}
	if !strings.HasSuffix(c.ResourcePrefix, "/") {
		c.ResourcePrefix += "/"
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	if c.HistoryEvents == 0 {
		c.HistoryEvents = defaultHistoryEvents
	}
	if c.HistoryAge == 0 {
		c.HistoryAge = defaultHistoryAge
	}
	if c.Versioner == nil {
		c.Versioner = storage.APIObjectVersioner{}
	}
	return c, nil
}
