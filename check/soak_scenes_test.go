package check_test

import "time"

// soakScene is a way in which a mesh lives for weeks.
type soakScene struct {
	name        string
	short, long soakSize
	begin       func(w *soakWorld, z soakSize) soakPlay
	fills       bool // enough is past to fill the budget
}

type soakSize struct{ clients, names, rounds int }

// soakPlay is a scene that has begun: everybody has connected once. Where
// clients stay, warm gives them their first pushes. Each round is then as the
// one before.
type soakPlay struct {
	warm  func()
	round func(n int)
}

// soakWarm is how many pushes everybody gets who stays, before what lives is
// measured: more than the 16 responses of a type that a stream knows in full.
const soakWarm = 20

func soakScenes() []soakScene {
	return []soakScene{
		{"reconnects", soakSize{4, 60, 24}, soakSize{15, 400, 50}, soakReconnects, true},
		{"short-lived", soakSize{0, 20, 400}, soakSize{0, 40, 5000}, soakShortLived, true},
		{"pushes", soakSize{12, 60, 120}, soakSize{200, 250, 500}, soakPushes, false},
		{"day", soakSize{30, 50, 180}, soakSize{200, 250, 24 * 60}, func(w *soakWorld, z soakSize) soakPlay { return soakDay(w, z, false) }, true},
		{"day-delta", soakSize{30, 50, 180}, soakSize{200, 250, 24 * 60}, func(w *soakWorld, z soakSize) soakPlay { return soakDay(w, z, true) }, true},
		{"polls", soakSize{4, 20, 10}, soakSize{20, 50, 24 * 60}, soakPolls, false},
		{"own", soakSize{6, 50, 100}, soakSize{50, 200, 300}, soakOwn, false},
	}
}

func warmly(push func(n int)) func() {
	return func() {
		for n := range soakWarm {
			push(n)
		}
	}
}

// crowd connects clients to a mesh.
func crowd(m *soakMesh, n int) []*soakClient {
	all := make([]*soakClient, n)
	for i := range all {
		all[i] = newSoakClient(m, i)
		all[i].join()
	}
	return all
}

// Clients get some pushes that change all endpoints, leave and come back, round
// after round.
func soakReconnects(w *soakWorld, z soakSize) soakPlay {
	m := newSoakMesh(w, z.names, false)
	all := crowd(m, z.clients)
	pushes := func() {
		for range soakWarm {
			w.rest(time.Minute)
			m.change(0, z.names)
			for _, c := range all {
				c.push()
			}
		}
	}
	return soakPlay{pushes, func(int) {
		for _, c := range all {
			c.leave()
			c.join()
		}
		pushes()
	}}
}

// Clients come that were never there before, get two pushes, and leave for
// good. Four of them are there at a time.
func soakShortLived(w *soakWorld, z soakSize) soakPlay {
	m := newSoakMesh(w, z.names, false)
	all := crowd(m, 4)
	born := len(all)
	return soakPlay{func() {}, func(int) {
		w.rest(5 * time.Second)
		m.change(born, 2)
		for _, c := range all {
			c.push()
		}
		all[0].leave()
		born++
		c := newSoakClient(m, born)
		c.join()
		all = append(all[1:len(all):len(all)], c)
	}}
}

// Nobody leaves. Each push changes the endpoints of all, and all get the same.
func soakPushes(w *soakWorld, z soakSize) soakPlay {
	m := newSoakMesh(w, z.names, false)
	all := crowd(m, z.clients)
	push := func(int) {
		w.rest(time.Second)
		m.change(0, z.names)
		for _, c := range all {
			c.push()
		}
	}
	return soakPlay{warmly(push), push}
}

// A minute of a day: a thirtieth of the clients connects anew, and the
// endpoints of three clusters change.
func soakDay(w *soakWorld, z soakSize, delta bool) soakPlay {
	m := newSoakMesh(w, z.names, delta)
	all := crowd(m, z.clients)
	push := func(n int) {
		w.rest(time.Minute)
		m.change(3*n, 3)
		for _, c := range all {
			if delta {
				c.tellDelta(endpointsURL, m.last(3*n, 3))
			} else {
				c.push()
			}
		}
	}
	return soakPlay{warmly(push), func(n int) {
		for i := n % 30; i < len(all); i += 30 {
			all[i].leave()
			all[i].join()
		}
		push(soakWarm + n)
	}}
}

// Each client is at a server of its own making: no name of a version, no
// nonce and no endpoint is another's.
func soakOwn(w *soakWorld, z soakSize) soakPlay {
	all := make([]*soakClient, z.clients)
	for i := range all {
		m := newSoakMesh(w, z.names, false)
		m.prefix, m.push = soakNode(i)[8:20]+"/", (i+1)<<16
		m.change(0, z.names)
		all[i] = newSoakClient(m, i)
		all[i].join()
	}
	push := func(int) {
		w.rest(time.Second)
		for _, c := range all {
			c.mesh.change(0, z.names)
			c.push()
		}
	}
	return soakPlay{warmly(push), push}
}
