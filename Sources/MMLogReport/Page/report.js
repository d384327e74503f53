"use strict";
// The page of a log report. Logged texts enter the document only as text nodes, never as markup.

const LEVELS = ["trace", "debug", "info", "notice", "warning", "error", "critical"];
const SHORT = ["trace", "debug", "info", "note", "warn", "error", "crit"];
const SEVERITY = [1, 5, 9, 10, 13, 17, 21]; // the numbers that OpenTelemetry gives to levels
const ROW = 22; // height of a row in pixels, the same as in report.css
const $ = (id) => document.getElementById(id);
const head = JSON.parse($("data").textContent);
const group = (number) => Math.round(number).toLocaleString("en-US");

/** Makes an element with attributes and children. Strings become text with visible escapes. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, name === "title" || name === "aria-label" ? visible(value) : value);
  }
  const shown = (text) => (tag === "pre" ? text.split("\n").map(visible).join("\n") : visible(text));
  element.append(...children.filter((child) => child !== null && child !== undefined)
    .map((child) => (typeof child === "string" ? shown(child) : child)));
  return element;
}

// ---------------------------------------------------------------------------------- times

function offsetAt(ms) {
  let seconds = head.offsets.length ? head.offsets[0][1] : 0;
  for (const [from, value] of head.offsets) {
    if (from > ms) break;
    seconds = value;
  }
  return seconds;
}

/** Characters that end a line, move the cursor or turn text. The decoder escapes them, too. */
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const ESCAPES = { "\n": "\\n", "\t": "\\t", "\r": "\\r" };
const visible = (text) => text.replace(UNSAFE, (sign) => ESCAPES[sign] || `\\u{${sign.charCodeAt(0).toString(16)}}`);

const pad = (number, width = 2) => String(number).padStart(width, "0");

function civil(ms) {
  const date = new Date(ms + offsetAt(ms) * 1000);
  if (isNaN(date)) return { day: "????-??-??", clock: "??:??:??", ms: "???" };
  return {
    day: `${date.getUTCFullYear()}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`,
    clock: `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`,
    ms: pad(date.getUTCMilliseconds(), 3),
  };
}

function fullTime(ms, nanoseconds) {
  const time = civil(ms);
  return `${time.day} ${time.clock}.${time.ms}${pad(nanoseconds, 6)}`;
}

function shortTime(ms, span) {
  const time = civil(ms);
  if (span > 2 * 86400e3) return `${time.day} ${time.clock.slice(0, 5)}`;
  return span > 60e3 ? time.clock : `${time.clock}.${time.ms}`;
}

/** The zone at a time. At other times, daylight saving time may change the zone. */
function zoneName(ms) {
  const seconds = offsetAt(ms);
  if (seconds === 0) return "UTC";
  const minutes = Math.abs(seconds) / 60;
  return `UTC${seconds < 0 ? "−" : "+"}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}

function duration(ms) {
  // The value is rounded before the unit is chosen, so no minute has 60 seconds.
  if (ms < 999.5) return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;
  if (ms < 59950) return `${(ms / 1000).toFixed(1)} s`;
  const [seconds, minutes] = [Math.round(ms / 1000), Math.round(ms / 60e3)];
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${(ms / 86400e3).toFixed(1)} days`;
}

// ---------------------------------------------------------------------------------- records

/** The records in the order of time, with a column for each field. */
const records = { count: 0 };

async function bytesOf(element) {
  const text = atob(element.textContent);
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index++) bytes[index] = text.charCodeAt(index);
  if (!("packed" in element.dataset)) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function* varints(bytes, start, end) {
  for (let index = start; index < end; ) {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = bytes[index++];
      value += (byte & 127) * factor;
      if (byte < 128) break;
      factor *= 128;
    }
    yield value;
  }
}

/** Reads the columns of a chunk, as ReportRecords.swift writes them. */
function readChunk(bytes) {
  let at = 0;
  const number = () => {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = bytes[at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  };
  const count = number();
  const sizes = Array.from({ length: 10 }, number);
  const columns = sizes.map((size) => {
    const column = Float64Array.from(varints(bytes, at, at + size));
    at += size;
    return column;
  });
  const texts = bytes.subarray(at);
  // A message may begin with U+FEFF, which usually announces an encoding.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const whole = decoder.decode(texts);
  const isASCII = whole.length === texts.length;
  let place = 0;
  const text = (coded) => {
    const size = Math.floor(coded / 2);
    const result = isASCII
      ? whole.slice(place, place + size) : decoder.decode(texts.subarray(place, place + size));
    place += size;
    return coded % 2 ? result + "…" : result;
  };
  const chunk = { count, columns, messages: [], fields: [] };
  for (let index = 0; index < count; index++) {
    chunk.messages.push(text(columns[8][index]));
    chunk.fields.push(text(columns[9][index]));
  }
  return chunk;
}

async function load() {
  const chunks = [];
  for (const element of document.querySelectorAll(".chunk")) {
    chunks.push(readChunk(await bytesOf(element)));
    element.remove();
  }
  const count = chunks.reduce((sum, chunk) => sum + chunk.count, 0);
  const [ordinals, places] = [new Float64Array(count), new Uint32Array(count)];
  let next = 0;
  for (const chunk of chunks) {
    let ordinal = 0;
    for (let index = 0; index < chunk.count; index++) {
      ordinal += chunk.columns[0][index];
      ordinals[next++] = ordinal;
    }
  }
  for (let index = 0; index < count; index++) places[index] = index;
  places.sort((a, b) => ordinals[a] - ordinals[b]);
  const target = new Uint32Array(count);
  for (let index = 0; index < count; index++) target[places[index]] = index;
  fill(chunks, count, target);
}

function fill(chunks, count, target) {
  Object.assign(records, {
    count, ordinal: new Float64Array(count), time: new Float64Array(count), nanoseconds: new Uint32Array(count),
    level: new Uint8Array(count), site: new Uint32Array(count), label: new Uint32Array(count),
    thread: new Uint32Array(count), session: new Uint32Array(count),
    message: new Array(count), fields: new Array(count), isCut: new Uint8Array(count),
    isRising: true, // false if a clock was set back
  });
  let next = 0;
  for (const { count, columns, messages, fields } of chunks) {
    let [time, ordinal] = [0, 0];
    for (let index = 0; index < count; index++) {
      ordinal += columns[0][index];
      const difference = columns[1][index];
      time += difference % 2 ? -(difference + 1) / 2 : difference / 2;
      const at = target[next++];
      records.ordinal[at] = ordinal;
      records.time[at] = time;
      records.nanoseconds[at] = columns[2][index];
      records.level[at] = columns[3][index];
      records.site[at] = columns[4][index];
      records.label[at] = columns[5][index];
      records.thread[at] = columns[6][index];
      records.session[at] = columns[7][index];
      records.message[at] = messages[index];
      records.fields[at] = fields[index];
      records.isCut[at] = columns[8][index] % 2 || columns[9][index] % 2;
    }
  }
  for (let index = 1; index < count; index++) if (records.time[index] < records.time[index - 1]) records.isRising = false;
}

/** The first place in an array of rising numbers with a number that is not less. */
function placeIn(numbers, count, number) {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The first record at a time or later, if times rise. */
const firstAt = (time) => placeIn(records.time, records.count, time);

// ---------------------------------------------------------------------------------- what is shown

const range = { first: 0, last: 1, from: 0, to: 1 };
/** `terms`: conditions that a record has to meet, or must not: a kind, and a number or a field. */
const filter = { levels: 127, words: [], terms: [] };
let view = new Uint32Array(0);
let selected = -1; // the index of a record
let filtering = 0;

const isZoomed = () => range.from > range.first || range.to < range.last;
const isInTime = (index) => records.time[index] >= range.from && records.time[index] < range.to;

/** The range of places where records of the shown time may be. */
const placesInTime = () => isZoomed() && records.isRising ? [firstAt(range.from), firstAt(range.to)] : [0, records.count];

function setSpan() {
  const starts = head.buckets.map((bucket) => bucket[0]);
  for (const session of head.sessions) starts.push(session.start, session.ended);
  range.first = starts.reduce((a, b) => Math.min(a, b), Infinity);
  range.last = starts.reduce((a, b) => Math.max(a, b), -Infinity);
  if (head.buckets.length) {
    range.last = Math.max(range.last, head.buckets[head.buckets.length - 1][0] + head.width);
  }
  // A session may begin before the requested time, and end after that time.
  if (head.since !== null) range.first = Math.max(range.first, head.since);
  if (head.until !== null) range.last = Math.min(range.last, head.until);
  if (!isFinite(range.first) || !isFinite(range.last)) [range.first, range.last] = [0, 1];
  if (range.last <= range.first) range.last = range.first + 1;
  [range.from, range.to] = [range.first, range.last];
}

function wordsOf(text) {
  const expression = /^\/(.+)\/$/.exec(text.trim());
  const sources = expression
    ? [expression[1]]
    : text.trim().split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  try {
    $("search").setCustomValidity("");
    return sources.map((source) => new RegExp(source, "is"));
  } catch (error) {
    $("search").setCustomValidity(String(error.message));
    $("search").reportValidity();
    return null;
  }
}

function placeOf(site) {
  const [file, , , line] = head.sites[site];
  return file ? `${file}:${line}` : "";
}

const KINDS = ["label", "thread", "session", "site"];

function isMet(term, index) {
  if (term.kind !== "field") return records[term.kind][index] === term.value;
  const text = records.fields[index];
  // This check avoids parsing most records.
  if (!text.includes(term.quoted)) return false;
  return fieldsOf(text).some(([name, value]) => name === term.name && value === term.value);
}

/** Of the required terms, one of each kind is enough. Of the excluded terms, none may be met. */
function meetsTerms(index) {
  const kinds = new Map();
  for (const term of filter.terms) {
    const isHere = isMet(term, index);
    if (term.isNot) {
      if (isHere) return false;
    } else {
      const kind = term.kind + term.name;
      kinds.set(kind, kinds.get(kind) || isHere);
    }
  }
  return [...kinds.values()].every(Boolean);
}

function matches(index) {
  if (!(filter.levels >> records.level[index] & 1)) return false;
  if (isZoomed() && !isInTime(index)) return false;
  if (filter.terms.length && !meetsTerms(index)) return false;
  return filter.words.every((word) => word.test(records.message[index])
    || word.test(records.fields[index]) || word.test(head.labels[records.label[index]])
    || word.test(placeOf(records.site[index])));
}

/** Finds the records to show, in slices, so that the page still reacts to typing and scrolling. */
async function update({ keepsPlace = false } = {}) {
  const mine = ++filtering;
  const anchor = keepsPlace ? selected : -1;
  const [start, end] = placesInTime();
  const found = new Uint32Array(end - start);
  let count = 0;
  let pause = performance.now() + 12;
  for (let index = start; index < end; index++) {
    if (matches(index)) found[count++] = index;
    if ((index & 1023) === 0 && performance.now() > pause) {
      $("count").textContent = "searching…";
      await new Promise((resume) => setTimeout(resume));
      if (mine !== filtering) return;
      pause = performance.now() + 12;
    }
  }
  view = found.subarray(0, count);
  $("count").textContent = `${group(count)} of ${group(records.count)}`;
  $("sizer").style.height = `${count * ROW}px`;
  if (!keepsPlace) $("table").scrollTop = 0;
  if (anchor >= 0) reveal(anchor);
  drawRows();
  drawTimeline();
  drawSpans();
  fillFacets();
}

// ---------------------------------------------------------------------------------- the table

function highlighted(raw) {
  const text = visible(raw);
  if (!filter.words.length) return [text];
  const parts = [];
  const word = new RegExp(filter.words.map((word) => word.source).join("|"), "gi");
  let last = 0;
  for (const match of text.matchAll(word)) {
    if (!match[0]) break;
    parts.push(text.slice(last, match.index), make("mark", {}, match[0]));
    last = match.index + match[0].length;
    if (parts.length > 40) break;
  }
  parts.push(text.slice(last));
  return parts;
}

function row(position) {
  const index = view[position];
  const level = records.level[index];
  const fields = records.fields[index];
  const text = records.message[index].slice(0, 2000);
  const time = civil(records.time[index]);
  return make("div", {
    class: `row v${level}`, role: "row", id: `row${index}`, "aria-rowindex": position + 1,
    "aria-selected": index === selected, onclick: () => choose(index, true),
  },
    make("span", { class: "time" }, make("span", { class: "wide" }, `${time.day} `), `${time.clock}.${time.ms}`,
      make("span", { class: "wide" }, pad(records.nanoseconds[index], 6))),
    make("span", { class: `level v${level}` }, make("span", { class: "wide" }, LEVELS[level]),
      make("span", { class: "narrow" }, SHORT[level])),
    make("span", { class: "label soft" }, ...highlighted(head.labels[records.label[index]])),
    make("span", {},
      make("span", { class: "text" }, ...highlighted(text)),
      fields && make("span", { class: "soft" }, "  ", ...highlighted(fields)),
      make("span", { class: "where" }, "  " + placeOf(records.site[index]))));
}

/** Draws the rows that can be seen. The document has no others. */
function drawRows() {
  const table = $("table");
  const first = Math.max(0, Math.floor(table.scrollTop / ROW) - 8);
  const last = Math.min(view.length, Math.ceil((table.scrollTop + table.clientHeight) / ROW) + 8);
  const rows = [];
  for (let position = first; position < last; position++) rows.push(row(position));
  $("rows").style.transform = `translateY(${first * ROW}px)`;
  $("rows").replaceChildren(...rows);
  table.setAttribute("aria-rowcount", view.length);
  if (selected >= 0 && $(`row${selected}`)) table.setAttribute("aria-activedescendant", `row${selected}`);
  else table.removeAttribute("aria-activedescendant");
}

/** The place in the view where a record stands or would stand. */
const positionOf = (index) => placeIn(view, view.length, index);

function reveal(index) {
  const table = $("table");
  const top = positionOf(index) * ROW;
  if (top < table.scrollTop) table.scrollTop = top;
  if (top + ROW > table.scrollTop + table.clientHeight) table.scrollTop = top + ROW - table.clientHeight;
}

function choose(index, opens) {
  selected = index;
  noteAddress();
  if (opens || !$("detail").hidden) showDetail();
  reveal(index);
  drawRows();
  drawTimeline();
}

/** The place from which to go on. A chosen record that is hidden is between shown records. */
function placeToGoFrom(direction) {
  const position = positionOf(selected);
  return direction > 0 && view[position] !== selected ? position - 1 : position;
}

function move(steps) {
  if (!view.length) return;
  let position = placeToGoFrom(steps) + steps;
  if (selected < 0) position = steps >= view.length ? view.length - 1 : 0;
  choose(view[Math.max(0, Math.min(view.length - 1, position))], false);
}

/** Goes to the next or the previous record whose level is at least error. */
function jump(direction) {
  let position = selected < 0 ? (direction > 0 ? -1 : view.length) : placeToGoFrom(direction);
  do position += direction; while (position >= 0 && position < view.length && records.level[view[position]] < 5);
  if (position >= 0 && position < view.length) choose(view[position], false);
}

function showDetail() {
  const index = selected;
  const [file, func, template, line] = head.sites[records.site[index]];
  const thread = head.threads[records.thread[index]];
  const session = head.sessions[records.session[index]];
  const list = make("dl");
  const add = (name, value, ...actions) => {
    if (value === "") return;
    list.append(make("dt", {}, name), make("dd", {}, value, ...actions.flatMap((action) => [" ", action])));
  };
  const both = (kind, value, name) => [false, true].map((isNot) => make("button", {
    "aria-label": `${isNot ? "Without" : "Only"} this ${name || kind}`,
    onclick: () => addTerm(kind, value, isNot, name),
  }, isNot ? "≠" : "="));
  add("time", fullTime(records.time[index], records.nanoseconds[index]) + " " + zoneName(records.time[index]));
  add("level", LEVELS[records.level[index]]);
  add("label", head.labels[records.label[index]], ...both("label", records.label[index]));
  for (const [name, value] of fieldsOf(records.fields[index])) add(name, visible(value), ...both("field", value, name));
  if (file) add("call site", `${file}:${line}, ${func}`, ...both("site", records.site[index]));
  add("template", template);
  if (thread) add("thread", threadName(records.thread[index]), ...both("thread", records.thread[index]));
  add("session", `${session.service}, pid ${session.pid} on ${session.host}, ${session.id}`,
    ...both("session", records.session[index]));
  $("detail").replaceChildren(
    make("div", { class: "actions" },
      make("button", { title: "Copy the record as JSON (c)", onclick: () => copy(jsonOf(selected), "The record") }, "Copy JSON"),
      make("button", { title: "Copy a link to the record (l)", onclick: () => copy(linkTo(selected), "The link") }, "Copy link"),
      make("button", { class: "close", "aria-label": "Close", title: "Close (Esc)", onclick: closeDetail }, "✕")),
    make("pre", { class: `v${records.level[index]}` }, visible(records.message[index])), list);
  $("detail").hidden = false;
}

function threadName(number) {
  const [id, ordinal, name] = head.threads[number];
  return `${name || "unnamed"} (${id}, number ${ordinal})`;
}

/** The record with the keys of mmlog-decode's JSON lines, as far as the page has its values. */
function jsonOf(index) {
  const [file, func, , line] = head.sites[records.site[index]];
  const [id, ordinal, name] = head.threads[records.thread[index]] || [];
  const session = head.sessions[records.session[index]];
  const [time, nanoseconds] = [records.time[index], records.nanoseconds[index]];
  const offset = offsetAt(time);
  const minutes = Math.abs(offset) / 60;
  const zone = offset === 0 ? "Z" : `${offset < 0 ? "-" : "+"}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
  const object = {
    timestamp: fullTime(time, nanoseconds).replace(" ", "T") + zone,
    severity_text: LEVELS[records.level[index]], severity_number: SEVERITY[records.level[index]],
    scope_name: head.labels[records.label[index]] || undefined, body: records.message[index],
    code_file_path: file || undefined, code_line_number: file ? line : undefined,
    code_function_name: func || undefined, thread_ordinal: ordinal, thread_id: id, thread_name: name || undefined,
    service_name: session.service, process_name: session.process, process_pid: session.pid,
    host_name: session.host, session_id: session.id, cut: records.isCut[index] ? true : undefined,
  };
  // BigInt keeps numbers that are too large for a script's numbers.
  const more = [`"time_unix_nano":${BigInt(time) * 1000000n + BigInt(nanoseconds)}`];
  if (isJSON(records.fields[index])) more.push(`"attributes":${records.fields[index]}`);
  return `${JSON.stringify(object).slice(0, -1)},${more.join(",")}}`;
}

/** False if the text of fields was cut. */
function isJSON(text) {
  try {
    return JSON.parse(text) !== null;
  } catch {
    return false;
  }
}

const linkTo = (index) => `${location.href.split("#")[0]}#record=${records.ordinal[index]}`;

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without permission for the clipboard, as in some pages from a disk.
    const area = make("textarea", { "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`${what} was copied.`);
}

/** Shows a text for a moment. */
function say(text) {
  $("said").textContent = text;
  clearTimeout(say.timer);
  say.timer = setTimeout(() => { $("said").textContent = ""; }, 2500);
}

/** Texts and numbers in JSON. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/** Parses JSON. Whole numbers that are too large for a script become texts with all digits. */
function parse(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text.replace(TOKENS, (token) => (/^-?\d{16,}$/.test(token) ? `"${token}"` : token)));
}

/** The name under which a page shows fields whose text was cut. */
const CUT_FIELDS = "fields";

function fieldsOf(text) {
  if (!text) return [];
  try {
    return Object.entries(parse(text)).map(([name, value]) => [name, typeof value === "string" ? value : JSON.stringify(value)]);
  } catch {
    return [[CUT_FIELDS, text]];
  }
}

function closeDetail() {
  $("detail").hidden = true;
  $("table").focus();
  drawRows();
}

// ---------------------------------------------------------------------------------- the timeline

const BARS = 110, AXIS = 18, LANE = 12;
let lanes = [];
let drag = null;
let bars = null;

/** Puts sessions that overlap in time into different lanes. */
function layLanes() {
  const ends = [];
  lanes = head.sessions.map((session) => {
    let lane = ends.findIndex((end) => end < session.start);
    if (lane < 0) lane = ends.length;
    ends[lane] = session.ended;
    return Math.min(lane, 7);
  });
  return Math.min(8, ends.length);
}

function countBars(width) {
  const each = (range.to - range.from) / width;
  const counts = Array.from({ length: width }, () => new Float64Array(7));
  const exact = head.width > each && records.count === head.levels.reduce((a, b) => a + b, 0);
  if (exact) {
    const [start, end] = placesInTime();
    for (let index = start; index < end; index++) {
      if (isInTime(index)) counts[Math.min(width - 1, Math.floor((records.time[index] - range.from) / each))][records.level[index]]++;
    }
    return { counts, each };
  }
  for (const [start, ...levels] of head.buckets) {
    if (start + head.width <= range.from || start >= range.to) continue;
    // A bucket that is wider than a bar is divided among its bars.
    const from = Math.max(0, Math.floor((start - range.from) / each));
    const to = Math.min(width - 1, Math.max(from, Math.ceil((start + head.width - range.from) / each) - 1));
    const parts = Math.max(1, head.width / each);
    if (parts <= 1.5) levels.forEach((count, level) => { counts[from][level] += count; });
    else for (let bar = from; bar <= to; bar++) levels.forEach((count, level) => { counts[bar][level] += count / parts; });
  }
  return { counts, each };
}

function drawTimeline() {
  const canvas = $("timeline");
  const laneCount = layLanes();
  const height = BARS + AXIS + laneCount * LANE + 6;
  const width = canvas.clientWidth || 800;
  const scale = window.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(name).trim();
  const x = (time) => (time - range.from) / (range.to - range.from) * width;

  bars = countBars(Math.max(20, Math.floor(width / 4)));
  const shown = bars.counts.map((bar) => bar.map((count, level) => (filter.levels >> level & 1 ? count : 0)));
  const greatest = Math.max(1, ...shown.map((bar) => bar.reduce((a, b) => a + b, 0)));
  const barWidth = width / shown.length;
  shown.forEach((bar, index) => {
    let y = BARS;
    for (let level = 6; level >= 0; level--) {
      if (bar[level] < 0.001) continue;
      const tall = Math.max(level >= 4 ? 3 : 1, bar[level] / greatest * (BARS - 16));
      pen.fillStyle = color(`--b${level}`);
      pen.fillRect(index * barWidth, y - tall, Math.max(1, barWidth - 0.7), tall);
      y -= tall;
    }
  });
  pen.font = "11px system-ui, 'DejaVu Sans', sans-serif";
  drawAxis(pen, x, width, color, greatest);
  drawSessions(pen, x, width, color);
  if (selected >= 0 && records.count) line(pen, x(records.time[selected]), BARS + AXIS, color("--accent"));
  if (drag && drag.to !== undefined) {
    pen.fillStyle = color("--accent");
    pen.globalAlpha = 0.2;
    pen.fillRect(Math.min(drag.from, drag.to), 0, Math.abs(drag.to - drag.from), height);
    pen.globalAlpha = 1;
  }
  const zones = [...new Set([range.from, range.to].map(zoneName))].join(" to ");
  $("range").textContent =
    `${civil(range.from).day} ${shortTime(range.from, 1e5)} – ${shortTime(range.to, range.to - range.from > 86400e3 ? 1e12 : 1e5)} (${duration(range.to - range.from)}, ${zones})`;
}

function line(pen, at, height, color) {
  pen.fillStyle = color;
  pen.fillRect(at - 0.5, 0, 1.5, height);
}

function drawAxis(pen, x, width, color, greatest) {
  const span = range.to - range.from;
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 15e3, 30e3, 60e3, 120e3, 300e3, 600e3, 900e3,
    1800e3, 3600e3, 7200e3, 10800e3, 21600e3, 43200e3, 86400e3, 172800e3, 604800e3, 2592000e3, 31536000e3];
  const step = steps.find((step) => span / step <= width / 110) || span;
  const shift = offsetAt(range.from) * 1000;
  pen.fillStyle = color("--line");
  pen.fillRect(0, BARS, width, 1);
  for (let tick = Math.ceil((range.from + shift) / step) * step - shift; tick < range.to; tick += step) {
    pen.fillStyle = color("--line");
    pen.fillRect(x(tick), BARS, 1, 5);
    if (x(tick) > width - 40) continue;
    pen.fillStyle = color("--soft");
    pen.fillText(step >= 86400e3 ? civil(tick).day : step < 1e3 ? shortTime(tick, 0) : shortTime(tick, span), x(tick) + 3, BARS + 13);
  }
  pen.fillStyle = color("--soft");
  pen.fillText(`${group(greatest)} in ${duration(bars.each)}`, 6, 12);
}

const hasDied = (session) => ["crashed", "killed", "powerLost"].includes(session.ending);

function drawSessions(pen, x, width, color) {
  const terms = filter.terms.filter((term) => term.kind === "session");
  const isOnly = terms.some((term) => !term.isNot);
  head.sessions.forEach((session, index) => {
    if (session.ended < range.from || session.start > range.to) return;
    const y = BARS + AXIS + lanes[index] * LANE + 2;
    const from = Math.min(width - 2, Math.max(0, x(session.start)));
    const to = Math.min(width, x(session.ended));
    const term = terms.find((term) => term.value === index);
    const isShown = term ? !term.isNot : !isOnly;
    pen.fillStyle = color(isOnly && isShown ? "--accent" : "--l2");
    pen.globalAlpha = isShown ? 0.75 : 0.25;
    pen.fillRect(from, y, Math.max(2, to - from), 5);
    pen.globalAlpha = 1;
    const lost = session.losses.reduce((sum, loss) => sum + loss[2], 0);
    if (hasDied(session)) mark(pen, "✖", Math.min(width - 8, x(session.ended)), y + 7, color("--l5"));
    if (lost) mark(pen, "▲", Math.min(width - 8, x(session.ended)) - 12, y + 7, color("--l4"));
  });
  for (const [, , time] of head.corruption) {
    if (time !== null && time >= range.from && time <= range.to) mark(pen, "◆", x(time), BARS - 2, color("--l5"));
  }
}

function mark(pen, text, x, y, color) {
  pen.font = "bold 12px system-ui, 'DejaVu Sans', sans-serif";
  pen.fillStyle = color;
  pen.fillText(text, x - 4, y);
}

function zoom(from, to) {
  const least = Math.max(0.01, (range.last - range.first) * 1e-9);
  if (to - from < least) [from, to] = [(from + to - least) / 2, (from + to + least) / 2];
  const span = Math.min(to - from, range.last - range.first);
  range.from = Math.min(Math.max(range.first, from), range.last - span);
  range.to = range.from + span;
  drawTimeline();
  drawSpans();
  clearTimeout(zoom.timer);
  zoom.timer = setTimeout(update, 60);
}

function zoomBy(factor, center = (range.from + range.to) / 2) {
  zoom(center - (center - range.from) * factor, center + (range.to - center) * factor);
}

function pan(share) {
  const by = (range.to - range.from) * share;
  zoom(range.from + by, range.to + by);
}

function showTip(event) {
  const canvas = $("timeline");
  const box = canvas.getBoundingClientRect();
  const at = event.clientX - box.left;
  const index = Math.floor(at / box.width * bars.counts.length);
  const bar = bars.counts[index];
  if (!bar) return;
  const time = range.from + index * bars.each;
  const lines = [fullTime(Math.floor(time), 0).slice(0, -6)];
  for (let level = 6; level >= 0; level--) if (bar[level] >= 0.5) lines.push(`${LEVELS[level]}  ${group(bar[level])}`);
  const moment = range.from + at / box.width * (range.to - range.from);
  const y = event.clientY - box.top;
  head.sessions.forEach((session, number) => {
    const top = BARS + AXIS + lanes[number] * LANE;
    if (y >= top && y < top + LANE && moment >= session.start - bars.each * 2 && moment <= session.ended + bars.each * 2) {
      lines.push(`${session.service}, pid ${session.pid}: ${ended(session)}`);
    }
  });
  const tip = $("tip");
  tip.textContent = lines.map(visible).join("\n");
  tip.hidden = false;
  tip.style.left = `${Math.min(box.width - tip.offsetWidth, at + 24)}px`;
  tip.style.top = `${event.clientY - box.top + 30}px`;
}

function watchTimeline() {
  const canvas = $("timeline");
  const timeAt = (pixel) => range.from + pixel / canvas.clientWidth * (range.to - range.from);
  canvas.addEventListener("pointerdown", (event) => {
    drag = { from: event.offsetX };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (drag) {
      drag.to = event.offsetX;
      drawTimeline();
    }
    showTip(event);
  });
  canvas.addEventListener("pointerup", () => {
    const done = drag;
    drag = null;
    if (done && done.to !== undefined && Math.abs(done.to - done.from) > 4) {
      zoom(timeAt(Math.min(done.from, done.to)), timeAt(Math.max(done.from, done.to)));
    } else drawTimeline();
  });
  canvas.addEventListener("pointerleave", () => { $("tip").hidden = true; });
  canvas.addEventListener("dblclick", () => zoom(range.first, range.last));
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) return pan(event.deltaX / 800);
    zoomBy(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event.offsetX));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") pan(-0.2);
    else if (event.key === "ArrowRight") pan(0.2);
    else return;
    event.preventDefault();
  });
  $("in").onclick = () => zoomBy(0.5);
  $("out").onclick = () => zoomBy(2);
  $("all").onclick = () => zoom(range.first, range.last);
  new ResizeObserver(() => { drawTimeline(); drawRows(); }).observe(document.body);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawTimeline);
}

// ---------------------------------------------------------------------------------- filters

function drawLegend() {
  $("legend").replaceChildren(...LEVELS.map((name, level) => head.levels[level] === 0 ? null : make("button", {
    "aria-pressed": Boolean(filter.levels >> level & 1), title: `Show or hide ${name}`,
    onclick: () => { filter.levels ^= 1 << level; drawLegend(); update(); },
  }, (() => {
    const swatch = make("i");
    swatch.style.background = `var(--b${level})`;
    return swatch;
  })(), `${name} `, make("b", {}, group(head.levels[level])))).filter(Boolean));
}

/** Shows only the records of one label, session or call site. */
function setFilter(kind, value) {
  filter.terms = filter.terms.filter((term) => term.kind !== kind);
  if (value >= 0) addTerm(kind, value, false);
  else changeTerms();
}

function addTerm(kind, value, isNot, name = "") {
  const isInText = kind === "field" && name !== CUT_FIELDS && /^[ -~]*$/.test(name);
  const quoted = isInText ? JSON.stringify(name) : "";
  const isSame = (term) => term.kind === kind && term.name === name && term.value === value;
  filter.terms = filter.terms.filter((term) => !isSame(term));
  filter.terms.push({ kind, name, value, isNot, quoted });
  changeTerms();
}

function changeTerms() {
  for (const kind of ["label", "session"]) {
    const terms = filter.terms.filter((term) => term.kind === kind && !term.isNot);
    $(kind).value = terms.length === 1 ? terms[0].value : -1;
  }
  $("terms").replaceChildren(...filter.terms.map((term) => make("button", {
    title: "Take this filter away",
    "aria-label": `Take away: ${termText(term)}`,
    onclick: () => {
      filter.terms = filter.terms.filter((other) => other !== term);
      changeTerms();
      ($("terms").firstChild || $("table")).focus();
    },
  }, make("span", {}, termText(term)), " ✕")));
  $("terms").hidden = filter.terms.length === 0;
  tab("records");
  update({ keepsPlace: true });
}

const termText = (term) => `${term.kind === "field" ? term.name : term.kind === "site" ? "call site" : term.kind} ` +
  `${term.isNot ? "≠" : "="} ${valueText(term.kind, term.value)}`;

function valueText(kind, value) {
  switch (kind) {
    case "label": return head.labels[value] || "(no label)";
    case "thread": return threadName(value);
    case "session": return `${head.sessions[value].service}, pid ${head.sessions[value].pid}`;
    case "site": return placeOf(value) || "(none)";
    default: return value;
  }
}

function clearFilters() {
  Object.assign(filter, { levels: 127, words: [], terms: [] });
  $("search").value = "";
  drawLegend();
  changeTerms();
}

// ---------------------------------------------------------------------------------- facets

const MOST_VALUES = 8; // the number of values that the list of a facet has
let counting = 0;

function toggleFacets() {
  $("facets").hidden = !$("facets").hidden;
  $("show-facets").setAttribute("aria-expanded", !$("facets").hidden);
  fillFacets();
}

/** Counts the values of all fields of the records that are shown, in slices. */
async function fillFacets() {
  if ($("facets").hidden) return;
  const mine = ++counting;
  const facets = new Map();
  const add = (kind, name, value) => {
    const key = `${kind} ${name}`;
    let facet = facets.get(key);
    if (!facet) facets.set(key, facet = { kind, name, counts: new Map(), others: 0 });
    const count = facet.counts.get(value);
    // Ids are all different: beyond 10,000 values, new values are not counted one by one.
    if (count === undefined && facet.counts.size >= 10000) facet.others++;
    else facet.counts.set(value, (count || 0) + 1);
  };
  let pause = performance.now() + 12;
  for (let position = 0; position < view.length; position++) {
    const index = view[position];
    for (const kind of KINDS) add(kind, "", records[kind][index]);
    if (records.fields[index]) for (const [name, value] of fieldsOf(records.fields[index])) add("field", name, value);
    if ((position & 255) === 0 && performance.now() > pause) {
      await new Promise((resume) => setTimeout(resume));
      if (mine !== counting) return;
      pause = performance.now() + 12;
    }
  }
  const names = { label: "Label", thread: "Thread", session: "Session", site: "Call site" };
  const sorted = [...facets.values()].sort((a, b) =>
    (a.kind === "field") - (b.kind === "field") || KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind) || (a.name < b.name ? -1 : 1));
  const focus = document.activeElement && document.activeElement.dataset.key;
  $("facets").replaceChildren(...sorted.slice(0, 200).map((facet) => {
    const order = [...facet.counts].sort((a, b) => b[1] - a[1]);
    const total = order.reduce((sum, [, count]) => sum + count, facet.others);
    const rest = order.length - MOST_VALUES;
    return make("section", { "aria-label": names[facet.kind] || facet.name },
      make("h3", {}, names[facet.kind] || facet.name, make("small", {}, ` ${group(total)}`)),
      make("ul", {}, ...order.slice(0, MOST_VALUES).map(([value, count]) => facetValue(facet, value, count, total))),
      rest > 0 ? make("p", { class: "soft" }, `and ${group(rest)} other values`) : null);
  }));
  const again = focus && [...$("facets").querySelectorAll("button")].find((button) => button.dataset.key === focus);
  if (again) again.focus();
}

function facetValue(facet, value, count, total) {
  const text = String(valueText(facet.kind, value)).slice(0, 200);
  const button = (isNot) => make("button", {
    "data-key": `${facet.kind} ${facet.name} ${value} ${isNot}`,
    "aria-label": `${isNot ? "Without" : "Only"} ${facet.name || facet.kind} ${text}`,
    title: isNot ? "Without these" : "Only these",
    onclick: () => addTerm(facet.kind, value, isNot, facet.name),
  }, isNot ? "≠" : "=");
  const item = make("li", {}, make("span", { class: "value", title: text }, text),
    make("span", { class: "n" }, group(count)), button(false), button(true));
  item.style.setProperty("--share", `${count / total * 100}%`);
  return item;
}

// ---------------------------------------------------------------------------------- spans

const BAR = 20; // height of a span's bar with the gap, the same as in report.css
const OUTCOMES = ["ok", "failed", "open"];

/** Draws spans as bars over the shown time, in a group of lanes for each thread. */
function drawSpans() {
  if ($("spans").hidden) return;
  const threads = new Map();
  const shown = head.spans.filter(([session, start, length]) => {
    const end = length === null ? head.sessions[session].ended : start + length;
    return end >= range.from && start <= range.to;
  });
  // The longest spans are drawn, because they are seen best.
  const drawn = shown.sort((a, b) => (b[2] ?? Infinity) - (a[2] ?? Infinity)).slice(0, 1500).sort((a, b) => a[1] - b[1]);
  for (const span of drawn) {
    const key = `${span[0]} ${span[5]}`;
    if (!threads.has(key)) threads.set(key, []);
    threads.get(key).push(span);
  }
  const parts = [...threads.values()].map(threadOfSpans);
  const left = shown.length - drawn.length + head.otherSpans;
  $("spans").replaceChildren(
    make("p", { class: "soft" }, head.spans.length === 0 ? "No spans."
      : `${group(drawn.length)} of ${group(head.spans.length + head.otherSpans)} spans, in the time that the timeline shows. Enter on one shows it.`
        + (left > 0 && drawn.length < shown.length ? " Of those here, the longest are drawn." : "")),
    ...parts);
}

function threadOfSpans(spans) {
  const session = head.sessions[spans[0][0]];
  const ends = [];
  const width = range.to - range.from;
  const bars = spans.map((span) => {
    const [, start, length, outcome, name] = span;
    const end = length === null ? session.ended : start + length;
    let lane = ends.findIndex((other) => other <= start);
    if (lane < 0) lane = ends.length;
    ends[lane] = end;
    const text = `${name}, ${length === null ? "open" : duration(length)}${outcome === 1 ? ", failed" : ""}`;
    const bar = make("button", { class: `span ${OUTCOMES[outcome]}`, title: text, onclick: () => showSpan(span) }, text);
    const from = Math.max(0, (start - range.from) / width * 100);
    bar.style.left = `${Math.min(from, 99.8)}%`;
    bar.style.width = `${Math.max(0.2, Math.min(100, (end - range.from) / width * 100) - from)}%`;
    bar.style.top = `${lane * BAR}px`;
    return bar;
  });
  const track = make("div", { class: "track" }, ...bars);
  track.style.height = `${ends.length * BAR}px`;
  return make("section", { class: "thread" },
    make("h3", {}, `${spans[0][5]} `, make("small", {}, `${session.service}, pid ${session.pid}`)), track);
}

function showSpan([session, start, length, outcome, name, thread, label, id, parent]) {
  const end = length === null ? head.sessions[session].ended : start + length;
  const list = make("dl");
  const add = (term, value) => value && list.append(make("dt", {}, term), make("dd", {}, value));
  add("outcome", OUTCOMES[outcome]);
  add("duration", length === null ? "" : duration(length));
  add("began", `${fullTime(Math.floor(start), 0).slice(0, 23)} ${zoneName(start)}`);
  add("label", label);
  add("thread", thread);
  add("span", id);
  add("part of", parent);
  const back = document.activeElement;
  const close = () => { $("span").close(); if (back) back.focus(); };
  $("span").replaceChildren(make("h2", {}, name), list, make("p", { class: "actions" },
    make("button", { onclick: () => { close(); tab("records"); zoom(start - 0.001, end + 0.001); $("table").focus(); } }, "Show the records of its time"),
    make("button", { onclick: () => { close(); zoom(start - (end - start) * 0.1 - 0.001, end + (end - start) * 0.1 + 0.001); } }, "Zoom to it"),
    make("button", { onclick: close }, "Close")));
  $("span").showModal();
}

// ---------------------------------------------------------------------------------- crashes

/** Shows why sessions died: the stack, spans in flight, and the last records of each thread. */
function fillCrashes() {
  // LogReport.swift chooses the sessions with stacks in the same order.
  const died = head.sessions.map((session, index) => [session, index]).filter(([session]) => hasDied(session))
    .sort((a, b) => b[0].ended - a[0].ended || b[1] - a[1]);
  if (!died.length) return;
  $("tab-crashes").hidden = false;
  $("tab-crashes").append(` (${group(died.length)})`);
  const rest = died.length - 20;
  const shown = died.slice(0, 20);
  const last = lastRecords(shown.map(([, index]) => index));
  $("crashes").replaceChildren(...shown.map(([session, index]) => crashOf(session, index, last.get(index))),
    rest > 0 ? make("p", { class: "soft" }, `${group(rest)} earlier crashes are in the table of sessions.`) : "");
}

function crashOf(session, index, threads) {
  const open = head.spans.filter((span) => span[0] === index && span[3] === 2);
  return make("article", { class: "crash" },
    make("h2", {}, `${session.service}, pid ${session.pid}: ${endings[session.ending][0]}`),
    make("p", { class: "soft" }, `${session.host}, session ${session.id}, ${fullTime(Math.floor(session.ended), 0).slice(0, 23)} ${zoneName(session.ended)}`),
    ...session.stack.filter((line) => line.startsWith("said: ")).map((line) => make("p", { class: "said" }, line.slice(6))),
    session.crash ? make("p", {}, session.crash) : make("p", {}, "Nothing was recorded of why."),
    session.stack.length ? make("pre", { tabindex: 0, "aria-label": "Stack" }, session.stack.filter((line) => !line.startsWith("said: ")).join("\n")) : null,
    open.length ? make("h3", {}, "In flight") : null,
    open.length ? make("ul", {}, ...open.slice(0, 50).map((span) =>
      make("li", {}, `${span[4]}, for ${duration(session.ended - span[1])}, thread ${span[5]}`))) : null,
    make("h3", {}, "Last records"), ...lastOf(session, threads),
    make("p", {}, make("button", { onclick: () => setFilter("session", index) }, "All records of the session")));
}

/** The last records of each thread of some sessions, the newest first, found in one pass. */
function lastRecords(sessions) {
  const last = new Map(sessions.map((session) => [session, new Map()]));
  for (let index = records.count - 1; index >= 0; index--) {
    const threads = last.get(records.session[index]);
    if (!threads) continue;
    const thread = records.thread[index];
    if (!threads.has(thread)) threads.set(thread, []);
    if (threads.get(thread).length < 10) threads.get(thread).push(index);
  }
  return last;
}

function lastOf(session, threads) {
  const hasCrashed = (thread) => session.crash !== "" && head.threads[thread][0] === session.thread;
  const order = [...threads].sort(([a], [b]) => hasCrashed(b) - hasCrashed(a) || a - b).slice(0, 50);
  if (!order.length) return [make("p", { class: "none" }, "The page has none of this session.")];
  return order.map(([thread, indices]) => make("section", {},
    make("h4", { class: hasCrashed(thread) ? "bad" : "" }, `${threadName(thread)}${hasCrashed(thread) ? ", which crashed" : ""}`),
    make("ol", { class: "last" }, ...indices.reverse().map((index) => {
      const time = civil(records.time[index]);
      return make("li", {}, make("button", { class: `v${records.level[index]}`, onclick: () => show(index) },
        make("span", { class: "soft" }, `${time.clock}.${time.ms} `), visible(records.message[index].slice(0, 500))));
    }))));
}

/** Goes to a record, and removes filters that hide records. */
async function show(index) {
  tab("records");
  if (filter.levels !== 127 || filter.words.length || filter.terms.length) clearFilters();
  if (isZoomed() && !isInTime(index)) zoom(range.first, range.last);
  clearTimeout(zoom.timer); // otherwise, the timer would scroll to the top
  await update();
  choose(index, true);
  $("table").focus();
}

function fillSelects() {
  const option = (value, text) => make("option", { value }, text.slice(0, 80));
  const labels = head.labels.map((label, index) => [label || "(no label)", index]).sort((a, b) => a[0] < b[0] ? -1 : 1);
  $("label").append(option(-1, "all labels"), ...labels.slice(0, 2000).map(([label, index]) => option(index, label)));
  $("session").append(option(-1, "all sessions"), ...head.sessions.slice(0, 2000).map((session, index) =>
    option(index, `${session.service} pid ${session.pid}, ${civil(session.start).day} ${civil(session.start).clock}${hasDied(session) ? " ✖" : ""}`)));
  $("label").onchange = () => setFilter("label", Number($("label").value));
  $("session").onchange = () => setFilter("session", Number($("session").value));
  $("search").oninput = () => {
    clearTimeout(fillSelects.timer);
    fillSelects.timer = setTimeout(search, 120);
  };
  $("clear").onclick = clearFilters;
  $("show-facets").onclick = toggleFacets;
  $("show-help").onclick = () => $("help").showModal();
}

function search() {
  const words = wordsOf($("search").value);
  if (!words) return;
  filter.words = words;
  update();
}

// ---------------------------------------------------------------------------------- the other tabs

const endings = {
  closed: ["closed", "good"], running: ["still running", "good"],
  exited: ["exited without closing its store", "good"], terminated: ["ended by a signal such as SIGTERM", "good"],
  crashed: ["crashed", "bad"], killed: ["killed, without a sign of why", "bad"],
  powerLost: ["killed, or the machine went down", "bad"],
  unknown: ["unknown: last records may be missing", "bad"],
};

// How a session ended, and the crash if one was recorded.
const ended = (session) => session.crash ? `${session.crash}; ${endings[session.ending][0]}` : endings[session.ending][0];

const TABS = ["records", "crashes", "spans", "sites", "sessions", "corruption"];
const shownTabs = () => TABS.filter((name) => !$(`tab-${name}`).hidden);

function tab(name) {
  for (const other of TABS) {
    $(other).hidden = other !== name;
    $(`tab-${other}`).setAttribute("aria-selected", other === name);
    $(`tab-${other}`).tabIndex = other === name ? 0 : -1;
  }
  if (name === "records") drawRows();
  if (name === "spans") drawSpans();
}

function tableOf(columns, rows) {
  return make("table", {},
    make("thead", {}, make("tr", {}, ...columns.map(([name, kind]) => make("th", { class: kind || "", scope: "col" }, name)))),
    make("tbody", {}, ...rows.map((cells) => make("tr", {}, ...cells.map((cell, index) => {
      const element = cell instanceof HTMLTableCellElement ? cell : make("td", { class: columns[index][1] || "" }, cell);
      element.dataset.name = columns[index][0];
      return element;
    })))));
}

function fillSites() {
  const total = Math.max(1, head.levels.reduce((a, b) => a + b, 0));
  const order = head.sites.map((site, index) => [site, index]).sort((a, b) => b[0][4] - a[0][4]);
  const bar = (count) => {
    const share = make("span", { class: "share", title: `${(count / total * 100).toFixed(1)} %` });
    share.style.width = `${Math.max(1, count / total * 120)}px`;
    return share;
  };
  $("sites").replaceChildren(order.length === 0 ? make("p", { class: "none" }, "No records.") : tableOf(
    [["Records", "n"], ["Share"], ["Bytes", "n"], ["Worst"], ["Call site", "mono"], ["Message", "mono"], [""]],
    order.slice(0, 500).map(([[file, func, template, line, count, bytes, level], index]) => [
      group(count), bar(count), group(bytes), make("td", { class: `level v${level}` }, LEVELS[level]),
      file ? `${file}:${line} ${func}` : "(none)", template,
      make("button", { onclick: () => setFilter("site", index) }, "show")])),
    make("p", { class: "soft" }, `Bytes are those of records before an archive compresses them.${order.length > 500 ? ` ${order.length - 500} more call sites are not listed.` : ""}`));
}

function fillSessions() {
  $("sessions").replaceChildren(tableOf(
    [["Service"], ["Process"], ["Start"], ["Last record"], ["Lasted", "n"], ["How it ended"], ["Records", "n"], ["Errors", "n"], ["Lost", "n"], [""]],
    head.sessions.map((session, index) => {
      const lost = session.losses.reduce((sum, loss) => sum + loss[2], 0);
      return [
        session.service, `${session.process}, pid ${session.pid} on ${session.host}`,
        fullTime(Math.floor(session.start), 0).slice(0, 19), fullTime(Math.floor(session.end), 0).slice(0, 23),
        duration(session.ended - session.start), make("td", { class: endings[session.ending][1] }, ended(session)),
        group(session.records), make("td", { class: session.errors ? "n bad" : "n" }, group(session.errors)),
        make("td", { class: lost ? "n bad" : "n" }, group(lost)),
        make("button", { onclick: () => { setFilter("session", index); zoom(session.start - 1, session.ended + 1); } }, "show")];
    })));
}

function fillCorruption() {
  const losses = head.sessions.flatMap((session) => session.losses.map(([cause, level, count]) =>
    [`${session.service}, pid ${session.pid}`, cause, make("td", { class: `level v${level}` }, LEVELS[level]), group(count)]));
  const parts = [make("h2", {}, "Records that could not be kept")];
  parts.push(losses.length ? tableOf([["Session"], ["Cause"], ["Level"], ["Records", "n"]], losses)
    : make("p", { class: "none" }, "None were lost."));
  parts.push(make("h2", {}, "What could not be read"));
  parts.push(head.corruption.length ? tableOf([["File", "mono"], ["What"], ["Near"]], head.corruption.map(([path, what, time]) =>
    [path, what, time === null ? "" : fullTime(Math.floor(time), 0).slice(0, 23)])) : make("p", { class: "none" }, "Everything was read."));
  if (head.corruptionCount > head.corruption.length) {
    parts.push(make("p", {}, `and ${group(head.corruptionCount - head.corruption.length)} more`));
  }
  if (head.missingCount) {
    parts.push(make("h2", {}, "Records that are not there, or not whole"), tableOf([["Session", "mono"], ["What"], ["Near"]],
      head.missing.map(([place, what, time]) => [place, what, time === null ? "" : fullTime(Math.floor(time), 0).slice(0, 23)])));
    if (head.missingCount > head.missing.length) parts.push(make("p", {}, `and ${group(head.missingCount - head.missing.length)} more`));
  }
  $("corruption").replaceChildren(...parts);
}

function fillHeader() {
  const total = head.levels.reduce((a, b) => a + b, 0);
  const crashes = head.sessions.filter(hasDied).length;
  const lost = head.sessions.reduce((sum, session) => sum + session.losses.reduce((a, loss) => a + loss[2], 0), 0);
  $("title").textContent = visible([...new Set(head.sessions.map((session) => session.service))].slice(0, 5).join(", "));
  const [first, last] = [range.first, range.last].map((ms) => [fullTime(Math.floor(ms), 0).slice(0, 19), zoneName(ms)]);
  $("subtitle").textContent = `${first[0]}${first[1] === last[1] ? "" : ` ${first[1]}`} to ${last.join(" ")}, made ${head.made}`;
  const fact = (number, one, many, isBad) => make("li", { class: isBad && number ? "bad" : "" }, make("b", {}, group(number)), ` ${number === 1 ? one : many}`);
  $("facts").append(
    fact(total, "record", "records"), fact(head.levels[5] + head.levels[6], "error or worse", "errors or worse", true),
    fact(head.levels[4], "warning", "warnings"), fact(head.sessions.length, "session", "sessions"),
    fact(crashes, "crash", "crashes", true), fact(lost, "record lost", "records lost", true),
    fact(head.corruptionCount, "place corrupted", "places corrupted", true));
  const wrong = lost + head.corruptionCount + head.missingCount;
  $("tab-corruption").append(wrong ? ` (${group(wrong)})` : "");
  $("tab-sessions").append(` (${group(head.sessions.length)})`);
  $("tab-spans").hidden = head.spans.length + head.otherSpans === 0;
  $("tab-spans").append(` (${group(head.spans.length + head.otherSpans)})`);
  $("tab-sites").append(` (${group(head.sites.length)})`);
  document.title = `${$("title").textContent || "mmlog"}: log report`;
}

// ---------------------------------------------------------------------------------- keys

function watchKeys() {
  $("table").addEventListener("scroll", () => {
    if (watchKeys.waits) return;
    watchKeys.waits = true;
    requestAnimationFrame(() => { watchKeys.waits = false; drawRows(); });
  }, { passive: true });
  $("table").addEventListener("keydown", (event) => {
    const page = Math.floor($("table").clientHeight / ROW) - 1;
    const steps = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: page, PageUp: -page, Home: -view.length, End: view.length }[event.key];
    if (steps !== undefined) move(steps);
    else if (event.key === "Enter" && selected >= 0) showDetail();
    else return;
    event.preventDefault();
  });
  document.querySelector("nav").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const tabs = shownTabs();
    const at = tabs.findIndex((name) => event.target.id === `tab-${name}`);
    if (!step || at < 0) return;
    const next = tabs[(at + step + tabs.length) % tabs.length];
    tab(next);
    $(`tab-${next}`).focus();
  });
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "Escape") return $("detail").hidden ? clearFilters() : closeDetail();
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    const action = {
      "/": () => { tab("records"); $("search").focus(); }, "+": () => zoomBy(0.5), "=": () => zoomBy(0.5), "-": () => zoomBy(2),
      "0": () => zoom(range.first, range.last), e: () => jump(1), E: () => jump(-1),
      f: () => { tab("records"); toggleFacets(); }, "?": () => $("help").showModal(),
      c: () => selected >= 0 && copy(jsonOf(selected), "The record"),
      l: () => selected >= 0 && copy(linkTo(selected), "The link"),
      t: () => { tab("records"); $("table").focus(); },
    }[event.key] || tabOfKey(event.key);
    if (!action) return;
    event.preventDefault();
    action();
  });
  for (const name of TABS) $(`tab-${name}`).onclick = () => tab(name);
}

function tabOfKey(key) {
  const name = /^[1-9]$/.test(key) ? shownTabs()[key - 1] : undefined;
  return name && (() => { tab(name); $(`tab-${name}`).focus(); });
}

/** Writes the chosen record into the address. */
function noteAddress() {
  try {
    history.replaceState(null, "", `#record=${records.ordinal[selected]}`);
  } catch { /* some browsers refuse that for a page from a disk */ }
}

/** Goes to the record in the address. */
function followAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1)).get("record");
  if (wanted === null) return;
  const index = placeIn(records.ordinal, records.count, Number(wanted));
  if (records.ordinal[index] === Number(wanted)) show(index);
  else say("The page does not have that record.");
}

/** `#q=word&tab=sessions` opens the page at a search or a tab, `#record=17` at a record. */
function readAddress() {
  const wanted = new URLSearchParams(location.hash.slice(1));
  if (wanted.get("q")) {
    $("search").value = wanted.get("q");
    filter.words = wordsOf($("search").value) || [];
  }
  if (shownTabs().includes(wanted.get("tab"))) tab(wanted.get("tab"));
}

async function start() {
  setSpan();
  fillHeader();
  fillSelects();
  drawLegend();
  fillSites();
  fillSessions();
  fillCorruption();
  watchTimeline();
  watchKeys();
  drawTimeline();
  if (!("DecompressionStream" in window)) {
    $("notice").textContent = "This browser is too old to show the records: it needs DecompressionStream (Chrome 80, Firefox 113, Safari 16.4).";
    return;
  }
  await load();
  const total = head.levels.reduce((a, b) => a + b, 0);
  $("notice").textContent = records.count < total
    ? `The table has ${group(records.count)} of ${group(total)} records: the last ones, and of those before them warnings and worse. All are counted above.`
    : "";
  fillCrashes();
  readAddress();
  await update();
  followAddress();
  addEventListener("hashchange", followAddress);
  document.documentElement.dataset.ready = records.count;
}

start().catch((error) => { $("notice").textContent = `The page cannot be shown: ${error}`; });
