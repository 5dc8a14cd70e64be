package legacy

import (
	"context"
	"time"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/state"
)

// whole is the row of table locks that stands for the whole state; it is no node id. Next
// to it stands one for every recorded node, which is what the other releases look at.
const whole = "*"

// Take locks the whole state; like the holds of the other releases it ends after ttl. Any
// hold of somebody else that has not ended is a LockError. Epochs are the fences that the
// other releases mint as well (ST-8a).
func (f Form) Take(ctx context.Context, c Conn, holder string, ttl time.Duration) (model.Fence, error) {
	// The counter first: its row is what everybody who takes a lock waits for.
	epoch, err := f.mint(ctx, c)
	if err != nil {
		return model.Fence{}, err
	}
	holds, err := f.rows(ctx, c)
	if err != nil {
		return model.Fence{}, err
	}
	for _, h := range holds {
		if h.Holder != holder && h.Remaining.Seconds() >= -f.Margin {
			return model.Fence{}, h.Held()
		}
	}
	if _, err := c.Exec(ctx, "delete from locks"); err != nil {
		return model.Fence{}, err
	}
	_, err = c.Exec(ctx, "insert into locks (node_id, owner, expires_at, fence) select n.id, cast($1 as text), "+f.Now()+" + cast($2 as double precision), cast($3 as bigint) from (select id from nodes union select '"+whole+"') n",
		holder, ttl.Seconds(), epoch)
	return model.Fence{Epoch: epoch, Holder: holder}, err
}

func (f Form) mint(ctx context.Context, c Conn) (int64, error) {
	if _, err := c.Exec(ctx, "insert into meta (key, value) values ('fence', '0') on conflict (key) do nothing"); err != nil {
		return 0, err
	}
	if _, err := c.Exec(ctx, "update meta set value = cast(cast(value as bigint) + 1 as text) where key = 'fence'"); err != nil {
		return 0, err
	}
	text, err := f.meta(ctx, c, "fence")
	if err != nil {
		return 0, err
	}
	return count(text)
}

// Minted is the counter of fences.
func (f Form) Minted(ctx context.Context, c Conn) (int64, error) {
	text, err := f.meta(ctx, c, "fence")
	if err != nil || text == "" {
		return 0, err
	}
	return count(text)
}

// Renew moves the end of the fence's hold; false when it is not its any more.
func (f Form) Renew(ctx context.Context, c Conn, fence model.Fence, ttl time.Duration) (bool, error) {
	if held, err := f.Holds(ctx, c, fence); err != nil || !held {
		return false, err
	}
	_, err := c.Exec(ctx, "update locks set expires_at = "+f.Now()+" + cast($1 as double precision) where owner = $2 and fence = $3", ttl.Seconds(), fence.Holder, fence.Epoch)
	return err == nil, err
}

// Release drops the fence's hold, if it is still there.
func (f Form) Release(ctx context.Context, c Conn, fence model.Fence) error {
	_, err := c.Exec(ctx, "delete from locks where owner = $1 and fence = $2", fence.Holder, fence.Epoch)
	return err
}

// Holds reports whether the fence holds the whole state.
func (f Form) Holds(ctx context.Context, c Conn, fence model.Fence) (held bool, err error) {
	err = c.Query(ctx, "select 1 from locks where node_id = '"+whole+"' and owner = $1 and fence = $2",
		func(func(...any) error) error { held = true; return nil }, fence.Holder, fence.Epoch)
	return held && fence.Holder != "", err
}

// Listed is every hold; one of the whole state is listed once.
func (f Form) Listed(ctx context.Context, c Conn) ([]state.Hold, error) {
	holds, err := f.rows(ctx, c)
	var listed []state.Hold
	owner := ""
	for _, h := range holds { // '*' comes before every node id
		if h.Node == "" {
			owner = h.Holder
		} else if h.Holder == owner {
			continue
		}
		listed = append(listed, h)
	}
	return listed, err
}

// Break ends every hold of one holder and mints a fence beyond theirs.
func (f Form) Break(ctx context.Context, c Conn, holder string) (held bool, err error) {
	if _, err := f.mint(ctx, c); err != nil {
		return false, err
	}
	broken, err := c.Exec(ctx, "delete from locks where owner = $1", holder)
	return broken > 0, err
}

// rows are the rows of table locks, that of the whole state with no node.
func (f Form) rows(ctx context.Context, c Conn) (holds []state.Hold, err error) {
	err = c.Query(ctx, "select node_id, owner, fence, expires_at - "+f.Now()+" from locks order by case node_id when '"+whole+"' then 0 else 1 end, node_id",
		func(scan func(...any) error) error {
			h := state.Hold{Lapses: true}
			var seconds float64
			if err := scan(&h.Node, &h.Holder, &h.Epoch, &seconds); err != nil {
				return err
			}
			if h.Node == whole {
				h.Node = ""
			}
			h.Remaining = time.Duration(min(max(seconds, -1e9), 1e9) * float64(time.Second))
			holds = append(holds, h)
			return nil
		})
	return holds, err
}
