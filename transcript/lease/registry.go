package lease

import "sync"

// owned lists the logs that this process holds or is about to take. The kernel
// refuses a second lock of the same process as well, since its locks belong to
// an open file; the list makes the message right and covers heartbeats.
type owned struct {
	mu        sync.Mutex
	byPath    map[string]string // real path of a log → instance
	instances map[string]bool
}

// registry is global because the process is what owns a log.
var registry = owned{byPath: map[string]string{}, instances: map[string]bool{}}

// reserve notes that instance takes the log at path. It returns the instance
// that has it already, or "" on success.
func (o *owned) reserve(path, instance string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if other := o.byPath[path]; other != "" {
		return other
	}
	o.byPath[path] = instance
	o.instances[instance] = true
	return ""
}

// free forgets the log at path.
func (o *owned) free(path string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.instances, o.byPath[path])
	delete(o.byPath, path)
}

// has reports whether instance is one of this process.
func (o *owned) has(instance string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.instances[instance]
}
