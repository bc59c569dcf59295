package transcript

import (
	"context"
	"fmt"
	"io"
	"os"
	"sort"
)

// memoryLimit is the size up to which a log is kept in memory as one piece.
// Larger logs keep only what links their entries; bodies are read when asked for,
// so that a log of any size is resumed without holding it whole (T-7).
const memoryLimit = 4 << 20

// ReadOptions change how a log is read. The zero value is what a resume wants.
type ReadOptions struct {
	// InMemory is the size in bytes up to which the file is held in memory; 0
	// means 4 MiB, negative means never.
	InMemory int64

	// FirstTail is how many bytes [ReadTail] looks at first; 0 means 512 KiB, and
	// that a log under 8 MiB is read whole.
	FirstTail int64

	// Parts is how many stretches of a file that is not held in memory are scanned
	// at the same time; 0 means one for each processor, none under 4 MiB.
	Parts int
}

func (o ReadOptions) inMemory(size int64) bool {
	if o.InMemory == 0 {
		return size <= memoryLimit
	}
	return size <= o.InMemory
}

// Log is what was read of one transcript file.
type Log struct {
	Entries []*Entry // in file order
	Faults  []Fault  // what was skipped or mended, in file order
	From    int64    // where reading began; 0 when the whole file was read
	Size    int64    // bytes of the file when it was read
	Torn    bool     // the file does not end with a newline

	src    io.ReaderAt
	closer io.Closer
	byUUID map[string]*Entry
	byMsg  map[string]*Entry // the first part of each reply

	lineFaults []Fault // faults of lines alone, in file order
}

// ReadFile reads the whole log at path. The file stays open while bodies are on
// disk; Close releases it.
func ReadFile(ctx context.Context, path string, opt ReadOptions) (*Log, error) {
	f, size, err := openLog(path)
	if err != nil {
		return nil, err
	}
	l, err := Read(ctx, f, size, opt)
	return adopt(l, f, err)
}

// ReadTailFile is [ReadTail] for the file at path.
func ReadTailFile(ctx context.Context, path string, opt ReadOptions) (*Log, error) {
	f, size, err := openLog(path)
	if err != nil {
		return nil, err
	}
	l, err := ReadTail(ctx, f, size, opt)
	return adopt(l, f, err)
}

func openLog(path string) (*os.File, int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("transcript: %w", err)
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		f.Close()
		return nil, 0, fmt.Errorf("transcript: %w", err)
	}
	return f, st.Size(), nil
}

func adopt(l *Log, f *os.File, err error) (*Log, error) {
	if err != nil {
		f.Close()
		return nil, err
	}
	if l.src == nil {
		f.Close() // everything is in memory
		return l, nil
	}
	l.closer = f
	return l, nil
}

// Read reads a whole log of size bytes. The log keeps src while bodies are on
// disk. It fails only when reading src fails or ctx ends.
func Read(ctx context.Context, src io.ReaderAt, size int64, opt ReadOptions) (*Log, error) {
	l := &Log{Size: size}
	if opt.inMemory(size) {
		data := make([]byte, size)
		n, err := src.ReadAt(data, 0)
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("transcript: read at byte %d: %w", n, err)
		}
		r, no := &lineReader{}, 0
		if err := eachLineOf(ctx, data[:n], 0, func(line []byte, off int64, how lineKind) {
			no++
			r.line(line, off, no, how)
			l.Torn = how&ended == 0
		}); err != nil {
			return nil, err
		}
		l.take(r)
		return l, nil
	}
	l.src = src
	for n := opt.parts(size); ; n = 1 {
		r, torn, err := readParts(ctx, src, 0, size, n, true)
		if err != nil {
			return nil, err
		}
		if r != nil {
			l.Torn = torn
			l.take(r)
			return l, nil
		}
	}
}

// take moves what r read into the log and links it.
func (l *Log) take(r *lineReader) {
	l.Entries, l.Faults = r.entries, r.faults
	if r.crlf > 1 || r.blank > 1 {
		for i := range l.Faults {
			switch f := &l.Faults[i]; {
			case f.Kind == FaultCRLF && r.crlf > 1:
				f.Detail = fmt.Sprintf("%d lines end with CR LF; this is the first", r.crlf)
			case f.Kind == FaultBlank && r.blank > 1:
				f.Detail = fmt.Sprintf("%d empty lines; this is the first", r.blank)
			}
		}
	}
	if l.Torn && len(l.Entries) > 0 {
		last := l.Entries[len(l.Entries)-1]
		if last.Offset+int64(last.Len) >= l.Size {
			l.Faults = append(l.Faults, Fault{Line: last.Line, Offset: last.Offset, Kind: FaultNoNewline, Detail: "the last record is whole but its line is not ended"})
		}
	}
	l.lineFaults = append([]Fault(nil), l.Faults...)
	l.link()
	l.sortFaults()
}

func (l *Log) sortFaults() {
	sort.SliceStable(l.Faults, func(i, j int) bool { return l.Faults[i].Offset < l.Faults[j].Offset })
}

// link resolves parents and finds what the chain needs: duplicates, the parts of
// split replies, which entries have children.
func (l *Log) link() {
	l.byUUID = make(map[string]*Entry, len(l.Entries))
	l.byMsg = make(map[string]*Entry)
	for i, e := range l.Entries {
		e.seq, e.second, e.part, e.lastPart = i, false, nil, nil
		if e.UUID == "" {
			continue
		}
		if first := l.name(e); first != e {
			l.Faults = append(l.Faults, Fault{Line: e.Line, Offset: e.Offset, Kind: FaultDuplicate,
				Detail: fmt.Sprintf("uuid %s stands already %s; the first counts", e.UUID, first.ref())})
		}
	}
	var before *Entry
	for _, e := range l.Entries {
		if e.ParentUUID != "" && e.UUID != "" && !e.second {
			// Most often the parent is the entry before.
			if before != nil && before.UUID == e.ParentUUID {
				e.parent = before
			} else {
				e.parent = l.byUUID[e.ParentUUID]
			}
			if p := e.parent; p != nil && p.seq > e.seq {
				p.early = true
			}
		}
		if e.UUID != "" && !e.second {
			before = e
		}
	}
	for _, e := range l.Entries {
		if !l.isMain(e) {
			continue
		}
		p, broken := bridgeProgress(e)
		if broken != nil && l.From == 0 {
			p = l.before(broken, nil, nil)
		}
		if p != nil && p != e {
			p.childs = true
		}
	}
}

// name enters e, which has a uuid, into the index and returns the entry that counts
// for it: e itself, or the first one of that uuid.
func (l *Log) name(e *Entry) *Entry {
	if first, ok := l.byUUID[e.UUID]; ok {
		e.second = true
		return first
	}
	l.byUUID[e.UUID] = e
	if e.MessageID != "" && e.Type == TypeAssistant {
		if first := l.byMsg[e.MessageID]; first != nil {
			first.lastPart.part, first.lastPart = e, e
		} else {
			e.lastPart = e
			l.byMsg[e.MessageID] = e
		}
	}
	return e
}

// Add puts an entry that is being appended to the file at the end of the log in
// memory, so that Tip and Chain know it without reading again. One caller at a
// time.
func (l *Log) Add(e *Entry) {
	if l.byUUID == nil {
		l.link()
	}
	e.seq, e.second, e.part, e.lastPart = len(l.Entries), false, nil, nil
	l.Entries = append(l.Entries, e)
	if e.UUID == "" || l.name(e) != e {
		return
	}
	if e.ParentUUID != "" {
		e.parent = l.byUUID[e.ParentUUID]
	}
	if p, _ := bridgeProgress(e); p != nil && l.isMain(e) {
		p.childs = true
	}
}

// bridgeProgress returns the nearest ancestor of e that takes part in chains.
// The second result is the entry whose own parent could not be found when the
// walk ended early: e itself or a progress entry above it; nil at a root.
func bridgeProgress(e *Entry) (parent, broken *Entry) {
	at := e
	for steps := 0; ; steps++ {
		p := at.parent
		if p == nil || p == at || steps > maxProgressRun {
			if at.ParentUUID == "" {
				return nil, nil
			}
			return nil, at
		}
		if p.IsChain() {
			return p, nil
		}
		at = p
	}
}

// maxProgressRun ends a walk over progress entries that form a cycle. The
// longest run measured in real logs is under a thousand.
const maxProgressRun = 1 << 20

// ByUUID returns the entry with that uuid, nil when it was not read. Of several
// the first counts.
func (l *Log) ByUUID(uuid string) *Entry { return l.byUUID[uuid] }

// Load reads the bodies of the given entries and keeps them, so that Raw and
// Message do not touch the disk again. Reads of neighbours are joined.
func (l *Log) Load(entries []*Entry) error {
	var need []*Entry
	for _, e := range entries {
		if e.raw == nil {
			need = append(need, e)
		}
	}
	sort.Slice(need, func(i, j int) bool { return need[i].Offset < need[j].Offset })
	for i := 0; i < len(need); {
		j, end := i+1, need[i].Offset+int64(need[i].Len)
		for j < len(need) && need[j].Offset-end < 4<<10 && end-need[i].Offset < chunkSize {
			end = need[j].Offset + int64(need[j].Len)
			j++
		}
		from := need[i].Offset
		buf := make([]byte, end-from)
		if n, err := need[i].src.ReadAt(buf, from); n < len(buf) {
			return fmt.Errorf("transcript: read at byte %d: %w", from, err)
		}
		for _, e := range need[i:j] {
			at := e.Offset - from
			e.raw = buf[at : at+int64(e.Len) : at+int64(e.Len)]
		}
		i = j
	}
	return nil
}

// Close releases the file. Entries that were not loaded cannot be read after it.
func (l *Log) Close() error {
	if l.closer == nil {
		return nil
	}
	c := l.closer
	l.closer = nil
	return c.Close()
}
