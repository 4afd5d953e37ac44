// Package paint puts a view on the terminal when it changed.
//
// [Run] drives an ordinary Bubble Tea model on a full screen. Bubble Tea stays the message loop and the
// runner of commands; its renderer, which wakes up for every frame, is replaced by ours over the same cell
// difference (Ultraviolet's). It uses public means only and carries no patched copy (TUI-13).
//
// When it paints: at once if a key, a paste, a click or a new size caused the change; else as soon as the
// last paint is a frame old (see [Paced]); never while nothing changed. Input that is already waiting is
// handled before its paint, so a burst of keys costs a few frames and not one per key.
//
// The order of a paint, and the reason: the first frame leaves before any question is put to the terminal,
// and questions (synchronized output, width of clusters, keyboard, background colour) leave behind it in the
// same write. Answers arrive as messages; nothing waits for them (TUI-1).
//
// What the model may rely on:
//   - Update is called first with a [tea.WindowSizeMsg], after Init and before the first View; never with a
//     size of zero. It is called again whenever the size differs, also after a suspend or an editor.
//   - [tea.BackgroundColorMsg] arrives once if the terminal answers (IsDark tells light from dark).
//   - A paste is one [tea.PasteMsg] of valid UTF-8, of any size; its control bytes are the model's to strip.
//   - Shift+Enter, Alt+Enter and Ctrl+J are distinguishable keys in every encoding that terminals send.
//   - [tea.SuspendMsg] (from [tea.Suspend]) stops the process and comes back as [tea.ResumeMsg].
//   - A panic in Init, Update, View or any command ends Run with a [*PanicError], terminal restored.
//
// What it must not do: use [tea.Exec], [tea.SetClipboard] and the other terminal commands of Bubble Tea, whose
// private messages cannot be served from outside (use [Exec], [SetClipboard], [Bell], [Notify], [Redraw],
// [tea.Raw]); rely on View for every message (it is called once per paint); set View.OnMouse, inline mode,
// progress bar, program status or colours of the terminal, which are not carried.
//
// It rests on behaviour of Bubble Tea v2.1.1 that is not promised: WithoutRenderer still runs a ticker, and
// ReleaseTerminal stops it. The version is pinned, and the tests that run under a pty hold it.
package paint
