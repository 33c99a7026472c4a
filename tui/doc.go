// Package tui is the terminal UI: it shows a log while it is written, or a
// recording, and lets one walk from a client that is not in sync to the message
// and the rule that say why.
//
// It reads the log and nothing else: what it shows live is what the recording
// shows later. Package tui/index reads along; the screen is told nothing, it
// looks at most twelve times a second whether there is more, and draws only what
// is visible. It never holds up who writes the log.
//
// A view is one screen: its keys, what they do, and how it is drawn, as a
// function of what is known, the size, the clock and the theme. The packages of
// tui/view have one each, and know the screen as a view.Screen only. Words come
// first and colours beside them. The package judges nothing: what messages mean comes
// from packages decode and check, texts from internal/render.
package tui
