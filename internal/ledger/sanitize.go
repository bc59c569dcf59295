package ledger

// This file makes a state that was read obey the rules that a state which was
// computed obeys by construction. Of a genuine checkpoint it changes nothing.

func inline(s *string, n int) { *s = oneLine(*s, n) }

func multi(s *string, n int) { *s = clip(clean(clip(*s, 2*n)), n) }

func whole(n *int) { *n = min(max(*n, 0), 1<<40) }

func bound[T any](list *[]T, n int) {
	if len(*list) > n {
		*list = (*list)[len(*list)-n:]
	}
}

func (l *Ledger) sanitize() {
	multi(&l.state.Upto, maxID)
	whole(&l.N)
	bound(&l.Recent, recentSize)
	inline(&l.CWD, maxPath)
	inline(&l.Branch, maxID)
	bound(&l.Branches, 20)
	for i := range l.Branches {
		inline(&l.Branches[i], maxID)
	}
	for i := range l.Words {
		l.Words[i].sanitize()
	}
	bound(&l.Queue, maxQueue)
	for i := range l.Queue {
		q := &l.Queue[i]
		inline(&q.Op, 40)
		inline(&q.Time, 40)
		multi(&q.Text, maxWord)
	}
	l.sanitizeFiles()
	l.sanitizeRuns()
	bound(&l.Stated, maxDecisions)
	for i := range l.Stated {
		inline(&l.Stated[i].Text, 2*maxDecision)
		whole(&l.Stated[i].At)
	}
	sanitizeTasks(&l.Todos)
	sanitizeTasks(&l.Tasks)
	whole(&l.TodosAt)
	whole(&l.TasksAt)
	multi(&l.Plan.Text, maxPlan)
	inline(&l.Plan.File, maxPath)
	whole(&l.Plan.At)
	multi(&l.Said, maxSaid)
	whole(&l.SaidAt)
	multi(&l.Earlier.Text, maxSummary)
	inline(&l.Earlier.Source, 40)
	l.sanitizeCalls()
	for _, n := range []*int{&l.Lost.Reads, &l.Lost.Runs, &l.Lost.Fails, &l.Lost.Decisions, &l.Lost.Calls, &l.Lost.Queued} {
		whole(n)
	}
}

func (w *word) sanitize() {
	switch w.Kind {
	case wordPrompt, wordQueued, wordCommand, wordRefusal, wordAnswer:
	default:
		w.Kind = wordPrompt
	}
	multi(&w.ID, maxID)
	multi(&w.Text, maxWord)
	inline(&w.On, 2*maxTaskText)
	inline(&w.From, 60)
	inline(&w.Time, 40)
	whole(&w.More)
	whole(&w.Lost)
}

func (l *Ledger) sanitizeFiles() {
	seen := make(map[string]bool, len(l.Files))
	kept := l.Files[:0]
	for _, f := range l.Files {
		inline(&f.Path, maxPath)
		f.Key = clip(clean(f.Key), 3*maxPath)
		if seen[f.Key] || f.Path == "" {
			continue
		}
		seen[f.Key] = true
		inline(&f.Hash, hashDigits)
		for _, n := range []*int{&f.Reads, &f.Edits, &f.Writes, &f.Deletes, &f.Tries, &f.ReadAt, &f.DoneAt} {
			whole(n)
		}
		kept = append(kept, f)
	}
	l.Files = kept
}

func (l *Ledger) sanitizeRuns() {
	bound(&l.Runs, maxRuns)
	for i := range l.Runs {
		r := &l.Runs[i]
		multi(&r.Cmd, maxCommand)
		inline(&r.Tool, maxID)
		inline(&r.Session, 40)
		inline(&r.Out, 8*maxLine)
		whole(&r.N)
		whole(&r.At)
	}
	bound(&l.Fails, maxFails)
	for i := range l.Fails {
		f := &l.Fails[i]
		multi(&f.Key, maxCommand)
		multi(&f.What, maxCommand)
		inline(&f.Out, 8*maxLine)
		multi(&f.Then, maxCommand)
		multi(&f.Wider, maxCommand)
		bound(&f.By, maxFixes)
		for k := range f.By {
			inline(&f.By[k], maxPath)
		}
		for _, n := range []*int{&f.N, &f.At, &f.Fixed, &f.More} {
			whole(n)
		}
	}
}

func sanitizeTasks(list *[]Task) {
	bound(list, maxTasks)
	for i := range *list {
		t := &(*list)[i]
		inline(&t.ID, maxID)
		inline(&t.Text, maxTaskText)
		multi(&t.Detail, maxTaskDetail)
		inline(&t.Status, 40)
	}
}

func (l *Ledger) sanitizeCalls() {
	bound(&l.Calls, maxOpen)
	seen := map[string]bool{}
	kept := l.Calls[:0]
	for _, c := range l.Calls {
		multi(&c.ID, maxID)
		if c.ID == "" || seen[c.ID] {
			continue
		}
		seen[c.ID] = true
		inline(&c.Name, maxID)
		inline(&c.Dir, maxPath)
		inline(&c.Path, maxPath)
		inline(&c.Hash, hashDigits)
		multi(&c.Cmd, maxCommand)
		inline(&c.Text, maxTaskText)
		multi(&c.Detail, maxTaskDetail)
		inline(&c.Session, 40)
		bound(&c.Changes, maxChanges)
		for i := range c.Changes {
			inline(&c.Changes[i].Path, maxPath)
			inline(&c.Changes[i].Hash, hashDigits)
		}
		whole(&c.At)
		kept = append(kept, c)
	}
	l.Calls = kept
	bound(&l.Early, maxOpen)
	for i := range l.Early {
		o := &l.Early[i]
		multi(&o.ID, maxID)
		multi(&o.Said, maxWord)
		inline(&o.Session, 40)
		inline(&o.Line, 8*maxLine)
		inline(&o.Note, 8*maxLine)
		inline(&o.Hash, hashDigits)
		inline(&o.Path, maxPath)
		inline(&o.TaskID, maxID)
		sanitizeTasks(&o.Tasks)
		bound(&o.Answers, 50)
		for k := range o.Answers {
			o.Answers[k].sanitize()
		}
		multi(&o.Plan, maxPlan)
	}
}
