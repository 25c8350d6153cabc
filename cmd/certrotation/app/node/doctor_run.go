// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"time"

	"certrotation.dev/controller/recovery"
	"certrotation.dev/registry/nodepod"
)

func (o *DoctorOptions) examine(ctx context.Context, now time.Time) ([]nodepod.Finding, error) {
	disk, err := recovery.ReadDisk(o.Layout)
	if err != nil {
		return nil, err
	}
	findings := nodepod.Diagnose(disk, now)
	if o.SkipPeers {
		return findings, nil
	}
	_, current := disk.Running()
	if current == nil {
		return findings, nil
	}
	of, err := o.peers()
	if err != nil {
		return nil, err
	}
	peers, err := recovery.PeersOf(disk, of, "")
	if errors.Is(err, recovery.ErrPeersUnknown) {
		return append(findings, nodepod.Finding{
			Severity: nodepod.Info, Reason: nodepod.ReasonPeersUnknown, Object: "peers", Message: "no peer was probed: " + recovery.ErrPeersUnknown.Error(),
			NextStep: "run `certrotation doctor --peers=HOST,HOST`",
		}), nil
	}
	if err != nil {
		return nil, err
	}
	files := nodepod.PeerFiles(current, &disk.Manifest)
	if len(peers) == 0 || files.Cert == "" {
		return findings, nil
	}
	if pair := current.PairOf(files.Cert); pair == nil || current.Defective(pair.Cert) || current.Defective(pair.Key) {
		// The findings already report the defect of the pair.
		return findings, nil
	}
	verdicts, err := recovery.Verdicts(ctx, current, files, peers, o.PeerTimeout, now)
	if err != nil {
		return nil, err
	}
	return append(findings, nodepod.DescribePeers(verdicts)...), nil
}
