// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// activePeers is the metric of a member's connected peers. maxMetricsBytes bounds the whole response.
const (
	activePeers     = "etcd_network_active_peers"
	maxMetricsBytes = 16 << 20
)

// peers returns the IDs of the members that the asked member reports as connected, sorted. Its error texts are the
// same at each attempt.
func (c *conn) peers(ctx context.Context, self uint64) ([]uint64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.endpoint.JoinPath("metrics").String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("its endpoint is unusable: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, errors.New(c.told(ctx, err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("GET /metrics answers %d", response.StatusCode)
	}
	return parsePeers(io.LimitReader(response.Body, maxMetricsBytes), self)
}

// parsePeers reads the metrics of a member. A member without peers lacks the metric.
func parsePeers(metrics io.Reader, self uint64) ([]uint64, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(metrics)
	if err != nil {
		// The cause is dropped: it quotes foreign text of any length.
		return nil, errors.New("its metrics cannot be read")
	}
	var connected []uint64
	for _, metric := range families[activePeers].GetMetric() {
		remote, err := strconv.ParseUint(label(metric, "Remote"), 16, 64)
		if err != nil || metric.GetGauge().GetValue() < 1 || label(metric, "Local") != strconv.FormatUint(self, 16) {
			continue
		}
		connected = append(connected, remote)
	}
	slices.Sort(connected)
	return slices.Compact(connected), nil
}

func label(metric *dto.Metric, name string) string {
	for _, pair := range metric.GetLabel() {
		if pair.GetName() == name {
			return pair.GetValue()
		}
	}
	return ""
}
