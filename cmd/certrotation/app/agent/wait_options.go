// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"

	"certrotation.dev/registry/contenthash"
)

// DefaultWaitTimeout is twice the longest time that kubelet takes to show a pod a change that it has not cached yet.
const DefaultWaitTimeout = 5 * time.Minute

// WaitOptions of the command.
type WaitOptions struct {
	Directory string
	Content   string
	Timeout   time.Duration

	Logs *logsapi.LoggingConfiguration
}

// NewWaitOptions returns the defaults.
func NewWaitOptions() *WaitOptions {
	return &WaitOptions{Timeout: DefaultWaitTimeout, Logs: logs.NewOptions()}
}

// Flags returns the flags in sections, as --help shows them.
func (o *WaitOptions) Flags() cliflag.NamedFlagSets {
	var sections cliflag.NamedFlagSets
	fs := sections.FlagSet("wait")
	fs.StringVar(&o.Content, "for-content", o.Content, "The hash of the content to wait for, or for a later one. Required.")
	fs.DurationVar(&o.Timeout, "timeout", o.Timeout, "How long to wait before it fails.")
	logsapi.AddFlags(o.Logs, sections.FlagSet("logs"))
	return sections
}

// Validate returns everything that is wrong with the options.
func (o *WaitOptions) Validate() error {
	var errs []error
	if !contenthash.Valid(o.Content) {
		errs = append(errs, fmt.Errorf("--for-content is %q, want a lower-case hexadecimal SHA-256, as `kubectl certrotation content-hash` prints it", o.Content))
	}
	if !filepath.IsAbs(o.Directory) {
		errs = append(errs, fmt.Errorf("the directory is %q, want an absolute path, the mountPath of a volume", o.Directory))
	}
	if o.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("--timeout is %s, which leaves no time to wait", o.Timeout))
	}
	return errors.Join(errs...)
}

// WaitConfig holds what a run needs.
type WaitConfig struct {
	Directory, Content string
	Timeout, Interval  time.Duration
}

// Config returns the configuration of a run that reads the directory every second.
func (o *WaitOptions) Config() *WaitConfig {
	return &WaitConfig{Directory: o.Directory, Content: o.Content, Timeout: o.Timeout, Interval: time.Second}
}

func (c *WaitConfig) read() (contenthash.Content, error) {
	return contenthash.OfDirectory(os.DirFS(c.Directory))
}
