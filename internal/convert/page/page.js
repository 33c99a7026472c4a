'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const $ = (id) => document.getElementById(id);

// Text. What is not printable is shown as an escape, as everywhere in xdsproxy.
const odd = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;
function escaped(c) {
	const n = c.codePointAt(0);
	if (n < 0x80) return { '\n': '\\n', '\t': '\\t', '\r': '\\r' }[c] || '\\x' + n.toString(16).padStart(2, '0');
	return n > 0xffff ? '\\U' + n.toString(16).padStart(8, '0') : '\\u' + n.toString(16).padStart(4, '0');
}
const safe = (s) => String(s).replace(odd, escaped);
const safeLines = (s) => String(s).split('\n').map((l) => l.split('\t').map(safe).join('\t')).join('\n');
const cut = (s, n) => (s.length > n ? s.slice(0, n - 1) + '…' : s);
const middle = (s, n) => (s.length > n ? s.slice(0, n >> 1) + '…' + s.slice(1 - n + (n >> 1)) : s); // ids differ at their ends
const count = (n, one, many) => n.toLocaleString('en-US') + ' ' + (n === 1 ? one : many);
function size(n) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
	let i = 0;
	for (; n >= 1023.5 && i < units.length - 1; i++) n /= 1024;
	return (n < 10 && i > 0 ? Math.round(n * 10) / 10 : Math.round(n)) + ' ' + units[i];
}
const clock = (t) => (t || '').slice(11, 23);
const day = (t) => (t ? t.slice(0, 10) + ' ' + t.slice(11, 23) + ' UTC' : '');

// Elements are made of names that stand here and of text: nothing is parsed.
function el(name, how, ...inside) {
	const e = document.createElement(name);
	for (const [k, v] of Object.entries(how || {})) {
		if (v === undefined || v === null || v === false) continue;
		if (k === 'class') e.className = v;
		else e.setAttribute(k, v === true ? '' : v);
	}
	e.append(...inside.flat().filter((x) => x !== undefined && x !== null && x !== ''));
	return e;
}
const own = (s) => el('bdi', {}, safe(s)); // a text that somebody else chose
const apart = (...parts) => parts.flatMap((p, i) => (i ? [' ', p] : [p])); // words that are read one after the other
const named = (s) => own(middle(safe(s), 160)); // a name where an entry has all of it
const link = (seq) => el('a', { href: '#' + seq }, String(seq));
const links = (seqs) => seqs.flatMap((s, i) => (i ? [', ', link(s)] : [link(s)]));
const piece = (id) => (id === null || id === undefined ? undefined : data.parts[id]);

// Entries, and what is left out between them, in order.
const [CLIENT, TYPE, WHAT, VERSION, RES, SUMMARY, SIGN, LABEL] = [0, 1, 2, 3, 4, 5, 6, 7];
const items = [];
const bySeq = new Map();
{
	let i = 0;
	for (const e of data.entries) {
		while (i < data.left_out.length && data.left_out[i].first < e.seq) items.push({ sum: data.left_out[i++] });
		const l = e.line;
		e.cells = [l.client || e.client || '', e.type || '', l.what || e.what || '', l.version || e.version || '', l.res || '', l.summary || '', l.sign || '', l.label || ''];
		bySeq.set(e.seq, e);
		items.push({ e });
	}
	while (i < data.left_out.length) items.push({ sum: data.left_out[i++] });
}
const findingsOf = new Map();
data.findings.forEach((f, i) => {
	for (const seq of new Set([...f.seqs, f.last_seq || 0])) {
		if (!findingsOf.has(seq)) findingsOf.set(seq, []);
		findingsOf.get(seq).push(i);
	}
});
const evidenceOf = new Map(data.evidence.map((v) => [v.finding, v]));

function sumText(s) {
	const kinds = Object.entries(s.what).sort((a, b) => b[1] - a[1]).slice(0, 6).map(([w, n]) => n.toLocaleString('en-US') + ' ' + safe(w));
	return count(s.entries, 'entry', 'entries') + ' left out for room, ' + s.first + ' to ' + s.last + ': ' + kinds.join(', ') + '; ' + size(s.bytes);
}
function look(e) {
	if (e.cells[SIGN] === '!' || e.cells[WHAT] === 'NACK') return 'bad';
	if (e.cells[SIGN] === '~') return 'warned';
	if (e.cells[WHAT] === 'ACK') return 'good';
	if (e.cells[WHAT] === 'RESP' || e.cells[WHAT] === 'DELTA') return 'accent';
	return e.kind === 'message' ? '' : 'muted';
}
const signs = { '!': 'error', '~': 'warning', '*': 'mark' };

// Trees of values, folded; what is inside is made when it is opened.
const fills = new WeakMap();
function about(v) {
	if (Array.isArray(v)) return '[' + count(v.length, 'item', 'items') + ']';
	const of = v.name || v.cluster_name || v.id;
	const type = typeof v['@type'] === 'string' ? v['@type'].split('.').pop() : '';
	return [type, typeof of === 'string' ? of : ''].filter(Boolean).map((s) => cut(safe(s), 90)).join(' ') || '{' + Object.keys(v).length + '}';
}
function scalar(v) {
	if (v === undefined) return el('span', { class: 'muted' }, '(left out: too large for this page)');
	if (typeof v === 'string' && v.includes('\n')) return el('pre', {}, safeLines(v));
	if (typeof v === 'number' && Number.isInteger(v) && !Number.isSafeInteger(v)) return el('span', {}, '≈ ' + v);
	return el('span', { class: 'of' }, typeof v === 'string' ? (v === '' ? '""' : safe(v)) : String(v));
}
function node(key, v, depth) {
	const name = key === null ? el('span', { class: 'muted' }, '- ') : el('span', { class: 'key' }, safe(key) + ':');
	if (v === null || typeof v !== 'object' || Object.keys(v).length === 0) {
		const text = v !== null && typeof v === 'object' ? el('span', {}, Array.isArray(v) ? '[]' : '{}') : scalar(v);
		return el('li', { class: 'leaf' }, name, ' ', text);
	}
	const details = el('details', {}, el('summary', {}, name, ' ', el('span', { class: 'muted of' }, about(v))));
	const fill = () => {
		if (!fills.delete(details)) return;
		const list = el('ul');
		const entries = Array.isArray(v) ? Array.from(v, (x) => [null, x]) : Object.entries(v);
		const more = (from) => {
			list.append(...entries.slice(from, from + 200).map(([k, x]) => node(k, x, depth - 1)));
			const rest = entries.length - from - 200;
			if (rest <= 0) return;
			const button = el('button', { type: 'button' }, count(rest, 'more', 'more'));
			button.addEventListener('click', () => { button.parentNode.remove(); more(from + 200); });
			list.append(el('li', {}, button));
		};
		more(0);
		details.append(list);
	};
	fills.set(details, fill);
	details.addEventListener('toggle', () => { if (details.open) fill(); });
	if (depth > 0 && key !== 'node') { // which is long, and mostly not the point
		fill();
		details.open = true;
	}
	return el('li', {}, details);
}
function tree(v, depth) {
	if (v === null || typeof v !== 'object') return el('ul', { class: 'tree' }, el('li', { class: 'leaf' }, scalar(v)));
	return el('ul', { class: 'tree' }, ...Object.entries(v).map(([k, x]) => node(Array.isArray(v) ? null : k, x, depth)));
}
function openAll(root) {
	let left = 2000;
	for (let again = true; again && left > 0;) {
		again = false;
		for (const d of root.querySelectorAll('details:not([open])')) {
			if (left-- <= 0) return;
			if (fills.has(d)) { fills.get(d)(); again = true; }
			d.open = true;
		}
	}
}
function message(e) {
	if (e.message === undefined) return undefined;
	const m = { ...e.message };
	for (const [k, id] of Object.entries(e.parts || {})) m[k] = Array.isArray(id) ? id.map(piece) : piece(id);
	return m;
}

// Differences.
function difference(lines) {
	return el('div', { class: 'diff', role: 'group', 'aria-label': 'What differs', tabindex: '0' }, ...lines.map((l) => {
		const kind = { '-': 'gone', '+': 'new' }[l.sign] || '';
		const note = [l.note, l.equal ? count(l.equal, 'line equal', 'lines equal') : ''].filter(Boolean).join(', ');
		return el('div', { class: kind }, el('span', { class: 'sign' }, l.sign || ' '), el('span', { class: l.equal ? 'muted' : '' }, ' '.repeat(l.indent || 0) + safe(l.text)), note && el('span', { class: 'note' }, safe(note)));
	}));
}
const version = (v) => [v.seq ? ['entry ', link(v.seq)] : [], v.version ? [', version ', named(v.version)] : []].flat();
function resource(r) {
	const out = [el('h4', {}, safe(r.type) + ' ', named(r.name))];
	const was = el('p', { class: 'small' }, r.sent === 'rejected' ? 'Rejected: ' : 'Sent: ', ...version(r.now), '. ');
	if (!r.before) was.append('The client had accepted none before.');
	else was.append('Accepted before: ', ...version(r.before), r.same ? ', with the same content.' : '.');
	if (r.too_large) was.append(' The two are too large to be compared here.');
	out.push(was);
	if (r.lines) out.push(difference(r.lines));
	if (r.more_lines) out.push(el('p', { class: 'muted small' }, 'The difference goes on; see both entries in full.'));
	if (piece(r.content) !== undefined) {
		out.push(el('details', { open: !r.lines }, el('summary', { class: 'small' }, 'All of what was ' + (r.sent === 'rejected' ? 'rejected' : 'sent')), tree(piece(r.content), r.lines ? 1 : 2)));
	}
	return out;
}

// Findings.
const faults = { client: 'fault of the client', server: 'fault of the server', config: 'fault in the configuration' };
function finding(f, i) {
	const rule = data.rules[f.rule];
	const clients = f.clients && f.clients.length ? count(f.clients.length, 'client', 'clients') + (f.more_clients ? ' or more' : '') : undefined;
	const d = el('details', { class: 'finding ' + f.severity, id: 'finding-' + (i + 1) }, el('summary', {}, ...apart(
		el('span', { class: { error: 'bad', warning: 'warned' }[f.severity] || 'muted' }, f.severity),
		el('span', { class: 'title' }, rule.title),
		el('span', { class: 'small' }, faults[f.fault] || safe(f.fault)),
		el('span', { class: 'small muted' }, clients || (f.client ? named(f.client) : ''), f.type ? ' ' + safe(f.type) : '', f.count > 1 ? ' ' + count(f.count, 'time', 'times') : '', ' at ' + clock(f.at)))));
	const fill = () => {
		if (!fills.delete(d)) return;
		const proof = evidenceOf.get(i);
		const inside = el('div', {}, el('blockquote', {}, safeLines(f.message)));
		for (const r of (proof && proof.resources) || []) inside.append(...resource(r));
		if (proof && proof.left_out) inside.append(el('p', { class: 'muted small' }, count(proof.left_out, 'resource', 'resources') + ' more, left out for room.'));
		if (proof) {
			const steps = proof.seqs.map((s) => bySeq.get(s)).filter((e) => e && e.cells[LABEL]);
			if (steps.length) {
				inside.append(el('h4', {}, 'What happened'), el('div', { class: 'steps' },
					...steps.map((e) => el('a', { class: 'row step' + (f.seqs.includes(e.seq) ? ' about' : ''), href: '#' + e.seq }, ...step(e)))));
			}
		}
		const advice = el('dl', { class: 'advice' });
		const say = (what, ...words) => advice.append(el('dt', {}, what), el('dd', {}, ...words));
		const some = f.names.slice(0, 8);
		if (some.length) say('About', ...some.flatMap((n, k) => (k ? [', ', named(n)] : [named(n)])), f.names.length > some.length ? ' and ' + count(f.names.length - some.length, 'more', 'more') : '');
		say('What it means', rule.means);
		say('Usual causes', rule.causes);
		say('What to do', rule.next);
		say('Rule', el('code', {}, f.rule));
		say('Proved by', f.seqs.length === 1 ? 'entry ' : 'entries ', ...links(f.seqs));
		if (clients) say('Clients', ...f.clients.slice(0, 50).flatMap((c, n) => (n ? [', ', named(c)] : [named(c)])), f.clients.length > 50 ? ' and more' : '');
		d.append(el('div', { class: 'inside' }, inside, advice));
	};
	fills.set(d, fill);
	d.addEventListener('toggle', () => { if (d.open) fill(); });
	return d;
}
function drawFindings() {
	const s = data.summary;
	const words = [s.error && count(s.error, 'error', 'errors'), s.warning && count(s.warning, 'warning', 'warnings'), s.info && count(s.info, 'note', 'notes')].filter(Boolean);
	const whose = Object.entries(faults).map(([who, text]) => [text[0].toUpperCase() + text.slice(1), data.findings.filter((f) => f.fault === who && f.severity !== 'info').length]).filter(([, n]) => n);
	$('verdict').textContent = words.length ? words.join(', ') + '. ' + whose.map(([text, n]) => text + ': ' + n.toLocaleString('en-US') + '.').join(' ') : 'No rule found anything.';
	const list = $('finding-list');
	const notes = el('details', {}, el('summary', {}, count(s.info, 'note', 'notes')));
	data.findings.forEach((f, i) => (f.severity === 'info' ? notes : list).append(finding(f, i)));
	if (notes.childNodes.length > 1) list.append(notes);
	if (s.unlisted) list.append(el('p', { class: 'muted' }, 'And ' + s.unlisted.toLocaleString('en-US') + ' more findings, left out for room.'));
	const first = list.firstElementChild;
	if (first && fills.has(first)) {
		fills.get(first)();
		first.open = true;
	}
}

// The timeline: rows are made for what is in sight.
const list = $('list');
const rows = $('rows');
let shown = [];
let chosen = -1;
let rowHeight = 28;
let ladder = false;
let longest = 20; // of what is shown of a client's name

function step(e) {
	const way = e.side === 'client' ? 'to' : e.side === 'server' ? 'fro' : 'across';
	const event = e.kind !== 'message' && e.kind !== 'trailer' && e.kind !== 'cancel' && e.kind !== 'goaway' && e.kind !== 'open';
	const text = el('span', {}, (e.cells[SIGN] ? e.cells[SIGN] + ' ' : '') + safe(e.cells[LABEL] || e.cells[WHAT] + ' ' + e.cells[SUMMARY]));
	return [el('span', { class: 'right muted c-seq' }, String(e.seq)), el('span', { class: 'c-time muted' }, clock(e.time)), el('span', { class: 'right c-peer', title: safe(e.cells[CLIENT]) }, middle(safe(e.cells[CLIENT]), longest)),
		el('span', { class: ['lane', event ? 'across' : way, look(e), e.cells[WHAT] === 'NACK' ? 'nack' : ''].join(' ') }, text)];
}
function line(e) {
	const c = e.cells;
	const kind = look(e);
	const found = c[SUMMARY] ? '' : (e.findings || []).map((f) => data.rules[f.rule] && data.rules[f.rule].title).join(', ');
	const arrow = e.side === 'client' ? '→ ' : e.side === 'server' ? '← ' : '';
	return [el('span', { class: kind, 'aria-label': signs[c[SIGN]] || '' }, c[SIGN]), el('span', { class: 'right muted c-seq' }, String(e.seq)), el('span', { class: 'c-time' }, clock(e.time)),
		el('span', { class: 'c-client', title: safe(c[CLIENT]) }, middle(safe(c[CLIENT]), longest)), el('span', { class: 'c-type' }, safe(c[TYPE])), el('span', { class: 'c-what ' + kind }, arrow + safe(c[WHAT])),
		el('span', { class: 'c-version' }, safe(c[VERSION])), el('span', { class: 'c-summary' }, safe((c[RES] && e.kind === 'message' ? c[RES] + (c[RES] === '*' ? '  ' : ' res  ') : '') + c[SUMMARY] + found))];
}
function row(i) {
	const it = shown[i];
	const r = el('div', { id: 'row-' + i, role: 'option', 'aria-selected': String(i === chosen), 'aria-setsize': String(shown.length), 'aria-posinset': String(i + 1), class: 'row ' + (it.sum ? 'sum' : ladder ? 'step' : 'line') }, ...(it.sum ? [sumText(it.sum)] : ladder ? step(it.e) : line(it.e)));
	r.style.top = i * rowHeight + 'px';
	return r;
}
function draw() {
	const from = Math.max(0, Math.floor(list.scrollTop / rowHeight) - 8);
	const to = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / rowHeight) + 8);
	const all = [];
	for (let i = from; i < to; i++) all.push(row(i));
	if (chosen >= 0 && (chosen < from || chosen >= to)) all.push(row(chosen)); // what is active must be there
	rows.replaceChildren(...all);
	if (chosen >= 0) list.setAttribute('aria-activedescendant', 'row-' + chosen);
	else list.removeAttribute('aria-activedescendant');
}
function lay() {
	rowHeight = parseFloat(getComputedStyle(list).getPropertyValue('--row')) || 28;
	rows.style.height = Math.max(1, shown.length) * rowHeight + 'px';
	list.style.height = Math.max(1, shown.length) * rowHeight + 2 + 'px';
	draw();
}
function choose(i, move) {
	if (shown.length === 0) return;
	chosen = Math.max(0, Math.min(i, shown.length - 1));
	const top = chosen * rowHeight;
	if (top < list.scrollTop) list.scrollTop = top;
	else if (top + rowHeight > list.scrollTop + list.clientHeight) list.scrollTop = top + rowHeight - list.clientHeight + 2;
	if (move) list.scrollTop = top - list.clientHeight / 3;
	draw();
	detail(shown[chosen]);
}

// The filter.
let words; // of each entry, and of each piece
function values(v, out, keys) {
	if (v === null || v === undefined) return;
	if (typeof v !== 'object') out.push(String(v));
	else {
		for (const [k, x] of Object.entries(v)) {
			if (keys && !Array.isArray(v)) out.push(k);
			values(x, out, keys);
		}
	}
}
function textOf(v, keys) {
	const out = [];
	values(v, out, keys);
	return out.join('\n').toLowerCase();
}
function search(terms) {
	if (!words) {
		words = { parts: new Map(), entries: new Map() };
		for (const [id, v] of Object.entries(data.parts)) words.parts.set(Number(id), textOf(v, true));
		for (const e of data.entries) {
			const { parts, shared, lists, message: m, line: _, ...rest } = e;
			words.entries.set(e.seq, { text: textOf(rest, false) + '\n' + textOf(m, true), ids: [parts, shared, lists].flatMap((p) => Object.values(p || {}).flat()) });
		}
	}
	const hits = terms.map((t) => {
		const ids = new Set();
		for (const [id, text] of words.parts) if (text.includes(t)) ids.add(id);
		return { t, ids };
	});
	return (e) => {
		const w = words.entries.get(e.seq);
		return hits.every((h) => w.text.includes(h.t) || w.ids.some((id) => h.ids.has(id)));
	};
}
function options(select, all, of) {
	const counts = new Map();
	for (const e of data.entries) {
		const v = of(e);
		if (v) counts.set(v, (counts.get(v) || 0) + 1);
	}
	select.append(el('option', { value: '' }, all));
	for (const [v, n] of [...counts].sort((a, b) => (a[0] < b[0] ? -1 : 1)).slice(0, 2000)) {
		const o = el('option', {}, cut(safe(v), 60) + ' (' + n.toLocaleString('en-US') + ')');
		o.value = v;
		select.append(o);
	}
}
function filter() {
	const now = chosen >= 0 && shown[chosen];
	const terms = $('f-text').value.toLowerCase().split(/\s+/).filter(Boolean);
	const [client, type, kind] = ['f-client', 'f-type', 'f-kind'].map((id) => $(id).value);
	const matches = terms.length ? search(terms) : () => true;
	const plain = !terms.length && !client && !type && !kind;
	shown = items.filter((it) => {
		if (it.sum) return plain || kind === '*';
		const e = it.e;
		if (client && e.cells[CLIENT] !== client || type && e.cells[TYPE] !== type) return false;
		if (kind === '!' ? !findingsOf.has(e.seq) : kind === '' ? !e.cells[LABEL] : kind !== '*' && e.cells[WHAT] !== kind) return false;
		return matches(e);
	});
	ladder = $('f-view').value === 'ladder';
	$('lines').classList.toggle('ladder', ladder);
	const titles = ladder ? ['Entry', 'Time (UTC)', 'Client', 'Server'] : ['', 'Entry', 'Time (UTC)', 'Client', 'Type', 'What', 'Version', 'Summary'];
	$('head').replaceChildren(...titles.map((t) => el('span', { class: t === 'Entry' || t === 'Server' || ladder && t === 'Client' ? 'right' : '' }, t)));
	chosen = now ? shown.indexOf(now) : -1;
	list.scrollTop = 0;
	lay();
	if (chosen >= 0) choose(chosen, true);
	const of = data.report.entries;
	const quiet = plain ? data.entries.filter((e) => !e.cells[LABEL]).length : 0;
	$('count').textContent = count(shown.filter((it) => it.e).length, 'entry', 'entries') + ' of ' + of.toLocaleString('en-US') +
		(quiet ? '; ' + count(quiet, 'that tells nothing is hidden', 'that tell nothing are hidden') : '');
}

// One entry in full.
const ways = { client: 'client to server', server: 'server to client' };
function detail(it) {
	const box = $('detail');
	const back = el('button', { type: 'button', id: 'back' }, 'Back to the list');
	back.addEventListener('click', () => { list.focus(); list.scrollIntoView({ block: 'nearest' }); });
	if (it.sum) {
		box.replaceChildren(el('header', {}, el('h3', {}, 'Left out for room'), back), el('p', {}, sumText(it.sum)), el('p', { class: 'muted' }, 'The recording has them.'));
		return;
	}
	const e = it.e;
	const head = el('header', {}, el('h3', { class: look(e) }, e.seq + ' ' + safe(e.cells[WHAT] + ' ' + e.cells[TYPE])), back);
	const pairs = el('dl', { class: 'pairs' });
	const add = (k, ...v) => pairs.append(el('dt', {}, k), el('dd', {}, ...v));
	add('time', day(e.time));
	add('client', own(e.cells[CLIENT]), ways[e.side] ? ', ' + ways[e.side] : '');
	const skip = new Set(['seq', 'time', 'client', 'side', 'cells', 'message', 'parts', 'shared', 'lists', 'line', 'findings', 'type', 'what', 'problems', 'error', 'kind', 'size', 'wire_size']);
	const rest = {};
	for (const [k, id] of Object.entries({ ...e.shared, ...e.lists })) rest[k] = piece(id);
	for (const [k, v] of Object.entries(e)) {
		if (skip.has(k)) continue;
		if (['version', 'nonce', 'conn', 'stream', 'remark'].includes(k)) add(k, own(v));
		else rest[k] = v;
	}
	if (e.size) add('size', size(e.size) + (e.wire_size && e.wire_size !== e.size ? ', ' + size(e.wire_size) + ' on the wire' : ''));
	const out = [head];
	if (e.error) out.push(el('blockquote', {}, safeLines(e.error.message || 'code ' + e.error.code)));
	for (const p of e.problems || []) out.push(el('p', { class: 'notice small' }, own(p)));
	for (const i of findingsOf.get(e.seq) || []) {
		const f = data.findings[i];
		const a = el('a', { href: '#finding-' + (i + 1) }, data.rules[f.rule].title);
		out.push(el('p', { class: 'small' }, el('span', { class: { error: 'bad', warning: 'warned' }[f.severity] || 'muted' }, f.severity + ': '), a));
	}
	out.push(pairs);
	const m = message(e);
	if (Object.keys(rest).length) out.push(el('details', { open: m === undefined }, el('summary', { class: 'small muted' }, 'More about it'), tree(rest, m === undefined ? 2 : 0)));
	if (m !== undefined) {
		const all = el('button', { type: 'button' }, 'Unfold all');
		const body = tree(m, 1);
		all.addEventListener('click', () => openAll(body));
		out.push(el('header', {}, el('h4', {}, 'Message'), all), body);
	} else if (e.kind === 'message') out.push(el('p', { class: 'muted' }, 'The message was left out for room. The recording has it.'));
	box.replaceChildren(...out);
	box.scrollTop = 0;
}

// Clients.
function drawClients() {
	const box = $('client-list');
	const conns = new Map();
	for (const e of data.entries) if (e.conn && e.client) conns.set(e.conn, e.client);
	const fixed = data.entries.filter((e) => e.note && e.note.code === 'static');
	if (data.clients.length === 0) box.append(el('p', {}, 'None has named itself.'));
	for (const c of data.clients) {
		const d = el('details', { class: 'client' }, el('summary', {}, ...apart(el('span', {}, named(c.id)), el('span', { class: 'small' }, c.agent ? named(c.agent) : 'of unknown kind'),
			el('span', { class: 'small muted' }, count(c.streams, 'stream', 'streams') + ', ' + count(c.messages, 'message', 'messages') + ', ' + c.accepted.toLocaleString('en-US') + ' accepted, '),
			el('span', { class: 'small ' + (c.rejected ? 'bad' : 'muted') }, c.rejected.toLocaleString('en-US') + ' rejected'))));
		const fill = () => {
			if (!fills.delete(d)) return;
			const peers = data.entries.filter((e) => e.peer && conns.get(e.conn) === c.id);
			const inside = el('div', { class: 'inside' });
			if (peers.length) inside.append(el('h4', {}, 'Connections'), tree(peers.slice(0, 50).map((e) => ({ conn: e.conn, ...e.peer })), 1));
			if (peers.length > 50) inside.append(el('p', { class: 'muted small' }, 'And ' + count(peers.length - 50, 'connection', 'connections') + ' more.'));
			inside.append(el('h4', {}, 'Node', c.node_seq ? [', as entry ', link(c.node_seq), ' has it'] : ''));
			inside.append(piece(c.node) !== undefined ? tree(piece(c.node), 0) : el('p', { class: 'muted' }, c.node_seq ? 'Left out for room.' : 'No request with it was recorded.'));
			d.append(inside);
		};
		fills.set(d, fill);
		d.addEventListener('toggle', () => { if (d.open) fill(); });
		box.append(d);
	}
	if (data.more_clients) box.append(el('p', { class: 'muted' }, 'And ' + count(data.more_clients, 'more', 'more') + '.'));
	for (const e of fixed) {
		let names = e.note.text;
		try { names = JSON.parse(names); } catch (_) { /* shown as it is */ }
		box.append(el('h3', {}, 'Clusters of the bootstrap'), tree(names, 0));
	}
}

// Printing: the findings unfolded, and the timeline as a table.
const maxPrinted = 1000;
let folded = [];
addEventListener('beforeprint', () => {
	folded = [...document.querySelectorAll('#findings details.finding:not([open])')].slice(0, 50);
	for (const d of folded) {
		if (fills.has(d)) fills.get(d)();
		d.open = true;
	}
	const some = shown.slice(0, maxPrinted);
	const body = el('tbody', {}, ...some.map((it) => (it.sum ? el('tr', {}, el('td', { colspan: '7' }, sumText(it.sum))) : el('tr', {}, ...[it.e.seq, clock(it.e.time), it.e.cells[CLIENT], it.e.cells[TYPE], it.e.cells[WHAT], it.e.cells[VERSION], it.e.cells[SUMMARY]].map((x) => el('td', {}, safe(x)))))));
	const head = el('thead', {}, el('tr', {}, ...['Entry', 'Time', 'Client', 'Type', 'What', 'Version', 'Summary'].map((t) => el('th', {}, t))));
	$('printed').replaceChildren(el('table', {}, head, body), ...(shown.length > some.length ? [el('p', {}, count(shown.length - some.length, 'line', 'lines') + ' more, not printed.')] : []));
});
addEventListener('afterprint', () => {
	for (const d of folded) d.open = false;
	$('printed').replaceChildren();
});

// Wiring.
function follow() {
	const id = decodeURIComponent(location.hash.slice(1));
	if (/^finding-\d+$/.test(id) && $(id)) {
		const d = $(id);
		if (d.parentNode.tagName === 'DETAILS') d.parentNode.open = true;
		if (fills.has(d)) fills.get(d)();
		d.open = true;
		d.firstChild.focus();
		d.scrollIntoView();
		return;
	}
	if (!/^\d+$/.test(id)) return;
	const e = bySeq.get(Number(id));
	if (!e) {
		$('count').textContent = 'Entry ' + id + ' is not in this page: it was left out for room, or not chosen.';
		return;
	}
	let at = shown.findIndex((it) => it.e === e);
	if (at < 0) {
		$('filter').reset();
		if (!e.cells[LABEL]) $('f-kind').value = '*';
		filter();
		at = shown.findIndex((it) => it.e === e);
	}
	$(matchMedia('(min-width: 1080px)').matches ? 'timeline' : 'split').scrollIntoView({ block: 'start' });
	choose(at, true);
	list.focus({ preventScroll: true });
}
list.addEventListener('keydown', (k) => {
	const page = Math.max(1, Math.floor(list.clientHeight / rowHeight) - 1);
	const to = { ArrowDown: chosen + 1, ArrowUp: Math.max(0, chosen - 1), PageDown: Math.max(0, chosen) + page, PageUp: chosen - page, Home: 0, End: shown.length - 1 }[k.key];
	if (k.ctrlKey || k.metaKey || k.altKey) return;
	if (k.key === 'Enter' && chosen >= 0) $('detail').focus();
	else if (to !== undefined) choose(to);
	else return;
	k.preventDefault();
});
$('detail').addEventListener('keydown', (k) => { if (k.key === 'Escape') list.focus(); });
rows.addEventListener('click', (k) => {
	const r = k.target.closest('.row');
	if (!r) return;
	choose(Number(r.id.slice(4)));
	if (!matchMedia('(min-width: 1080px)').matches) {
		$('detail').scrollIntoView({ block: 'start' });
		$('detail').focus({ preventScroll: true });
	}
});
let ticking = false;
list.addEventListener('scroll', () => {
	if (ticking) return;
	ticking = true;
	requestAnimationFrame(() => { ticking = false; draw(); });
});
let waiting = 0;
$('f-text').addEventListener('input', () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); });
for (const id of ['f-client', 'f-type', 'f-kind', 'f-view']) $(id).addEventListener('change', filter);
$('filter').addEventListener('submit', (k) => { k.preventDefault(); filter(); });
$('filter').addEventListener('reset', () => setTimeout(filter, 0));
addEventListener('hashchange', follow);
addEventListener('resize', lay);

const r = data.report;
$('about').append(own(r.source), ...(r.chosen ? [', chosen by ', own(r.chosen)] : []), r.part ? ', a part of a longer recording' : '');
$('facts').textContent = [day(r.first), r.lasted && 'for ' + r.lasted, count(r.entries, 'entry', 'entries') + ' with ' + count(r.messages, 'message', 'messages'), count(data.clients.length + data.more_clients, 'client', 'clients')].filter(Boolean).join(' · ');
$('facts').append(' · ', r.masked ? (r.masked_messages ? 'secrets masked in ' + count(r.masked_messages, 'message', 'messages') : 'secrets are masked, and there was none') : el('strong', { class: 'bad' }, 'secrets are not masked'));
if (r.lost) $('facts').append(' · ', el('strong', { class: 'bad' }, count(r.lost, 'entry was', 'entries were') + ' not recorded'));
$('made').append('Made by ', own(r.program), ...(r.recorded_by ? [', recorded by ', own(r.recorded_by)] : []), '.');
options($('f-client'), 'all', (e) => e.cells[CLIENT]);
options($('f-type'), 'all', (e) => e.cells[TYPE]);
$('f-kind').append(el('option', { value: '' }, 'all'), el('option', { value: '!' }, 'with a finding'), el('option', { value: '*' }, 'all, with those that tell nothing'));
{
	const first = $('f-kind').childNodes.length;
	options($('f-kind'), '', (e) => e.cells[WHAT]);
	$('f-kind').childNodes[first].remove();
}
const width = (at, most) => data.entries.reduce((n, e) => Math.min(most, Math.max(n, e.cells[at].length)), 7);
document.documentElement.style.setProperty('--client', (longest = width(CLIENT, longest)) + 'ch');
document.documentElement.style.setProperty('--version', width(VERSION, 12) + 'ch');
document.title += ': ' + safe(r.source);
drawFindings();
drawClients();
filter();
const proved = data.findings.length ? bySeq.get(data.findings[0].seqs[data.findings[0].seqs.length - 1]) : undefined;
if (proved && !location.hash) choose(Math.max(0, shown.findIndex((it) => it.e === proved)), true);
follow();
})();
