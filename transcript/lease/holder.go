package lease

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// maxHolder bounds how much of a lock or heartbeat file is read. Ours are about
// 400 bytes; anything longer was not written by us.
const maxHolder = 16 << 10

// Holder is what the writer of a log says about itself in the lock file. It is
// for messages only: it may be old, foreign or forged and never decides
// whether a log is free.
type Holder struct {
	PID   int    `json:"pid"`
	Start string `json:"procStart,omitempty"` // the process's start time in the system's own unit, compared only for equality
	Boot  string `json:"bootId,omitempty"`    // identity of the boot the process runs in
	Space string `json:"pidNamespace,omitempty"`
	Host  string `json:"host,omitempty"`
	Kind  string `json:"kind,omitempty"` // interactive, bg, daemon, daemon-worker, headless; free text
	// Instance is random for each acquisition: two leases of one process differ.
	Instance string    `json:"instance"`
	Acquired time.Time `json:"acquired"`
	// Beat and Released are used in heartbeat files only: Beat counts the
	// rewrites, Released says that the holder let go.
	Beat     uint64 `json:"beat,omitempty"`
	Released bool   `json:"released,omitempty"`
}

// String names the holder in one clause: pid, host, kind and since when. Text
// that comes from the file is quoted, so that it cannot spoof a terminal.
func (h Holder) String() string {
	if h.PID == 0 {
		return "an unknown process"
	}
	s := "process " + strconv.Itoa(h.PID)
	if h.Host != "" {
		s += " on " + quote(h.Host)
	}
	if h.Kind != "" {
		s += " (" + quote(h.Kind) + ")"
	}
	if !h.Acquired.IsZero() {
		s += " since " + h.Acquired.Format(time.RFC3339)
	}
	return s
}

// quote leaves plain words as they are and quotes and shortens anything else.
func quote(s string) string {
	const limit = 80 // more would bury the message
	if len(s) > limit {
		s = s[:limit] + "…"
	}
	for _, r := range s {
		plain := r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !plain {
			return strconv.QuoteToASCII(s)
		}
	}
	return s
}

// Liveness says whether the process that a [Holder] names runs.
type Liveness int

const (
	// Unknown: the process is of another host, boot or process id namespace,
	// or the system does not tell when it started. It must be left alone.
	Unknown Liveness = iota
	// Running: a process with this id and this start time exists.
	Running
	// Gone: the process has ended; its id may belong to another process now.
	Gone
)

func (l Liveness) String() string {
	switch l {
	case Running:
		return "running"
	case Gone:
		return "gone"
	default:
		return "unknown"
	}
}

// Liveness judges h from this process. A process id alone proves nothing: id,
// start time, boot and process id namespace must agree. It is for display.
func (h Holder) Liveness() Liveness { return h.liveness(self()) }

// liveness is Liveness as seen from the process me.
func (h Holder) liveness(me process) Liveness {
	switch {
	case h.PID <= 0 || h.Host != me.host || h.Space != me.space:
		return Unknown
	case h.Boot == "" || me.boot == "":
		// No boot identity on this system: a start time that is a date still
		// identifies the process, one that counts from boot does not.
		if !startIsDate {
			return Unknown
		}
	case h.Boot != me.boot:
		// Same host name, other boot: either this machine restarted and the
		// process is gone, or two machines share a name. Not ours to decide.
		return Unknown
	}
	start, alive := processStart(h.PID)
	switch {
	case !alive:
		return Gone
	case start == "" || h.Start == "":
		return Unknown
	case start != h.Start:
		return Gone
	default:
		return Running
	}
}

// ReadHolder returns what the last writer of the log at path wrote about
// itself, or the zero Holder when no writer left a name. It takes no lock and
// changes nothing. The result may describe a process that is gone:
// see [Holder.Liveness].
func ReadHolder(path string) (Holder, error) {
	h, err := readHolderFile(heartbeatPath(path))
	if err == nil && h.PID != 0 && !h.Released {
		return h, nil
	}
	h, err = readHolderFile(lockPath(path))
	if errors.Is(err, fs.ErrNotExist) {
		return Holder{}, nil
	}
	return h, err
}

// readHolderFile reads one holder file. Content that is not a holder gives the
// zero Holder and no error.
func readHolderFile(name string) (Holder, error) {
	raw, err := readSmall(name)
	if err != nil {
		return Holder{}, err
	}
	return parseHolder(raw), nil
}

// readSmall returns at most maxHolder bytes of a regular file.
func readSmall(name string) ([]byte, error) {
	// Checked before opening: opening a FIFO somebody planted would block.
	if fi, err := os.Lstat(name); err != nil {
		return nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|openNoFollow, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxHolder))
}

// parseHolder reads the first JSON value of raw. A rewrite in place may leave
// the end of an older, longer text behind it, which is ignored.
func parseHolder(raw []byte) Holder {
	var h Holder
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&h); err != nil {
		return Holder{}
	}
	if h.PID < 0 {
		return Holder{}
	}
	return h
}

// write replaces the content of the open holder file f. The text is written
// before the file is cut, so that a reader never sees it empty.
func (h Holder) write(f *os.File) error {
	raw, err := json.Marshal(h)
	if err != nil {
		return err
	}
	raw = append(raw, '\n')
	if _, err := f.WriteAt(raw, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(raw)))
}
