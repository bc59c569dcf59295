package tokens

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"varve.dev/message"
)

// G-7: estimates with a memo are those without, asked once or again, when it has
// forgotten, and by several goroutines.
func TestMemo(t *testing.T) {
	var blocks []message.Block
	for i := range 60 {
		text := strings.Repeat(fmt.Sprintf("word%d Ünicode {\"json\": %d}\n", i, i*i), i*3+1)
		call, err := message.ToolUse(fmt.Sprintf("t%d", i), "Read", []byte(fmt.Sprintf(`{"path":%q}`, text)))
		if err != nil {
			t.Fatal(err)
		}
		blocks = append(blocks, message.Text(text), message.ToolResult("t", false, message.Text(text[:len(text)/2])), call)
	}
	e := Estimator{Memo: NewMemo()}
	e.Memo.most = 50 // a part of what is asked for
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for range 2 {
				for i, b := range blocks {
					if got, want := e.Block(b), (Estimator{}).Block(b); got != want {
						t.Errorf("block %d: %d with a memo, %d without", i, got, want)
					}
				}
			}
		})
	}
	wg.Wait()
	if got, want := e.Message(message.Assistant(blocks...)), (Estimator{}).Message(message.Assistant(blocks...)); got != want {
		t.Errorf("message: %d with a memo, %d without", got, want)
	}
}
