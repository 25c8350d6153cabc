// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"certrotation.dev/apis/certrotation/v1alpha1"
	"certrotation.dev/controller/reload"
)

// lazyServer connects at the first report, and retries until it succeeds: a missing token is a problem to report, not
// a reason to exit.
type lazyServer struct {
	connect func() (reload.Server, error)

	mu        sync.Mutex
	connected *reload.Server
}

var _ reload.API = (*lazyServer)(nil)

func (l *lazyServer) server() reload.Server { return reload.Server{API: l, Skew: l.skew} }

// Acknowledge implements reload.API.
func (l *lazyServer) Acknowledge(ctx context.Context, signer string, ack *v1alpha1.Acknowledgement, options metav1.CreateOptions) (*v1alpha1.Acknowledgement, error) {
	server, err := l.get()
	if err != nil {
		return nil, err
	}
	return server.Acknowledge(ctx, signer, ack, options)
}

func (l *lazyServer) get() (*reload.Server, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.connected == nil {
		server, err := l.connect()
		if err != nil {
			return nil, &reload.Problem{
				Reason: reload.ReasonUnauthenticated, Err: err, Next: "mount a token of the pod's service account, or give --kubeconfig",
			}
		}
		l.connected = &server
	}
	return l.connected, nil
}

func (l *lazyServer) skew() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.connected == nil {
		return 0
	}
	return l.connected.Skew()
}
