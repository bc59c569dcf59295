// Package replay drives a recorded session through the engine, entry by entry,
// without a model: the requests that would have been sent are prepared, validated
// and sized, every rung of the ladder that fires is noted, and what they would
// have cost is added up, for Varve and for approximations of what other agents do.
//
// It is for seeing what a policy does to a real session, for comparing policies,
// and for continuing a recording: the replay of Varve's own policy leaves a
// session behind. It draws nothing and knows no flags; what it returns is data.
// It does not judge the recorded agent: replies and results are taken as recorded,
// whatever another policy would have made the model say.
//
// Start with [FromLog] for a recording and [Run] for a replay of it.
//
// What is guaranteed: the same recording and options give the same figures, apart
// from those in milliseconds; every request counted passed the independent
// validator; what a replay did not count is said in [Result].Notes.
package replay
