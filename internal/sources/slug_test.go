package sources

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSlug(t *testing.T) {
	for dir, want := range map[string]string{
		"/":                  "-",
		"/home/alice/app":    "-home-alice-app",
		"/w/a/b":             "-w-a-b",
		"/w/a-b":             "-w-a-b_",
		"/w/a_b":             "-w-a-b_",
		"/w/App":             "-w-App_",
		"/w/외주":              "-w---_",
		`C:\Users\alice\app`: "C--Users-alice-app_",
	} {
		got := Slug(dir)
		if got != want && !(strings.HasSuffix(want, "_") && strings.HasPrefix(got, want) && len(got) == len(want)+hashLen) {
			t.Errorf("Slug(%q) = %q, want %q", dir, got, want)
		}
	}
}

// seed:slug, anthropics/claude-code#40946, anthropics/claude-code#70076: the
// reference's names for these are the same; ours never are, also where the file
// system ignores case, and none is too long for one.
func TestSlugNeverCollides(t *testing.T) {
	groups := [][]string{
		{"/w/a-b", "/w/a/b", "/w/a_b", "/w/a.b", "/w/a b", "/w/a//b", "/w/A/b", "/w/A/B"},
		{"/p/외주/app", "/p/개인/app"},
		{"/p/my_app", "/p/my-app", "/p/my.app", "/p/my/app"},
		{"/p/data/api-proxy", "/p/data-api-proxy"},
		{"/p/x😀", "/p/x--", "/p/x-/-"},
		{"/" + strings.Repeat("long/", 80) + "a", "/" + strings.Repeat("long/", 80) + "b", "/" + strings.Repeat("long/", 79) + "b"},
	}
	for _, g := range groups {
		seen := make(map[string]string)
		for _, dir := range g {
			s := strings.ToLower(Slug(dir))
			if len(s) > 143 {
				t.Errorf("Slug(%q) has %d bytes", dir, len(s))
			}
			if other, ok := seen[s]; ok {
				t.Errorf("%q and %q share the folder %s", dir, other, s)
			}
			seen[s] = dir
		}
	}
	if !strings.EqualFold(Slug(`d:\x\Y`), Slug(`D:\X\y`)) {
		t.Error("one Windows directory has two folders")
	}
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.StringMatching(`/([ab_.\-A외é/]{0,6}/?){0,4}`)
		a, b := path.Draw(t, "a"), path.Draw(t, "b")
		if a != b && strings.EqualFold(Slug(a), Slug(b)) {
			t.Fatalf("%q and %q share the folder %s", a, b, Slug(a))
		}
	})
}

func TestReferenceSlug(t *testing.T) {
	for dir, want := range map[string]string{
		"/Users/USER/workspace/cli/.worktrees/1": "-Users-USER-workspace-cli--worktrees-1",
		"/w/my_app.v2":                           "-w-my-app-v2",
		"/w/외주":                                  "-w---",
		"/w/😀":                                   "-w---", // two UTF-16 units
		`D:\x\y`:                                 "D--x-y",
	} {
		if got, cut := ReferenceSlug(dir); got != want || cut {
			t.Errorf("ReferenceSlug(%q) = %q, %v, want %q", dir, got, cut, want)
		}
	}
	if got, cut := ReferenceSlug("/" + strings.Repeat("x", 300)); len(got) != 200 || !cut {
		t.Errorf("a long path gives %d characters, cut %v", len(got), cut)
	}
}

// Folders are candidates whatever the case and the Unicode normal form in which
// the directory was spelled when they were made.
func TestMatcher(t *testing.T) {
	long := "/w/" + strings.Repeat("deep/", 60) + "x"
	longName, _ := ReferenceSlug(long)
	for _, c := range []struct {
		dir, folder string
		want        bool
	}{
		{"/w/app", "-w-app", true},
		{"/w/App", "-w-app", true},
		{"/w/App", Slug("/w/App"), true},
		{"/w/app", "-w-app2", false},
		{"/w/app", "-w-ap", false},
		{long, longName + "-1a2b3c", true},
		{long, longName, true},
		{long, Slug(long), true},
		{"/w/caf\u00e9/x", "-w-caf--x", true},   // composed, as the reference makes it
		{"/w/cafe\u0301/x", "-w-caf--x", true},  // we see it decomposed
		{"/w/caf\u00e9/x", "-w-cafe--x", true},  // a client that does not compose
		{"/w/cafe\u0301/x", "-w-cafx--x", true}, // too many is fine: the recorded directory decides
		{"/w/caf\u00e9/x", "-w-tea--x", false},
	} {
		if got := newMatcher([]string{c.dir}).match(c.folder); got != c.want {
			t.Errorf("directory %q, folder %q: %v, want %v", c.dir, c.folder, got, c.want)
		}
	}
}

// The folder that a reference client names is always among the candidates, and
// so is ours.
func TestMatcherProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir := rapid.StringMatching(`(/|[A-D]:\\)([a-zA-Z0-9 _.외é😀\-]{1,30}[/\\]){0,8}`).Draw(t, "dir")
		m := newMatcher([]string{dir})
		if !m.match(theirFolder(dir)) || !m.match(Slug(dir)) || !m.match(strings.ToUpper(Slug(dir))) {
			t.Fatalf("a folder of %q is no candidate", dir)
		}
	})
}
