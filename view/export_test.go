package view

// AddRenderer adds a renderer version for a test and returns what removes it.
func AddRenderer(version, cleared string) (remove func()) {
	r := *renderers[Render]
	r.version, r.cleared = version, cleared
	renderers[version] = &r
	return func() { delete(renderers, version) }
}
