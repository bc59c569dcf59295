package session

import "varve.dev/transcript/lease"

// OnShare makes st believe that its home lies on a network file system.
func (st *Store) OnShare() {
	st.detect = func(string) (lease.FileSystem, error) { return lease.FileSystem{Type: "nfs", Shared: true}, nil }
}
