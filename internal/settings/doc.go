// Package settings reads the layers of configuration and answers questions
// about them: what is the value of a key, where does it come from, may that
// place set it at all.
//
// It does not know what a key is for, does not write settings files and does
// not decide whether a project is trusted: the caller says so in
// [Options.Trusted]. Defaults live with the code that uses them.
//
// Start with [Load], which never fails, and the typed methods of [View], which
// [Settings] has: Bool, Int, Float, String, Duration, Strings, Raw, Members.
// Then show [Settings.Problems] once.
//
// The guarantees:
//   - The strongest layer that sets a key decides (O-3, see [Layer]); lists of
//     permissions and the like are the union of all layers, objects are merged
//     member by member ([Rule.Merge]).
//   - A file that cannot be read or parsed is left out as a whole, is named with
//     line and column, and [Settings.Complete] is false from then on, so that
//     whatever deletes or opens something can fail closed.
//   - A value of the wrong type is an error of that value, never silently the
//     value of a weaker layer.
//   - What a layer may not set ([Rule.From]) is taken out before anything can
//     see it and listed by [Settings.Withheld] with the reason. A project cannot
//     redirect credentials, move homes, change the permission mode or weaken the
//     sandbox; what it makes execute waits until the user trusted the folder.
//   - Unknown keys are kept and listed ([Settings.Unknown]).
//
// A Settings value never changes after Load and may be used from many
// goroutines.
package settings
