// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package etcdhealth

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net/url"
	"slices"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"certrotation.dev/registry/quorum"
)

// healthKey is read; whether it exists does not matter.
const healthKey = "health"

// ask queries the member at one place. ctx must have a deadline.
func (c *Checker) ask(ctx context.Context, at *place, endpoint *url.URL, identity *tls.Config) quorum.Answer {
	a := quorum.Answer{Node: at.name, Addresses: at.known, At: c.clock.Now()}
	if endpoint == nil {
		a.Failure = at.nowhere
		return a
	}
	conn, err := c.connect(ctx, endpoint, identity)
	if err != nil {
		a.Failure = "no client can be made for its endpoint: " + err.Error()
		return a
	}
	defer conn.close()
	status, err := etcdserverpb.NewMaintenanceClient(conn.ActiveConnection()).Status(ctx, &etcdserverpb.StatusRequest{})
	if err != nil {
		a.Failure = conn.failure(ctx, err)
		return a
	}
	a.MemberID, a.ClusterID, a.Leader = status.GetHeader().GetMemberId(), status.GetHeader().GetClusterId(), status.GetLeader()
	conn.askMore(ctx, &a)
	return a
}

// askMore runs the requests that depend on other members, concurrently because each may take until the timeout.
func (c *conn) askMore(ctx context.Context, a *quorum.Answer) {
	var (
		asking                   sync.WaitGroup
		own, agreed              []quorum.Listed
		ownErr, readErr, peerErr error
	)
	asking.Go(func() { own, ownErr = c.list(ctx, clientv3.WithSerializable()) })
	asking.Go(func() { agreed, _ = c.list(ctx) })
	asking.Go(func() { readErr = c.read(ctx) })
	asking.Go(func() { a.Connected, peerErr = c.peers(ctx, a.MemberID) })
	asking.Wait()

	a.Healthy = readErr == nil
	a.Listed, a.Confirmed = agreed, agreed != nil
	if !a.Confirmed {
		a.Listed = own
	}
	switch {
	case readErr != nil:
		a.Failure = "a linearizable read through it fails: " + c.failure(ctx, readErr)
	case a.Listed == nil:
		a.Failure = "it does not tell who the members are: " + c.failure(ctx, ownErr)
	case peerErr != nil:
		a.Failure = "it does not tell which peers it is connected with: " + peerErr.Error()
	}
}

// read does a linearizable read. A denied permission counts as success, because it was decided by consensus too.
func (c *conn) read(ctx context.Context) error {
	_, err := c.Get(ctx, healthKey)
	if errors.Is(err, rpctypes.ErrPermissionDenied) {
		return nil
	}
	return err
}

func (c *conn) list(ctx context.Context, opts ...clientv3.OpOption) ([]quorum.Listed, error) {
	response, err := c.MemberList(ctx, opts...)
	if err != nil {
		return nil, err
	}
	var out []quorum.Listed
	for _, m := range response.Members {
		out = append(out, quorum.Listed{
			ID: m.GetID(), Name: m.GetName(), Learner: m.GetIsLearner(), URLs: slices.Concat(m.GetPeerURLs(), m.GetClientURLs()),
		})
	}
	slices.SortFunc(out, func(x, y quorum.Listed) int { return cmp.Compare(x.ID, y.ID) })
	return out, nil
}
