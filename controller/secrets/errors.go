// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package secrets

import "errors"

// Errors of a call or of what is in the cluster; test with errors.Is. Errors of package kinds and of registry/pki
// come wrapped too: kinds.ErrInvalidConfig, kinds.ErrNoSigner, pki.ErrSignerExpired.
var (
	// ErrNoNamespace reports an instance without a namespace.
	ErrNoNamespace = errors.New("no namespace is given: use WithNamespaces")
	// ErrNamespaceNotManaged reports a namespace that the instance was not made for.
	ErrNamespaceNotManaged = errors.New("namespace is not managed by this instance")
	// ErrUnknownCA reports a signer that this instance has not generated, or that the cluster does not have.
	ErrUnknownCA = errors.New("signing CA is not known: generate it before what it signs")
	// ErrNoKey reports a signer whose Secret has no private key, and that Keys do not provide either.
	ErrNoKey = errors.New("signing CA has no private key")
	// ErrWrongOption reports an option that does not fit the kind of the configuration, or an invalid value of an
	// option.
	ErrWrongOption = errors.New("option does not fit")
	// ErrRotationBefore reports a time of rotation before that recorded for an existing edition, where a new edition
	// would be needed.
	ErrRotationBefore = errors.New("the rotation that is given began before that of a newer Secret: it is an old view, or a clock was set back; " +
		"look again, or begin a rotation now")
	// ErrUnfinishedRotation reports a key of a group of which two editions exist where a third one would be made.
	ErrUnfinishedRotation = errors.New("two editions exist, and a third one would end the one that others may read by: abort this rotation " +
		"if the record of the last one is lost, or end the pods that use the former edition")
	// ErrAmbiguousAdoption reports several Secrets that are labeled for one configuration.
	ErrAmbiguousAdoption = errors.New("more than one Secret is labeled for this configuration: take the label from all but one")
	// ErrForeignSecret reports that a Secret of another owner has the needed name.
	ErrForeignSecret = errors.New("a Secret of this name has another owner: label it " +
		"secrets-manager-use-data-for-name for its data to be taken, or rename it")
	// ErrEditedSecret reports a Secret with data that its configuration does not produce.
	ErrEditedSecret = errors.New("its data are not what they were made as: restore them, or delete the Secret to have it made anew")
	// ErrNothingPersisted reports an export of an identity none of whose Secrets has the label of the option Persist.
	ErrNothingPersisted = errors.New("no Secret is labeled persist: generate what must survive with the option Persist")
	// ErrChangedMeanwhile reports an export during which Secrets of the identity were made, changed or deleted.
	ErrChangedMeanwhile = errors.New("they changed during the export, so their controller runs: stop it, and export again")
	// ErrNoExport reports content that Export has not written for this identity.
	ErrNoExport = errors.New("not an export of this identity: use the file that Export has written")
	// ErrOtherSecrets reports Secrets of an identity where an export is restored.
	ErrOtherSecrets = errors.New("it exists and is not of this export, so the controller has run here: restore before its first " +
		"reconciliation, or delete what it has made if nothing uses that")
)
