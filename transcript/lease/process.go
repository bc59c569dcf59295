package lease

import (
	"os"
	"sync"
)

// process identifies a running process well enough to tell it from another one
// that later got the same id.
type process struct {
	pid   int
	start string // start time, in the system's unit; "" where it is not known
	boot  string // changes at each boot; "" where it is not known
	space string // process id namespace; "" where there is none
	host  string
}

// self returns the identity of this process. It cannot change, so it is looked
// up once.
var self = sync.OnceValue(func() process {
	host, _ := os.Hostname() // a machine without a name is shown without one
	start, _ := processStart(os.Getpid())
	return process{pid: os.Getpid(), start: start, boot: bootID(), space: pidSpace(), host: host}
})
