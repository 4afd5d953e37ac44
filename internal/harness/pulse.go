package harness

import (
	"sync"
	"time"

	"varve/internal/harness/drive"
)

// A Pulse is what passes while a job runs.
type Pulse = drive.Pulse

// Pulses is a mailbox with one slot for each kind of each job: a new pulse
// takes the place of the old one, and a reader that is slow sees fewer.
type Pulses struct {
	mu      sync.Mutex
	slots   []Pulse
	version uint64
	moved   chan struct{} // nil while nobody waits
}

// put replaces the pulse of the same job and kind.
func (p *Pulses) put(n Pulse) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.slots {
		if p.slots[i].Job == n.Job && p.slots[i].Kind == n.Kind && p.slots[i].Name == n.Name {
			n.Began = p.slots[i].Began
			p.slots[i] = n
			p.wake()
			return
		}
	}
	p.slots = append(p.slots, n)
	p.wake()
}

// grow appends to the text of a pulse. Readers hold older prefixes of it.
func (p *Pulses) grow(job, kind, name string, text []byte, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.slots {
		s := &p.slots[i]
		if s.Job == job && s.Kind == kind && s.Name == name {
			s.Text = append(s.Text, text...)
			s.Last = now
			p.wake()
			return
		}
	}
	p.slots = append(p.slots, Pulse{Job: job, Kind: kind, Name: name, Text: append(make([]byte, 0, 1024), text...), Began: now, Last: now})
	p.wake()
}

// drop takes back everything of a job.
func (p *Pulses) drop(job string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.slots[:0:0]
	for _, s := range p.slots {
		if s.Job != job {
			kept = append(kept, s)
		}
	}
	if len(kept) != len(p.slots) {
		p.slots = kept
		p.wake()
	}
}

// touch wakes the readers, though nothing of a job has changed.
func (p *Pulses) touch() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake()
}

// wake must be called with mu held.
func (p *Pulses) wake() {
	p.version++
	if p.moved != nil {
		close(p.moved)
		p.moved = nil
	}
}

// Read returns what is there, and the version to wait behind.
func (p *Pulses) Read() ([]Pulse, uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Pulse(nil), p.slots...), p.version
}

// Moved returns a channel that is closed once there is something newer than a
// version.
func (p *Pulses) Moved(version uint64) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.version > version {
		done := make(chan struct{})
		close(done)
		return done
	}
	if p.moved == nil {
		p.moved = make(chan struct{})
	}
	return p.moved
}
