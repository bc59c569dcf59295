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
	multi(&l.s.Upto, maxID)
	whole(&l.s.N)
	bound(&l.s.Recent, recentSize)
	inline(&l.s.CWD, maxPath)
	inline(&l.s.Branch, maxID)
	bound(&l.s.Branches, 20)
	for i := range l.s.Branches {
		inline(&l.s.Branches[i], maxID)
	}
	for i := range l.s.Words {
		l.s.Words[i].sanitize()
	}
	bound(&l.s.Queue, maxQueue)
	for i := range l.s.Queue {
		q := &l.s.Queue[i]
		inline(&q.Op, 40)
		inline(&q.Time, 40)
		multi(&q.Text, maxWord)
	}
	l.sanitizeFiles()
	l.sanitizeRuns()
	bound(&l.s.Stated, maxDecisions)
	for i := range l.s.Stated {
		inline(&l.s.Stated[i].Text, 2*maxDecision)
		whole(&l.s.Stated[i].At)
	}
	sanitizeTasks(&l.s.Todos)
	sanitizeTasks(&l.s.Tasks)
	whole(&l.s.TodosAt)
	whole(&l.s.TasksAt)
	multi(&l.s.Plan.Text, maxPlan)
	inline(&l.s.Plan.File, maxPath)
	whole(&l.s.Plan.At)
	multi(&l.s.Said, maxSaid)
	whole(&l.s.SaidAt)
	multi(&l.s.Earlier.Text, maxSummary)
	inline(&l.s.Earlier.Source, 40)
	l.sanitizeCalls()
	for _, n := range []*int{&l.s.Lost.Reads, &l.s.Lost.Runs, &l.s.Lost.Fails, &l.s.Lost.Decisions, &l.s.Lost.Calls, &l.s.Lost.Queued, &l.s.Lost.Words, &l.s.Lost.Changed} {
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
	seen := make(map[string]bool, len(l.s.Files))
	kept := l.s.Files[:0]
	for _, f := range l.s.Files {
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
	l.s.Files = kept
}

func (l *Ledger) sanitizeRuns() {
	bound(&l.s.Runs, maxRuns)
	for i := range l.s.Runs {
		r := &l.s.Runs[i]
		multi(&r.Cmd, maxCommand)
		inline(&r.Tool, maxID)
		inline(&r.Session, 40)
		inline(&r.Out, 8*maxLine)
		whole(&r.N)
		whole(&r.At)
	}
	bound(&l.s.Fails, maxFails)
	for i := range l.s.Fails {
		f := &l.s.Fails[i]
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
	bound(&l.s.Calls, maxOpen)
	seen := map[string]bool{}
	kept := l.s.Calls[:0]
	for _, c := range l.s.Calls {
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
	l.s.Calls = kept
	bound(&l.s.Early, maxOpen)
	for i := range l.s.Early {
		o := &l.s.Early[i]
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
