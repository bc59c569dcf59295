package sources

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"reflect"
	"sync"

	"varve.dev/internal/vfs"
	"varve.dev/transcript"
)

// The cache keeps what was read of a log under the log's size, time and inode, one
// file for each project folder. It is disposable: a file that is missing, damaged,
// or of another version is as good as none, and failing to write one is not an
// error, since the next listing only takes longer. A log is append-only, so any
// change of it changes its size.

// cacheMagic begins a cache file. The shape of what is kept is part of it, so that
// a build with other facts does not read ours. Raise the number when their meaning
// changes and their shape does not.
var cacheMagic = sync.OnceValue(func() []byte {
	var shape []byte
	for _, f := range reflect.VisibleFields(reflect.TypeFor[transcript.Lite]()) {
		shape = fmt.Appendf(shape, "%s %s\n", f.Name, f.Type)
	}
	sum := sha256.Sum256(shape)
	return fmt.Appendf(nil, "varve list 1 %x\n", sum[:8])
})

// cacheFrom is how many logs a folder must hold before a cache file for it is
// worth more than reading them.
const cacheFrom = 8

type cacheRecord struct {
	size, mtime int64
	inode       uint64
	blob        []byte // cachedFacts
}

// of reports whether the record was made of the file as it is.
func (r cacheRecord) of(fl *file) bool {
	return r.size == fl.size && r.mtime == fl.mtime.UnixNano() && r.inode == fl.inode
}

type cachedFacts struct {
	Lite   transcript.Lite
	Faults []transcript.Fault `json:",omitempty"`
}

type folderCache struct {
	old   map[string]cacheRecord // by file name
	fresh map[string]cacheRecord
	dirty bool
}

type cache struct {
	fs      vfs.FS
	dir     string
	folders map[string]*folderCache
	mu      sync.Mutex
}

// openCache reads the cache files for the folders of files.
func (f *Finder) openCache(files []*file) *cache {
	c := &cache{fs: f.cacheFS, dir: f.CacheDir}
	if f.CacheDir == "" || f.cacheFS == nil {
		return c
	}
	count := make(map[string]int)
	for _, fl := range files {
		count[filepath.Dir(fl.path)]++
	}
	c.folders = make(map[string]*folderCache)
	for dir, n := range count {
		if n >= cacheFrom {
			c.folders[dir] = &folderCache{old: c.read(dir), fresh: make(map[string]cacheRecord, n)}
		}
	}
	return c
}

func (c *cache) name(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:12])+".list")
}

// get returns the session of a file that did not change since it was kept.
func (c *cache) get(fl *file) *Session {
	fc := c.folders[filepath.Dir(fl.path)]
	if fc == nil {
		return nil
	}
	name := filepath.Base(fl.path)
	r, ok := fc.old[name]
	if !ok || !r.of(fl) {
		return nil
	}
	var facts cachedFacts
	if json.Unmarshal(r.blob, &facts) != nil {
		return nil
	}
	c.mu.Lock()
	fc.fresh[name] = r
	c.mu.Unlock()
	s := fl.session()
	s.Lite, s.Faults = facts.Lite, facts.Faults
	return s
}

// put keeps what was read of a file. Failures are not kept: the next listing
// tries again.
func (c *cache) put(fl *file, s *Session) {
	fc := c.folders[filepath.Dir(fl.path)]
	if fc == nil || s.Err != nil {
		return
	}
	name := filepath.Base(fl.path)
	if r, ok := fc.old[name]; ok && r.of(fl) {
		c.mu.Lock()
		fc.fresh[name] = r
		c.mu.Unlock()
		return
	}
	blob, err := json.Marshal(cachedFacts{s.Lite, s.Faults})
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	fc.fresh[name] = cacheRecord{fl.size, fl.mtime.UnixNano(), fl.inode, blob}
	fc.dirty = true
}

// save writes the cache files that changed. whole says that every file of the
// folders was looked at: records of others go.
func (c *cache) save(whole bool) {
	for dir, fc := range c.folders {
		if !fc.dirty && (!whole || len(fc.fresh) == len(fc.old)) {
			continue
		}
		if !whole {
			for name, r := range fc.old {
				if _, ok := fc.fresh[name]; !ok {
					fc.fresh[name] = r
				}
			}
		}
		c.write(dir, fc.fresh)
	}
}

// write replaces one cache file. What goes wrong is not told: nobody misses it.
func (c *cache) write(dir string, records map[string]cacheRecord) {
	b := bytes.Clone(cacheMagic())
	b = appendString(b, dir)
	for name, r := range records {
		b = appendString(b, name)
		b = binary.AppendVarint(b, r.size)
		b = binary.AppendVarint(b, r.mtime)
		b = binary.AppendUvarint(b, r.inode)
		b = appendString(b, string(r.blob))
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
	if c.fs.MkdirAll(c.dir, 0o700) != nil {
		return
	}
	// Not synced: after a power loss the checksum tells.
	temp := fmt.Sprintf("%s.%d.tmp", c.name(dir), os.Getpid())
	out, err := c.fs.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return
	}
	_, err = out.Write(b)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = c.fs.Rename(temp, c.name(dir))
	}
	if err != nil {
		_ = c.fs.Remove(temp) // left over at worst, and overwritten by a process of that id
	}
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// read returns the records of a folder's cache file; none when anything about it
// is not as written.
func (c *cache) read(dir string) map[string]cacheRecord {
	data, err := vfs.ReadFile(c.fs, c.name(dir))
	if err != nil {
		return nil
	}
	return parseCache(data, dir)
}

func parseCache(data []byte, dir string) map[string]cacheRecord {
	magic := cacheMagic()
	if len(data) < len(magic)+4 || !bytes.HasPrefix(data, magic) {
		return nil
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.ChecksumIEEE(body) != sum {
		return nil
	}
	d := decoder{b: body[len(magic):]}
	if string(d.bytes()) != dir {
		return nil // two folders of one hash
	}
	out := make(map[string]cacheRecord)
	for len(d.b) > 0 && !d.bad {
		name := string(d.bytes())
		out[name] = cacheRecord{size: d.varint(), mtime: d.varint(), inode: d.uvarint(), blob: d.bytes()}
	}
	if d.bad {
		return nil
	}
	return out
}

// decoder takes values off a byte slice and remembers when one was missing.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	return take(d, v, n)
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.b)
	return take(d, v, n)
}

func take[T any](d *decoder, v T, n int) T {
	if n <= 0 {
		var zero T
		d.bad, d.b = true, nil
		return zero
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return nil
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}
