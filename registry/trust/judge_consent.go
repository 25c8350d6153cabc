// Copyright The certrotation Authors.
// SPDX-License-Identifier: Apache-2.0

package trust

// judgeAdoption refuses to adopt what nobody could use. Whatever else is in the object is older than its consent, and who
// verifies it has met it already: objects are adopted one by one, in any order.
func (j *judge) judgeAdoption(object string, is *Object) {
	if p := is.Problem; is.Present && p != nil && !is.Unadopted() {
		j.refuse(PairMatches, object, nil, p.Message, "repair the object first, then adopt it")
	}
}

// judgeBundleRelease refuses to give up a bundle while anybody needs its anchors: unlike one that is deleted, one that is
// released is not rebuilt, and nothing keeps what is in it.
func (j *judge) judgeBundleRelease() {
	object := configMap(j.before.d.Bundle.Name)
	switch users := j.allUsers(); {
	case j.inFlight():
		j.refuse(AnchorInUse, object, users, "the rotation is in the stage "+string(j.stage)+" and needs the anchors of the bundle",
			"wait for the stage Stable, then release the leaves first")
	case len(users) > 0:
		j.refuse(AnchorInUse, object, users, "nothing would keep the anchors that live leaves need",
			"take the annotation "+AnnotationConfiguration+" from the leaves first, or delete them")
	}
}
