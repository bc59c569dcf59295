package crashfs

import (
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// file is an open handle; its offset is guarded by fs.mu like all the rest.
type file struct {
	fs     *FS
	node   *node
	name   string
	flag   int
	off    int64
	closed bool
}

func (h *file) Name() string { return h.name }

// begin checks that the handle is open and fit for reading or writing; fs.mu
// is held.
func (h *file) begin(op string, writes bool) error {
	switch {
	case h.closed:
		return pathError(op, h.name, fs.ErrClosed)
	case writes && h.flag&(os.O_WRONLY|os.O_RDWR) == 0, !writes && h.flag&os.O_WRONLY != 0:
		return pathError(op, h.name, syscall.EBADF)
	case h.node.mode.IsDir():
		return pathError(op, h.name, syscall.EISDIR)
	}
	return nil
}

func (h *file) Read(p []byte) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	n, err := h.readAt(p, h.off)
	h.off += int64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (h *file) ReadAt(p []byte, off int64) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	return h.readAt(p, off)
}

func (h *file) readAt(p []byte, off int64) (int, error) {
	if err := h.begin("read", false); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("read", h.name, syscall.EINVAL)
	}
	if ft := h.fs.fault(OpRead, h.name); ft != nil {
		return 0, pathError("read", h.name, ft.Err)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if off >= int64(len(h.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, h.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (h *file) Write(p []byte) (int, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.begin("write", true); err != nil {
		return 0, err
	}
	if h.flag&os.O_APPEND != 0 {
		h.off = int64(len(h.node.data))
	}
	var err error
	if ft := h.fs.fault(OpWrite, h.name); ft != nil {
		p, err = p[:min(ft.Short, len(p))], pathError("write", h.name, ft.Err)
	}
	if len(p) > 0 {
		h.node.write(h.off, p)
		h.node.mtime = h.fs.Now()
		h.off += int64(len(p))
	}
	return len(p), err
}

func (h *file) Seek(offset int64, whence int) (int64, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.closed {
		return 0, pathError("seek", h.name, fs.ErrClosed)
	}
	switch whence {
	case io.SeekStart:
	case io.SeekCurrent:
		offset += h.off
	case io.SeekEnd:
		offset += int64(len(h.node.data))
	default:
		return 0, pathError("seek", h.name, syscall.EINVAL)
	}
	if offset < 0 {
		return 0, pathError("seek", h.name, syscall.EINVAL)
	}
	h.off = offset
	return offset, nil
}

func (h *file) Truncate(size int64) error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if err := h.begin("truncate", true); err != nil {
		return err
	}
	if size < 0 {
		return pathError("truncate", h.name, syscall.EINVAL)
	}
	if ft := h.fs.fault(OpTruncate, h.name); ft != nil {
		return pathError("truncate", h.name, ft.Err)
	}
	h.node.truncate(size)
	h.node.mtime = h.fs.Now()
	return nil
}

func (h *file) Sync() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.closed {
		return pathError("sync", h.name, fs.ErrClosed)
	}
	if ft := h.fs.fault(OpSync, h.name); ft != nil {
		if !ft.KeepDirty {
			h.node.ops = nil
		}
		if ft.Evict {
			size := len(h.node.data)
			h.node.data = resize(append([]byte(nil), h.node.durable...), int64(size))
		}
		return pathError("sync", h.name, ft.Err)
	}
	for _, op := range h.node.ops {
		h.node.durable = op.apply(h.node.durable)
	}
	h.node.ops = nil
	return nil
}

func (h *file) Stat() (fs.FileInfo, error) {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.closed {
		return nil, pathError("stat", h.name, fs.ErrClosed)
	}
	if ft := h.fs.fault(OpStat, h.name); ft != nil {
		return nil, pathError("stat", h.name, ft.Err)
	}
	ps := parts(h.name)
	if len(ps) == 0 {
		return h.node.info("/"), nil
	}
	return h.node.info(ps[len(ps)-1]), nil
}

func (h *file) Close() error {
	h.fs.mu.Lock()
	defer h.fs.mu.Unlock()
	if h.closed {
		return pathError("close", h.name, fs.ErrClosed)
	}
	h.closed = true
	return nil
}

// write changes the volatile bytes and remembers the change.
func (n *node) write(off int64, p []byte) {
	op := fileOp{off: off, data: append([]byte(nil), p...)}
	n.data = op.apply(n.data)
	n.ops = append(n.ops, op)
}

func (n *node) truncate(size int64) {
	op := fileOp{off: size}
	n.data = op.apply(n.data)
	n.ops = append(n.ops, op)
}

// apply performs the change on b and returns it; a gap before a write is
// filled with zeros.
func (op fileOp) apply(b []byte) []byte {
	if op.data == nil {
		return resize(b, op.off)
	}
	if op.off == int64(len(b)) {
		return append(b, op.data...)
	}
	b = resize(b, max(int64(len(b)), op.off+int64(len(op.data))))
	copy(b[op.off:], op.data)
	return b
}

// resize changes the length of b, with zeros for what is new.
func resize(b []byte, size int64) []byte {
	if size <= int64(len(b)) {
		return b[:size:size]
	}
	return append(b, make([]byte, size-int64(len(b)))...)
}

// info is a snapshot of a node.
type info struct {
	name  string
	id    uint64
	size  int64
	mode  fs.FileMode
	mtime time.Time
}

func (n *node) info(name string) info {
	return info{name: name, id: n.id, size: int64(len(n.data)), mode: n.mode, mtime: n.mtime}
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.mtime }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

// SameFile implements vfs.Identity.
func (i info) SameFile(other fs.FileInfo) bool {
	o, ok := other.(info)
	return ok && o.id == i.id
}
